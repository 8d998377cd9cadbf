package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestFields: a review can name the fields of each output schema that a tool without a review publishes.
func TestFields(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ out, want string }{
		{`{"type":"object","properties":{"b/c~d":{"type":"string"},"a":{"type":"object"},"*":{}}}`, "/a /b~1c~0d"},
		{`{"type":"array","items":{"properties":{"id":{"type":"string"}}}}`, "/*/id"},
		{string(toolspec.PartsSchema()), "/*/bytes /*/data /*/mediaType /*/name /*/outputRef /*/text /*/type /*/uri"},
		{`{"properties":{"":{},"a":{}}}`, "/a"}, // the path of a field without a name would show the whole output
		{`{"type":"string"}`, ""},
		{`true`, ""},
	} {
		shown, _ := hideAll(json.RawMessage(tc.out))
		if got := strings.Join(Fields(shown), " "); got != tc.want {
			t.Errorf("of %s: %q, want %q", tc.out, got, tc.want)
		}
		if got := strings.Join(Fields(json.RawMessage(tc.out)), " "); got != tc.want {
			t.Errorf("of %s with a review: %q, want %q", tc.out, got, tc.want)
		}
	}
	if err := CheckAllow(json.RawMessage(`{"properties":{"a":{}}}`), []string{"/a", "/b"}); err == nil || !strings.Contains(err.Error(), `"/b" names nothing in the output schema, which has /a`) {
		t.Error(err)
	}
	if err := CheckAllow(json.RawMessage(`{"type":"string"}`), []string{"/b"}); err != nil {
		t.Error(err)
	}
}
