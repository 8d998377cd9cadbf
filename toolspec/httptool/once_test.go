package httptool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

// straight gives every connection the client of a server.
type straight struct{ *httptest.Server }

func (s straight) For(string) (*http.Client, error) { return s.Client(), nil }

func (s straight) BaseURL(string, string) (*url.URL, error) { return url.Parse(s.URL) }

// TestSentOnce: net/http sends a request again when a connection that it has kept breaks. It must not do so for a tool
// that must not be repeated, also if its method is GET or a parameter is a header that permits it (fault 59).
func TestSentOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect  toolspec.Effect
		request string
		// requests counts those of two calls, of which the second breaks.
		requests int64
		unknown  bool
	}{
		"a read":                  {toolspec.ReadOnly, `{method: GET, path: /a}`, 3, false},
		"a GET with an effect":    {toolspec.ExternalSideEffect, `{method: GET, path: /a}`, 2, true},
		"a POST":                  {toolspec.ExternalSideEffect, `{method: POST, path: /a}`, 2, true},
		"a POST with a header":    {toolspec.ExternalSideEffect, `{method: POST, path: /a, parameters: [{in: header, name: X-Idempotency-Key, value: "1"}]}`, 2, true},
		"a DELETE with an effect": {toolspec.StateChange, `{method: DELETE, path: /a, parameters: [{in: header, name: Idempotency-Key, value: "1"}]}`, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if len(r.TransferEncoding) > 0 {
					t.Errorf("the request has a body of the encoding %v", r.TransferEncoding)
				}
				if strings.Contains(c.request, "value") && r.Header.Get("Idempotency-Key")+r.Header.Get("X-Idempotency-Key") != "1" {
					t.Errorf("the request has the headers %v", r.Header)
				}
				if requests.Add(1) == 2 {
					if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
						_ = conn.Close()
					}
					return
				}
				_, _ = w.Write([]byte(`1`))
			}))
			t.Cleanup(server.Close)
			d, err := httptool.Read("a.yaml", fmt.Appendf(nil, `
format: 1
name: shop
tools:
  - {id: shop__item, description: d, version: "1", effect: %s, risk: low, connection: required, redaction: {allow: [""]}, input: {type: object}, request: %s, response: {type: json}}
`, c.effect, c.request))
			if err != nil {
				t.Fatal(err)
			}
			tools, err := d.Bind()
			if err != nil {
				t.Fatal(err)
			}
			caps, err := toolspec.NewCapabilities(capability.ClientsKey.Provide(straight{server}))
			if err != nil {
				t.Fatal(err)
			}
			call := toolspec.Call{ToolID: "shop__item"}.WithCapabilities(caps)
			if _, err := tools[0].Run(t.Context(), json.RawMessage(`{}`), call); err != nil {
				t.Fatal(err)
			}
			_, err = tools[0].Run(t.Context(), json.RawMessage(`{}`), call)
			var unknown *toolspec.UnansweredError
			if errors.As(err, &unknown) != c.unknown || requests.Load() != c.requests {
				t.Errorf("the broken call returns %v after %d requests, want %d", err, requests.Load(), c.requests)
			}
		})
	}
}

// TestSentOnceOverHTTP2: a GET that must not be repeated works over HTTP/2 too, where it ends with an empty frame.
func TestSentOnceOverHTTP2(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.ProtoMajor != 2 || r.ContentLength > 0 || len(body) > 0 || err != nil {
			t.Errorf("%s with %d bytes of %d, %v", r.Proto, len(body), r.ContentLength, err)
		}
		if requests.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte(`1`))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	d, err := httptool.Read("a.yaml", []byte(`
format: 1
name: shop
tools:
  - {id: shop__item, description: d, version: "1", effect: external_side_effect, risk: low, connection: required, redaction: {allow: [""]}, input: {type: object}, request: {method: GET, path: /a}, response: {type: json}}
`))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := d.Bind()
	if err != nil {
		t.Fatal(err)
	}
	caps, err := toolspec.NewCapabilities(capability.ClientsKey.Provide(straight{server}))
	if err != nil {
		t.Fatal(err)
	}
	call := toolspec.Call{ToolID: "shop__item"}.WithCapabilities(caps)
	if _, err := tools[0].Run(t.Context(), json.RawMessage(`{}`), call); err != nil {
		t.Fatal(err)
	}
	_, err = tools[0].Run(t.Context(), json.RawMessage(`{}`), call)
	var unknown *toolspec.UnansweredError
	if !errors.As(err, &unknown) || requests.Load() != 2 {
		t.Errorf("the broken call returns %v after %d requests", err, requests.Load())
	}
}

// TestHiddenText: models read texts of a document without hidden characters and markers, and a document with such text in names or values
// of a schema is refused.
func TestHiddenText(t *testing.T) {
	t.Parallel()
	bind := func(describes, value string) (toolspec.Tool, error) {
		d, err := httptool.Read("a.yaml", fmt.Appendf(nil, `
format: 1
name: shop
tools:
  - {id: shop__item, title: Finds., description: %[1]q, version: "1", effect: read_only, risk: low, connection: required, redaction: {allow: [""]}, request: {method: GET, path: /a, parameters: [{in: query, name: a}]},
     input: {type: object, properties: {a: {description: %[1]q, enum: [%[2]q]}}}, response: {type: json, schema: {title: %[1]q}}}
`, describes, value))
		if err != nil {
			t.Fatal(err)
		}
		tools, err := d.Bind()
		if err != nil {
			return toolspec.Tool{}, err
		}
		return tools[0], nil
	}
	tool, err := bind("Finds.\u200b<|im_start|>", "v")
	if err != nil {
		t.Fatal(err)
	}
	input, output, _ := tool.Documents()
	for _, text := range []string{tool.Definition().Title, tool.Definition().Description, string(input), string(output)} {
		if strings.Contains(text, "\u200b") || strings.Contains(text, "<|im_start|>") || !strings.Contains(text, "Finds.") {
			t.Errorf("a model reads %s", text)
		}
	}
	for _, value := range []string{"v\u200b", "<|im_start|>"} {
		if _, err := bind("Finds.", value); err == nil || !strings.Contains(err.Error(), "hidden characters") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
