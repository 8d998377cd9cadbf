package wiretest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	ours "github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	chat "github.com/pawl-run/pawl/toolspec/wire/openai"
	items "github.com/pawl-run/pawl/toolspec/wire/responses"
)

// recorder keeps a request and sends nothing.
type recorder struct {
	request *http.Request
	body    []byte
}

var errRecorded = errors.New("recorded")

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	r.request, r.body = request, body
	return nil, errRecorded
}

// vital are the headers that a provider reads. Credentials come from the HTTP client, and the other headers are
// about the client itself.
var vital = []string{"Content-Type", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta"}

// TestProviderRequests: the request that package provider sends is that of the provider's own client: method, host,
// path, query, vital headers and every member of the body.
func TestProviderRequests(t *testing.T) {
	for _, tc := range []struct {
		codec wire.Codec
		host  string
		// members are further members of the request.
		members string
		send    func(t *testing.T, to *http.Client, r provider.Request)
	}{
		{chat.Codec{}, "api.openai.com", `{"temperature":0.5}`, func(t *testing.T, to *http.Client, r provider.Request) {
			params := openai.ChatCompletionNewParams{
				Model: r.Model, Tools: readAs[[]openai.ChatCompletionToolUnionParam](t, "tools", r.Tools),
				ToolChoice:          readAs[openai.ChatCompletionToolChoiceOptionUnionParam](t, "choice", r.Choice["tool_choice"]),
				MaxCompletionTokens: openai.Int(99), Temperature: openai.Float(0.5),
				StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
			}
			for _, m := range r.Messages {
				params.Messages = append(params.Messages, readAs[openai.ChatCompletionMessageParamUnion](t, "message", m))
			}
			client := openai.NewClient(option.WithHTTPClient(to), option.WithAPIKey("none"), option.WithMaxRetries(0))
			_ = client.Chat.Completions.NewStreaming(t.Context(), params).Close()
		}},
		{items.Codec{}, "api.openai.com", `{"reasoning":{"effort":"low"}}`, func(t *testing.T, to *http.Client, r provider.Request) {
			params := responses.ResponseNewParams{
				Model: r.Model, Store: openai.Bool(false), MaxOutputTokens: openai.Int(99),
				ToolChoice: readAs[responses.ResponseNewParamsToolChoiceUnion](t, "choice", r.Choice["tool_choice"]),
				Reasoning:  shared.ReasoningParam{Effort: shared.ReasoningEffortLow},
				Include:    []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
				Tools:      readAs[[]responses.ToolUnionParam](t, "tools", r.Tools),
			}
			for _, m := range r.Messages {
				params.Input.OfInputItemList = append(params.Input.OfInputItemList, itemOf(t, m))
			}
			client := openai.NewClient(option.WithHTTPClient(to), option.WithAPIKey("none"), option.WithMaxRetries(0))
			_ = client.Responses.NewStreaming(t.Context(), params).Close()
		}},
		{ours.Codec{}, "api.anthropic.com", `{"thinking":{"type":"enabled","budget_tokens":2048}}`, func(t *testing.T, to *http.Client, r provider.Request) {
			params := anthropic.MessageNewParams{
				Model: r.Model, MaxTokens: 99, Thinking: anthropic.ThinkingConfigParamOfEnabled(2048),
				ToolChoice: readAs[anthropic.ToolChoiceUnionParam](t, "choice", r.Choice["tool_choice"]),
				System:     readAs[[]anthropic.TextBlockParam](t, "system", r.System),
				Tools:      readAs[[]anthropic.ToolUnionParam](t, "tools", r.Tools),
			}
			for _, m := range r.Messages {
				params.Messages = append(params.Messages, readAs[anthropic.MessageParam](t, "message", m))
			}
			// The places up to which the provider keeps the request: the system, and the last two messages of the user.
			params.System[len(params.System)-1].CacheControl = anthropic.NewCacheControlEphemeralParam()
			last := params.Messages[len(params.Messages)-1].Content
			last[len(last)-1].OfText.CacheControl = anthropic.NewCacheControlEphemeralParam()
			before := params.Messages[len(params.Messages)-3].Content
			before[len(before)-1].OfToolResult.CacheControl = anthropic.NewCacheControlEphemeralParam()
			client := anthropic.NewClient(anthropicoption.WithHTTPClient(to), anthropicoption.WithAPIKey("none"), anthropicoption.WithMaxRetries(0))
			_ = client.Messages.NewStreaming(t.Context(), params).Close()
		}},
		{gemini.Codec{}, "generativelanguage.googleapis.com", `{"generationConfig":{"temperature":0.5}}`, func(t *testing.T, to *http.Client, r provider.Request) {
			client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPClient: to})
			if err != nil {
				t.Fatal(err)
			}
			var contents []*genai.Content
			for _, m := range r.Messages {
				contents = append(contents, readAs[*genai.Content](t, "message", m))
			}
			for range client.Models.GenerateContentStream(t.Context(), r.Model, contents, &genai.GenerateContentConfig{
				SystemInstruction: readAs[*genai.Content](t, "system", r.System), MaxOutputTokens: 99, Temperature: genai.Ptr[float32](0.5),
				Tools: readAs[[]*genai.Tool](t, "tools", r.Tools), ToolConfig: readAs[*genai.ToolConfig](t, "choice", r.Choice["toolConfig"]),
			}) {
				continue
			}
		}},
		{ollama.Codec{}, "localhost:11434", `{"options":{"temperature":0.5}}`, func(t *testing.T, to *http.Client, r provider.Request) {
			request := api.ChatRequest{
				Model: r.Model, Stream: new(true), Tools: readAs[api.Tools](t, "tools", r.Tools), Options: map[string]any{"temperature": 0.5, "num_predict": 99},
			}
			for _, m := range r.Messages {
				request.Messages = append(request.Messages, readAs[api.Message](t, "message", m))
			}
			client := api.NewClient(&url.URL{Scheme: "http", Host: "localhost:11434"}, to)
			_ = client.Chat(t.Context(), &request, func(api.ChatResponse) error { return nil })
		}},
	} {
		t.Run(tc.codec.Format(), func(t *testing.T) {
			r := fullRequest(t, tc.codec)
			if err := json.Unmarshal([]byte(tc.members), &r.Members); err != nil {
				t.Fatal(err)
			}
			var theirs, mine recorder
			tc.send(t, &http.Client{Transport: &theirs}, r)
			base := &url.URL{Scheme: "https", Host: tc.host, Path: provider.Base(tc.codec.Format())}
			if tc.codec.Format() == "ollama" {
				base.Scheme = "http"
			}
			if _, err := provider.Ask(t.Context(), &http.Client{Transport: &mine}, base, r, nil); !errors.Is(err, errRecorded) {
				t.Fatal(err)
			}
			if theirs.request == nil {
				t.Fatal("the client sent nothing")
			}
			if got, want := mine.request.URL.String(), theirs.request.URL.String(); got != want || mine.request.Method != theirs.request.Method {
				t.Errorf("Pawl sends to %s %s, and the client to %s %s", mine.request.Method, got, theirs.request.Method, want)
			}
			for _, name := range vital {
				if got, want := mine.request.Header.Get(name), theirs.request.Header.Get(name); got != want {
					t.Errorf("the header %s is %q, and that of the client %q", name, got, want)
				}
			}
			got, want := tree(t, mine.body), tree(t, theirs.body)
			if tc.codec.Format() == "gemini" { // whose client gives the system a role, which the provider does not read
				delete(want.(map[string]any)["systemInstruction"].(map[string]any), "role")
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("Pawl sends\n%s\nand the client\n%s", mine.body, theirs.body)
			}
		})
	}
}

// fullRequest is a request with a system, tools, a choice, and calls with their results.
func fullRequest(t *testing.T, codec wire.Codec) provider.Request {
	t.Helper()
	talk, err := conversation.Parse([]byte(earlier))
	if err != nil {
		t.Fatal(err)
	}
	said, err := conversation.Encode(talk, codec, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := codec.Tools(offered())
	if err != nil {
		t.Fatal(err)
	}
	r := provider.Request{
		Codec: codec, Model: "m-1.5", Messages: said.Messages, System: said.System, SystemMember: said.SystemMember, Tools: tools, MaxTokens: 99,
		Choice: map[string]json.RawMessage{},
	}
	if codec.Format() == "ollama" { // which has no choice
		return r
	}
	members, err := codec.Choice(wire.Choice{Mode: wire.Required})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		r.Choice[m.Name] = m.Value
	}
	for i, m := range r.Messages {
		if codec.Format() == "openai" { // whose client leaves it out
			r.Messages[i] = json.RawMessage(strings.Replace(string(m), `"content":null,`, "", 1))
		}
	}
	return r
}

// itemOf returns an item by the type that its kind has, as readItem does.
func itemOf(t *testing.T, item []byte) (u responses.ResponseInputItemUnionParam) {
	t.Helper()
	var kind struct{ Type string }
	if err := json.Unmarshal(item, &kind); err != nil {
		t.Fatal(err)
	}
	switch kind.Type {
	case "message":
		m := readAs[responses.EasyInputMessageParam](t, kind.Type, item)
		u.OfMessage = &m
	case "function_call":
		m := readAs[responses.ResponseFunctionToolCallParam](t, kind.Type, item)
		u.OfFunctionCall = &m
	default:
		u = readAs[responses.ResponseInputItemUnionParam](t, kind.Type, item)
	}
	return u
}
