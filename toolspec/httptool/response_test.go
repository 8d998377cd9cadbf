package httptool_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

// item is a tool of a service of items.
func item(t *testing.T, effect toolspec.Effect, response string) toolspec.Tool {
	t.Helper()
	d, err := httptool.Read("shop.yaml", []byte(`
format: 1
name: shop
tools:
  - id: shop__item
    description: Reads or changes an item.
    version: "1"
    effect: `+string(effect)+`
    risk: low
    connection: required
    redaction: {allow: [""]}
    input:
      type: object
      properties:
        id: {type: string}
      required: [id]
    request: {method: GET, path: "/items/{id}"}
    response: `+response+`
`))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := d.Bind()
	if err != nil {
		t.Fatal(err)
	}
	return tools[0]
}

// TestResponses: what a response becomes, by its status and the effect of the tool.
func TestResponses(t *testing.T) {
	t.Parallel()
	const reads, writes = toolspec.ReadOnly, toolspec.ExternalSideEffect
	plain := `{type: json}`
	for name, c := range map[string]struct {
		effect   toolspec.Effect
		response string
		status   int
		header   map[string]string
		body     string
		value    string
		code     toolspec.Code
		message  string // a part of it
		requests int
	}{
		"value":               {reads, plain, 200, nil, `{"id":1,"name":"a"}`, `{"id":1,"name":"a"}`, "", "", 1},
		"number as written":   {reads, plain, 200, nil, `[12345678901234567890.10]`, `[12345678901234567890.10]`, "", "", 1},
		"other result":        {reads, `{type: json, results: ["404"]}`, 404, nil, `{"a":1}`, `{"a":1}`, "", "", 1},
		"created":             {writes, plain, 201, nil, `1`, `1`, "", "", 1},
		"pointer":             {reads, `{type: json, pointer: /data/1/a~1b}`, 200, nil, `{"data":[0,{"a/b":"x"}]}`, `"x"`, "", "", 1},
		"pointer to nothing":  {reads, `{type: json, pointer: /data/7}`, 200, nil, `{"data":[0]}`, "", toolspec.CodeExecution, "no value at the pointer", 1},
		"schema":              {reads, `{type: json, schema: {type: object}}`, 200, nil, `[]`, "", toolspec.CodeOutputValidation, "", 1},
		"not JSON":            {reads, plain, 200, nil, `<html>`, "", toolspec.CodeExecution, "not JSON", 1},
		"names twice":         {reads, plain, 200, nil, `{"a":1,"a":2}`, "", toolspec.CodeExecution, "not JSON", 1},
		"no content":          {reads, plain, 204, nil, ``, "", toolspec.CodeExecution, "no content", 1},
		"empty":               {reads, `{type: json, empty: true}`, 204, nil, ``, `null`, "", "", 1},
		"text":                {reads, `{type: text}`, 200, nil, `<b>ü`, `"\u003cb\u003eü"`, "", "", 1},
		"text, not UTF-8":     {reads, `{type: text}`, 200, nil, "\xff", "", toolspec.CodeExecution, "not UTF-8", 1},
		"bytes":               {reads, `{type: bytes}`, 200, map[string]string{"Content-Type": "image/png"}, `png`, `[{"data":"cG5n","mediaType":"image/png","type":"image"}]`, "", "", 1},
		"too large":           {reads, `{type: text, maxBytes: 10}`, 200, nil, strings.Repeat("x", 11), "", toolspec.CodeExecution, "more than 10 bytes", 1},
		"as large":            {reads, `{type: text, maxBytes: 10}`, 200, nil, strings.Repeat("x", 10), `"xxxxxxxxxx"`, "", "", 1},
		"unauthorized":        {reads, plain, 401, nil, `secret words`, "", toolspec.CodeExecution, "does not accept the credential", 1},
		"forbidden":           {reads, plain, 403, nil, `secret words`, "", toolspec.CodeExecution, "may not do this", 1},
		"not found":           {reads, plain, 404, nil, `secret words`, "", toolspec.CodeExecution, "404 Not Found", 1},
		"conflict":            {writes, plain, 409, nil, ``, "", toolspec.CodeExecution, "409 Conflict", 1},
		"message":             {reads, `{type: json, errors: [{status: 4XX, is: final, message: There is no such item.}]}`, 404, nil, ``, "", toolspec.CodeExecution, "There is no such item.", 1},
		"limited":             {writes, plain, 429, map[string]string{"Retry-After": "7"}, ``, "", toolspec.CodeRateLimited, "limits the rate", 1},
		"limited, forbidden":  {reads, plain, 403, map[string]string{"Retry-After": "7"}, ``, "", toolspec.CodeRateLimited, "limits the rate", 1},
		"busy by document":    {writes, `{type: json, errors: [{status: "503", is: busy, message: The shop is closed.}]}`, 503, nil, ``, "", toolspec.CodeRateLimited, "The shop is closed.", 1},
		"server error, reads": {reads, plain, 500, nil, ``, "", toolspec.CodeExecution, "", 1},
		"server error":        {writes, plain, 500, nil, ``, "", toolspec.CodeOutcomeUnknown, "may have had its effect", 1},
		"sees another page":   {writes, plain, 303, nil, ``, "", toolspec.CodeOutcomeUnknown, "may have had its effect", 1},
		"written, not JSON":   {writes, plain, 201, nil, `<html>`, "", toolspec.CodeExecution, "201, so the request has had its effect, but the response", 1},
		"no result, reads":    {reads, `{type: json, results: ["200"]}`, 202, nil, `1`, "", toolspec.CodeExecution, "the status 202 is no result of the tool", 1},
		"no result":           {writes, `{type: json, results: ["201"]}`, 202, nil, `1`, "", toolspec.CodeExecution, "202, so the request has had its effect, but the status 202 is no result", 1},
		"no result, no entry": {writes, `{type: json, results: ["201"], errors: [{status: 4XX, is: final, message: No.}]}`, 200, nil, `1`, "", toolspec.CodeExecution, "has had its effect", 1},
		"no result by entry":  {writes, `{type: json, results: ["201"], errors: [{status: 2XX, is: final, message: Not sold.}]}`, 202, nil, `1`, "", toolspec.CodeExecution, "Not sold.", 1},
		"effect by entry":     {writes, `{type: json, results: ["201"], errors: [{status: "202", is: transient}]}`, 202, nil, `1`, "", toolspec.CodeOutcomeUnknown, "may have had its effect", 1},
		"redirect":            {writes, plain, 304, nil, ``, "", toolspec.CodeExecution, "304", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			got := pawltest.Call{
				Tool: item(t, c.effect, c.response), Args: `{"id":"a b"}`,
				Connection: &pawltest.Connection{
					Credential: map[string]string{broker.FieldToken: "a-token-of-the-test"},
					Service: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						requests++
						if r.Host != "api.example.com" || r.URL.EscapedPath() != "/items/a%20b" || r.Header.Get("Authorization") != "Bearer a-token-of-the-test" {
							t.Errorf("the service got %s %s %v", r.Host, r.URL, r.Header)
						}
						for name, value := range c.header {
							w.Header().Set(name, value)
						}
						w.WriteHeader(c.status)
						_, _ = w.Write([]byte(c.body))
					}),
				},
			}.Run(t)
			code, message := got.Result.ErrorCode, got.Result.SafeMessage
			if code != c.code || !strings.Contains(message, c.message) || strings.Contains(message, "secret words") || !bytes.Equal(got.Value, []byte(c.value)) || requests != c.requests {
				t.Errorf("got %s, %q, %q after %d requests", got.Value, code, message, requests)
			}
		})
	}
}

// TestHostOfConnection: the connection chooses the host. A host of the document that is not one of the connection's gets nothing.
func TestHostOfConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts        []string
		host, sentTo string
	}{
		{[]string{"api.example.com", "uploads.example.com"}, "", "api.example.com"},
		{[]string{"*.example.com", "api.example.com:8443"}, "", "api.example.com:8443"},
		{[]string{"api.example.com", "uploads.example.com"}, "uploads.example.com", "uploads.example.com"},
		{[]string{"*.example.com"}, "eu.example.com", "eu.example.com"},
		{[]string{"*.example.com"}, "", ""},
		{[]string{"api.example.com"}, "evil.example", ""},
		{[]string{"api.example.com"}, "api.example.com:8443", ""},
	} {
		sentTo := ""
		tool := httptool.Tool{
			ID: "shop__get", Description: "Gets.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Connection: httptool.Required, Host: c.host,
			Redaction: httptool.Redaction{Allow: []string{""}}, Input: json.RawMessage(`{"type":"object","properties":{}}`),
			Request: httptool.Request{Method: "GET", Path: "/x"}, Response: httptool.Response{Type: httptool.ResponseJSON},
		}
		bound, err := tool.Bind("shop")
		if err != nil {
			t.Fatal(err)
		}
		got := pawltest.Call{Tool: bound, Args: `{}`, Connection: &pawltest.Connection{
			Provider: broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: c.hosts},
			Service: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sentTo = r.Host
				_, _ = w.Write([]byte("1"))
			}),
		}}.Run(t)
		if sentTo != c.sentTo || got.Result.OK != (c.sentTo != "") {
			t.Errorf("hosts %v, host %q: sent to %q, %+v", c.hosts, c.host, sentTo, got.Result)
		}
	}
}

// TestRequestIsPartOfTheVersion: a document that sends another request under the same version is another tool, so that no approval of the first
// covers it. A change of words is not.
func TestRequestIsPartOfTheVersion(t *testing.T) {
	t.Parallel()
	digest := func(change func(*httptool.Tool)) string {
		d := httptool.Tool{
			ID: "shop__get", Description: "Gets.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Connection: httptool.None, Host: "api.example.com",
			Redaction: httptool.Redaction{Allow: []string{"/"}}, Input: json.RawMessage(`{"type":"object","properties":{}}`),
			Request: httptool.Request{Method: http.MethodGet, Path: "/pets"}, Response: httptool.Response{Type: httptool.ResponseJSON},
		}
		change(&d)
		tool, err := d.Bind("shop")
		if err != nil {
			t.Fatal(err)
		}
		registry, err := catalog.Describe("http", tool)
		if err != nil {
			t.Fatal(err)
		}
		return registry.Specs()[0].Digest
	}
	same := digest(func(*httptool.Tool) {})
	for name, change := range map[string]func(*httptool.Tool){
		"path": func(d *httptool.Tool) { d.Request.Path = "/people" }, "method": func(d *httptool.Tool) { d.Request.Method = http.MethodDelete },
		"host": func(d *httptool.Tool) { d.Host = "other.example.com" }, "response": func(d *httptool.Tool) { d.Response.Pointer = "/a" },
		"constant": func(d *httptool.Tool) {
			value := "1"
			d.Request.Parameters = []httptool.Parameter{{In: httptool.InQuery, Name: "all", Value: &value}}
		},
	} {
		if digest(change) == same {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	if digest(func(d *httptool.Tool) { d.Description = "Gets pets." }) != same {
		t.Error("other words make another digest")
	}
}

// sameClient gives all calls one client, so that they share connections.
type sameClient struct{ client *http.Client }

func (s sameClient) Client() *http.Client { return s.client }

// TestLostAnswers is fault 59: a service closes an open connection after it has read a request. The request is not sent again, and a tool that
// must not be repeated does not know whether it had its effect. If no connection can be made, nothing was sent.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, effect := range []toolspec.Effect{toolspec.ExternalSideEffect, toolspec.ReadOnly} {
		requests := 0
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if requests++; requests > 1 {
				panic(http.ErrAbortHandler) // closes the connection
			}
			_, _ = w.Write([]byte("1"))
		}))
		t.Cleanup(server.Close)
		tool := httptool.Tool{
			ID: "shop__buy", Description: "Buys.", Version: "1", Effect: effect, Risk: toolspec.LowRisk, Connection: httptool.None,
			Host: strings.TrimPrefix(server.URL, "https://"), Redaction: httptool.Redaction{Allow: []string{""}},
			Input:    json.RawMessage(`{"type":"object","properties":{"item":{"type":"string"}},"required":["item"]}`),
			Request:  httptool.Request{Method: http.MethodPost, Path: "/orders", Body: &httptool.Body{Type: httptool.BodyText, Arg: "item"}},
			Response: httptool.Response{Type: httptool.ResponseJSON},
		}
		bound, err := tool.Bind("shop")
		if err != nil {
			t.Fatal(err)
		}
		call := pawltest.Call{
			Tool: bound, Args: `{"item":"tea"}`, Capabilities: []toolspec.Provided{capability.PublicHTTPKey.Provide(sameClient{server.Client()})},
		}
		if got := call.Run(t); !got.Result.OK {
			t.Fatalf("%+v", got.Result)
		}
		code, message := toolspec.CodeExecution, ""
		if effect != toolspec.ReadOnly {
			code, message = toolspec.CodeOutcomeUnknown, "the service gave no response; the request may have had its effect"
		}
		got := call.Run(t).Result
		if got.ErrorCode != code || !strings.Contains(got.SafeMessage, message) || requests != 2 {
			t.Errorf("%s: got %+v after %d requests", effect, got, requests)
		}
		server.Close()
		if code = toolspec.CodeExecution; effect != toolspec.ReadOnly {
			code = toolspec.CodeRateLimited // for a new call later: nothing was sent
		}
		if got := call.Run(t).Result; got.ErrorCode != code {
			t.Errorf("%s: without a service, got %+v", effect, got)
		}
	}
}
