package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Request is one request to a model.
type Request struct {
	// Codec is the codec of the format that the provider speaks.
	Codec wire.Codec
	// Model is the provider's name of the model.
	Model string
	// Messages are the elements of the format's list of messages: from package conversation, from
	// turn.Reply, or from wire.Response.Message. They are sent as they are.
	Messages []json.RawMessage
	// System is the system message, if the format keeps it apart from the messages, and
	// SystemMember the name of its member: see conversation.Request.
	System       json.RawMessage
	SystemMember string
	// Tools and Choice are those of a client.Offer: the tools in the format, and the members of the tool
	// choice.
	Tools  json.RawMessage
	Choice map[string]json.RawMessage
	// MaxTokens bounds the tokens of the response. 0 leaves it to the provider; the format anthropic
	// requires a bound.
	MaxTokens int
	// Members are further members of the request, such as temperature. They replace members of the format,
	// such as stream_options, which not every compatible server takes. A member that another field has,
	// and stream, is an error. For a server that wants max_tokens in place of max_completion_tokens, set
	// max_tokens here.
	Members map[string]json.RawMessage
}

// form says how a format sends a request.
type form struct {
	// path is the path of the request behind the base. %s is the model.
	path string
	// messages is the name of the member of the request that has the messages.
	messages string
	// model says that the body names the model.
	model bool
	// maxTokens is the name of the member that has MaxTokens. If inside is not empty, this member is in the
	// object with the name inside.
	inside, maxTokens string
	// fixed are the members of every request.
	fixed   []wire.Member
	headers map[string]string
}

var streamed = wire.Member{Name: "stream", Value: json.RawMessage("true")}

var forms = map[string]form{
	"openai": {
		path: "/chat/completions", messages: "messages", model: true, maxTokens: "max_completion_tokens",
		fixed: []wire.Member{streamed, {Name: "stream_options", Value: json.RawMessage(`{"include_usage":true}`)}},
	},
	"responses": {
		path: "/responses", messages: "input", model: true, maxTokens: "max_output_tokens",
		fixed: []wire.Member{streamed, {Name: "store", Value: json.RawMessage("false")}},
	},
	"anthropic": {
		path: "/messages", messages: "messages", model: true, maxTokens: "max_tokens", fixed: []wire.Member{streamed},
		headers: map[string]string{"Anthropic-Version": "2023-06-01"},
	},
	"gemini": {path: "/%s:streamGenerateContent?alt=sse", messages: "contents", inside: "generationConfig", maxTokens: "maxOutputTokens"},
	"ollama": {path: "/chat", messages: "messages", model: true, inside: "options", maxTokens: "num_predict", fixed: []wire.Member{streamed}},
}

// Base returns where the API of a provider begins by default, below its scheme and host: /v1, /v1beta or
// /api. It is empty for an unknown format.
func Base(format string) string {
	return map[string]string{"openai": "/v1", "responses": "/v1", "anthropic": "/v1", "gemini": "/v1beta", "ollama": "/api"}[format]
}

// New returns the HTTP request. base is where the API of the provider begins, such as
// https://api.anthropic.com/v1: the scheme and the host, and the path of Base or another. A query stays, such as the
// api-version of Azure.
func (r Request) New(ctx context.Context, base *url.URL) (*http.Request, error) {
	f, ok := forms[r.Codec.Format()]
	if !ok {
		return nil, fmt.Errorf("provider: unknown format %q", r.Codec.Format())
	}
	if err := checkModel(r.Model); err != nil {
		return nil, err
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, errors.New("provider: the base has no scheme http or https, or no host")
	}
	body, err := r.body(f)
	if err != nil {
		return nil, err
	}
	to := *base
	path, query, _ := strings.Cut(f.path, "?")
	if strings.Contains(path, "%s") {
		// A model of the provider has a name without a slash. Other names begin with their kind,
		// such as tunedModels/.
		model := r.Model
		if !strings.Contains(model, "/") {
			model = "models/" + model
		}
		path = fmt.Sprintf(path, model)
	}
	to.Path, to.RawPath = strings.TrimSuffix(to.Path, "/")+path, ""
	to.RawQuery = strings.Trim(to.RawQuery+"&"+query, "&")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range f.headers {
		request.Header.Set(name, value)
	}
	return request, nil
}

// checkModel refuses a name that would change the path of a request.
func checkModel(name string) error {
	valid := name != "" && len(name) <= 200 && !strings.Contains(name, "..") && !strings.HasPrefix(name, "/") && !strings.HasSuffix(name, "/")
	for _, c := range name {
		valid = valid && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-:/@+", c))
	}
	if !valid {
		return errors.New("provider: the name of a model has 1 to 200 of letters, digits and . _ - : / @ +")
	}
	return nil
}

func (r Request) body(f form) ([]byte, error) {
	messages := r.Messages
	system := r.System
	tools := r.Tools
	switch r.Codec.Format() {
	case "anthropic":
		messages, system = r.markCached()
	case "responses":
		messages = r.withoutLost()
	}
	if len(messages) == 0 {
		return nil, errors.New("provider: a request needs a message")
	}
	list, err := json.Marshal(messages)
	if err != nil {
		return nil, fmt.Errorf("provider: a message is not JSON: %w", err)
	}
	var own []wire.Member
	if f.model {
		name, err := json.Marshal(r.Model)
		if err != nil {
			return nil, fmt.Errorf("provider: %w", err)
		}
		own = append(own, wire.Member{Name: "model", Value: name})
	}
	if r.SystemMember != "" && len(system) > 0 {
		own = append(own, wire.Member{Name: r.SystemMember, Value: system})
	}
	own = append(own, wire.Member{Name: f.messages, Value: list})
	if len(tools) > 0 {
		own = append(own, wire.Member{Name: "tools", Value: tools})
		own = append(own, sortMembers(r.Choice)...)
	}
	for _, m := range f.fixed {
		if r.Members[m.Name] == nil || m.Name == streamed.Name {
			own = append(own, m)
		}
	}
	// Nothing is stored at the provider, so the reasoning comes encrypted and goes back with the messages.
	// Models that do not reason refuse this member.
	if r.Codec.Format() == "responses" && r.Members["reasoning"] != nil && r.Members["include"] == nil {
		own = append(own, wire.Member{Name: "include", Value: json.RawMessage(`["reasoning.encrypted_content"]`)})
	}
	if own, err = r.bounded(f, own); err != nil {
		return nil, err
	}
	return object(own)
}

// bounded adds the bound of the tokens and the members of the caller. A format may have its bound inside of an
// object, of which the caller may set other members.
func (r Request) bounded(f form, own []wire.Member) ([]wire.Member, error) {
	if r.MaxTokens == 0 && r.Codec.Format() == "anthropic" {
		return nil, errors.New("provider: the format anthropic needs MaxTokens")
	}
	written := map[string]bool{}
	for _, m := range own {
		written[m.Name] = true
	}
	limit := wire.Member{Name: f.maxTokens, Value: json.RawMessage(fmt.Sprint(r.MaxTokens))}
	if r.MaxTokens > 0 && f.inside == "" {
		own, written[f.maxTokens] = append(own, limit), true
	}
	for _, m := range sortMembers(r.Members) {
		if written[m.Name] {
			return nil, fmt.Errorf("provider: the member %q is written already", m.Name)
		}
		written[m.Name] = true
		if m.Name != f.inside {
			own = append(own, m)
		}
	}
	if f.inside == "" || r.MaxTokens == 0 && r.Members[f.inside] == nil {
		return own, nil
	}
	members := map[string]json.RawMessage{}
	if value := r.Members[f.inside]; value != nil && (json.Unmarshal(value, &members) != nil || members == nil) {
		return nil, fmt.Errorf("provider: the member %q is no object", f.inside)
	}
	if r.MaxTokens > 0 {
		if members[f.maxTokens] != nil {
			return nil, fmt.Errorf("provider: the member %q of %q is written already", f.maxTokens, f.inside)
		}
		members[f.maxTokens] = limit.Value
	}
	value, err := object(sortMembers(members))
	return append(own, wire.Member{Name: f.inside, Value: value}), err
}

// sortMembers returns the members in the order of their names.
func sortMembers(members map[string]json.RawMessage) (list []wire.Member) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		list = append(list, wire.Member{Name: name, Value: members[name]})
	}
	return list
}

// object writes members in their order.
func object(members []wire.Member) ([]byte, error) {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(m.Name)
		if err != nil || !json.Valid(m.Value) {
			return nil, fmt.Errorf("provider: the member %q is not JSON", m.Name)
		}
		out = append(append(append(out, name...), ':'), m.Value...)
	}
	return append(out, '}'), nil
}
