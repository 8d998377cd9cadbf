package httptool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/sanitize"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// compiled is a description that has been checked.
type compiled struct {
	doc        Tool
	version    string
	path       template
	pointer    strictjson.Path
	repeatable bool
	attempts   int
}

// attempts bounds the attempts of a call. A tool that must not be repeated gets another attempt
// only if the service says that it did nothing.
const attempts = 3

// compile checks a description.
func compile(t Tool) (*compiled, error) {
	t, err := t.clean()
	if err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	c := &compiled{doc: t, attempts: attempts}
	if c.version, err = t.version(); err != nil {
		return nil, err
	}
	c.path, _ = readTemplate(t.Request.Path)
	c.pointer, _ = strictjson.SplitPointer(t.Response.Pointer)
	c.repeatable = c.definition("").Repeatable()
	return c, nil
}

// clean returns the description with texts that cannot pose as something else to a model. Hidden text of a schema outside
// of its descriptions is an error, because a change of it would change what the schema accepts.
func (t Tool) clean() (Tool, error) {
	t.Title, _ = sanitize.Text(t.Title)
	t.Description, _ = sanitize.Text(t.Description)
	for name, doc := range map[string]*json.RawMessage{"input": &t.Input, "response.schema": &t.Response.Schema} {
		var hidden bool
		if *doc, hidden = sanitize.Schema(*doc); hidden {
			return t, errors.New(name + " has hidden characters or markers of chat formats outside of descriptions")
		}
	}
	return t, nil
}

// pathParameter returns the parameter of a name in the path.
func (t *compiled) pathParameter(name string) Parameter {
	for _, p := range t.doc.Request.Parameters {
		if p.In == InPath && p.Name == name {
			return p
		}
	}
	return Parameter{In: InPath, Name: name}
}

// Bind returns the tools of a document. The worker checks their schemas when it registers them.
func (d Document) Bind() ([]toolspec.Tool, error) {
	tools := make([]toolspec.Tool, 0, len(d.Tools))
	for _, t := range d.Tools {
		tool, err := t.Bind(d.Name)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// Bind returns the tool. providedBy is the name of its document.
func (t Tool) Bind(providedBy string) (toolspec.Tool, error) {
	c, err := compile(t)
	if err != nil {
		return toolspec.Tool{}, err
	}
	return toolspec.DefineSchema(c.definition(providedBy), c.doc.Input, c.doc.output(), c.run), nil
}

func (t *compiled) definition(providedBy string) toolspec.Definition {
	d := t.doc
	def := toolspec.Definition{
		ID: d.ID, Title: d.Title, Description: d.Description, Version: t.version, Effect: d.Effect, Risk: d.Risk,
		Idempotent: d.Idempotent, Scopes: d.Scopes, Timeout: time.Duration(d.TimeoutSeconds) * time.Second, MaxAttempts: attempts,
		MaxArgsBytes: d.MaxArgsBytes, MaxResultBytes: d.MaxResultBytes, Tags: d.Tags, HarmlessNames: d.HarmlessNames,
		Redaction: toolspec.Redaction{Allow: d.Redaction.Allow, MaskInput: d.Redaction.MaskInput}, ProvidedBy: providedBy,
	}
	if d.Connection == Required {
		def.RequiresConnection, def.Capabilities = true, []toolspec.CapabilityName{capability.ClientsKey.Name()}
	} else {
		def.Capabilities = []toolspec.CapabilityName{capability.PublicHTTPKey.Name()}
	}
	return def
}

// version returns the version of the author and the SHA-256 of what the tool sends and reads. With another request the tool has
// another digest, so an approval of the request before is stale. A part of the sum would not do: an author could look for a
// harmless request and a harmful one with the same part.
func (t Tool) version() (string, error) {
	sends, err := json.Marshal(struct {
		Connection Connection
		Host       string
		Request    Request
		Response   Response
	}{t.Connection, t.Host, t.Request, t.Response})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(sends)
	return t.Version + "+" + hex.EncodeToString(sum[:]), nil
}

// output returns the output schema.
func (t Tool) output() json.RawMessage {
	r := t.Response
	switch {
	case r.Type == ResponseText:
		return json.RawMessage(`{"type":"string"}`)
	case r.Type == ResponseBytes:
		return toolspec.PartsSchema()
	case len(r.Schema) == 0:
		return json.RawMessage(`{}`)
	}
	return r.Schema
}

// run sends the request of a call and reads the response.
func (t *compiled) run(ctx context.Context, args json.RawMessage, call toolspec.Call) (json.RawMessage, error) {
	client, base, err := t.connect(call)
	if err != nil {
		return nil, err
	}
	req, err := t.newRequest(ctx, base, args, call.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, t.lost(ctx, err, call, req.URL)
	}
	defer func() { _ = resp.Body.Close() }()
	return t.read(ctx, resp, call)
}

// connect returns the client of the call and the scheme and host of its request.
func (t *compiled) connect(call toolspec.Call) (*http.Client, *url.URL, error) {
	if t.doc.Connection != Required {
		return capability.PublicHTTPKey.From(call).Client(), &url.URL{Scheme: "https", Host: t.doc.Host}, nil
	}
	clients := capability.ClientsKey.From(call)
	client, err := clients.For(call.Context.ConnectionID)
	if err != nil {
		return nil, nil, toolspec.Safef("%w", err)
	}
	base, err := clients.BaseURL(call.Context.ConnectionID, t.doc.Host)
	switch {
	case errors.Is(err, capability.ErrForeignHost):
		return nil, nil, toolspec.Safef("%w: nothing was sent", capability.ErrForeignHost)
	case err != nil:
		return nil, nil, toolspec.Safef("%w", err)
	}
	return client, base, nil
}
