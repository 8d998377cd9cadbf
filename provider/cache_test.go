package provider

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"
)

// TestMarks: which places of a request in the format anthropic are marked for the cache.
func TestMarks(t *testing.T) {
	const (
		marked = `"cache_control":{"type":"ephemeral"}`
		call   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	)
	for _, tc := range []struct {
		name     string
		messages []string
		change   func(*Request)
		// want are the marked messages, s for the system.
		want string
	}{
		{"one message", []string{`{"role":"user","content":"Hi"}`}, nil, "s0"},
		{"a round", []string{`{"role":"user","content":"Hi"}`, call, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`}, nil, "s02"},
		{"two rounds", []string{
			`{"role":"user","content":"Hi"}`, call, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`, call,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"text","text":"y"}]}`,
		}, nil, "s24"},
		{"a message that cannot be marked", []string{`{"role":"user","content":"Hi"}`, call, `{"role":"user","content":""}`}, nil, "s0"},
		{"an empty block", []string{`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`}, nil, "s"},
		{"a call at the end", []string{`{"role":"user","content":"Hi"}`, call}, nil, "s0"},
		{"no system", []string{`{"role":"user","content":"Hi"}`}, func(r *Request) { r.System, r.SystemMember = nil, "" }, "0"},
		{"a mark of the caller", []string{`{"role":"user","content":"Hi"}`, `{"role":"user","content":[{"type":"text","text":"a",` + marked + `}]}`}, nil, "1"},
		{"a mark in the system", []string{`{"role":"user","content":"Hi"}`}, func(r *Request) { r.System = json.RawMessage(`[{"type":"text","text":"a",` + marked + `}]`) }, "s"},
		{"a mark at a tool", []string{`{"role":"user","content":"Hi"}`}, func(r *Request) { r.Tools = json.RawMessage(`[{"name":"f","input_schema":{},` + marked + `}]`) }, ""},
		{"a text about marks", []string{`{"role":"user","content":"set \"cache_control\": {}"}`}, nil, "s0"},
		{"the provider's own", []string{`{"role":"user","content":"Hi"}`}, func(r *Request) {
			r.Members = map[string]json.RawMessage{"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := apis[2].request(t)
			r.Messages = nil
			for _, m := range tc.messages {
				r.Messages = append(r.Messages, json.RawMessage(m))
			}
			if tc.change != nil {
				tc.change(&r)
			}
			request, err := r.New(t.Context(), &url.URL{Scheme: "https", Host: "api.test"})
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(request.Body)
			if err != nil {
				t.Fatal(err)
			}
			var sent struct {
				System   json.RawMessage
				Messages []json.RawMessage
			}
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			got := ""
			if strings.Contains(string(sent.System), marked) {
				got = "s"
			}
			for i, m := range sent.Messages {
				if strings.Contains(string(m), marked) {
					got += string(rune('0' + i))
				}
				if n := strings.Count(string(m), marked); n > 1 {
					t.Errorf("message %d has %d marks", i, n)
				}
			}
			if got != tc.want {
				t.Errorf("marked are %q, want %q, in %s", got, tc.want, body)
			}
			for i, m := range tc.messages {
				if string(r.Messages[i]) != m {
					t.Errorf("the message of the caller is changed: %s", r.Messages[i])
				}
			}
		})
	}
}
