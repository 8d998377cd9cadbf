package sanitize

import (
	"encoding/json"
	"testing"
)

// TestSchema: what describes is cleaned, and hidden text elsewhere is reported and not changed.
func TestSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		doc, want string
		hidden    bool
	}{
		"plain":           {`{"description":"a","type":"object"}`, `{"description":"a","type":"object"}`, false},
		"in a field":      {`{"properties":{"a":{"description" : "x\u200by","title":"\u001b[31mr","$comment":"\u202eb"}}}`, `{"properties":{"a":{"description" : "xy","title":"r","$comment":"\\u202eb"}}}`, false},
		"a marker":        {`{"description":"<|im_start|>"}`, `{"description":"<\\|im_start|>"}`, false},
		"a name":          {`{"properties":{"a\u200b":{"description":"x\u200b"}}}`, `{"properties":{"a\u200b":{"description":"x"}}}`, true},
		"an enum":         {`{"title":"t","enum":["a\u200b"]}`, `{"title":"t","enum":["a\u200b"]}`, true},
		"a pattern":       {`{"pattern":"\u200b"}`, `{"pattern":"\u200b"}`, true},
		"a field called":  {`{"properties":{"description":{"const":"\u200b"}}}`, `{"properties":{"description":{"const":"\u200b"}}}`, true},
		"a list":          {`{"description":["\u200b"]}`, `{"description":["\u200b"]}`, true},
		"a value as name": {`{"enum":["description","\u200b"]}`, `{"enum":["description","\u200b"]}`, true},
		"after a number":  {`{"title":1,"x":"\u200b"}`, `{"title":1,"x":"\u200b"}`, true},
	} {
		got, hidden := Schema(json.RawMessage(c.doc))
		if string(got) != c.want || hidden != c.hidden {
			t.Errorf("%s: %s, %v, want %s, %v", name, got, hidden, c.want, c.hidden)
		}
		if again, _ := Schema(got); string(again) != string(got) {
			t.Errorf("%s: a second pass returns %s", name, again)
		}
	}
}
