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
