package provider

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"
)

// TestReasoning: only a model that shall reason is asked for its reasoning, because others refuse to be asked.
func TestReasoning(t *testing.T) {
	const include = `"include":["reasoning.encrypted_content"]`
	for _, tc := range []struct {
		members map[string]json.RawMessage
		want    bool
	}{
		{nil, false},
		{map[string]json.RawMessage{"reasoning": json.RawMessage(`{"effort":"low"}`)}, true},
		{map[string]json.RawMessage{"reasoning": json.RawMessage(`{"effort":"low"}`), "include": json.RawMessage(`[]`)}, false},
	} {
		r := apis[1].request(t)
		r.Members = tc.members
		request, err := r.New(t.Context(), &url.URL{Scheme: "https", Host: "api.test"})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(request.Body)
		if err != nil || strings.Contains(string(body), include) != tc.want {
			t.Errorf("%s: got %s, %v", tc.members, body, err)
		}
	}
}

// TestBase: a base that leads nowhere is refused.
func TestBase(t *testing.T) {
	for _, base := range []url.URL{{}, {Scheme: "ftp", Host: "a.test"}, {Scheme: "https"}, {Path: "api.test/v1"}} {
		if _, err := apis[0].request(t).New(t.Context(), &base); err == nil {
			t.Errorf("%v is accepted", base)
		}
	}
}

// TestLostReasoning: reasoning that the provider does not know any more is left out, with the ids that refer to it.
func TestLostReasoning(t *testing.T) {
	const (
		lost    = `{"type":"reasoning","id":"rs_1","summary":[]}`
		null    = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null}`
		whole   = `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gAAA"}`
		call    = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"}`
		search  = `{"type":"web_search_call","id":"ws_1","status":"completed"}`
		callOut = `{"arguments":"{}","call_id":"call_1","name":"f","type":"function_call"}`
	)
	for _, tc := range []struct {
		name, store string
		items       []string
		want        string
	}{
		{"nothing lost", "", []string{whole, call}, whole + "," + call},
		{"lost", "", []string{lost, call, search}, callOut + "," + search},
		{"null", "", []string{null, call}, callOut},
		{"one of two", "false", []string{lost, call, whole}, callOut + "," + whole},
		{"stored", "true", []string{lost, call}, lost + "," + call},
	} {
		r := apis[1].request(t)
		r.Messages = nil
		for _, item := range tc.items {
			r.Messages = append(r.Messages, json.RawMessage(item))
		}
		if tc.store != "" {
			r.Members = map[string]json.RawMessage{"store": json.RawMessage(tc.store)}
		}
		request, err := r.New(t.Context(), &url.URL{Scheme: "https", Host: "api.test"})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(request.Body)
		if err != nil || !strings.Contains(string(body), `"input":[`+tc.want+`]`) {
			t.Errorf("%s: got %s, %v", tc.name, body, err)
		}
	}
}
