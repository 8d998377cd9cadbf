package turn_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

// TestHydrateOnly (HY-14, HY-15, HY-18): each provider's recorded response gives a result for each call, good and bad, and nothing is run for it.
func TestHydrateOnly(t *testing.T) {
	t.Parallel()
	specs := []toolspec.Spec{offeredTool("test__search", searching)}
	for _, tc := range []struct {
		codec    wire.Codec
		response string
	}{
		{openai.Codec{}, chat(t, asked{"c1", "test__search", `{"query":"a"}`}, asked{"c2", "test__search", `{"limit":7}`}, asked{"c3", "test__gone", `{}`}, asked{"c4", "test__search", `{"query":`})},
		{anthropic.Codec{}, `{"id":"m","type":"message","role":"assistant","model":"x","stop_reason":"tool_use","content":[` +
			`{"type":"tool_use","id":"c1","name":"test__search","input":{"query":"a"}},{"type":"tool_use","id":"c2","name":"test__search","input":{"limit":7}},` +
			`{"type":"tool_use","id":"c3","name":"test__gone","input":{}},{"type":"tool_use","id":"c4","name":"test__search","input":"{\"query\":"}]}`},
		{ollama.Codec{}, `{"model":"m","done":true,"done_reason":"stop","message":{"role":"assistant","content":"","tool_calls":[` +
			`{"function":{"name":"test__search","arguments":{"query":"a"}}},{"function":{"name":"test__search","arguments":{"limit":7}}},` +
			`{"function":{"name":"test__gone","arguments":{}}},{"function":{"name":"test__search","arguments":"{\"query\":"}}]}}`},
	} {
		tu := newTurn("k")
		tu.Codec = tc.codec
		tu.Offer.Format = tc.codec.Format()
		results, err := tu.Hydrate(strings.NewReader(tc.response), specs)
		if err != nil || len(results) != 4 {
			t.Fatalf("%s: %+v, %v", tc.codec.Format(), results, err)
		}
		var got []string
		for _, r := range results {
			got = append(got, string(r.Provenance.Outcome)+" "+string(r.Code()))
		}
		if text := strings.Join(got, ", "); text != "success , validate validation, instantiate unavailable, parse invalid_json" {
			t.Errorf("%s: they come to %s", tc.codec.Format(), text)
		}
		if i, ok := results[0].Instance(); !ok || string(i.Args()) != `{"query":"a"}` {
			t.Errorf("%s: the good one may run with %s", tc.codec.Format(), i.Args())
		}
		for i, r := range results {
			if r.Provenance.Provider != tc.codec.Format() || r.Provenance.ProviderToolID == "" || (i > 0) != (len(r.Errors) > 0) {
				t.Errorf("%s: call %d: %+v", tc.codec.Format(), i, r)
			}
		}
	}
	// The form of one tool is not undone for another.
	strict, err := client.NewOffer(openai.Codec{}, []toolspec.Spec{offeredTool("mcp__x__test__search", searching)}, true)
	if err != nil {
		t.Fatal(err)
	}
	other := newTurn("k")
	other.Offer = strict
	if r, err := other.Hydrate(strings.NewReader(chat(t, asked{"c1", "test__search", `{"query":"a","limit":null}`})), specs); err != nil || r[0].Success {
		t.Errorf("another tool's form: %+v, %v", r, err)
	}
	// What Turn would not start is no success here either.
	tu := newTurn("k")
	results, err := tu.Hydrate(strings.NewReader(chat(t, asked{"c1", "test__search", `{"query":"a"}`}, asked{"c1", "test__search", `{"query":"b"}`})), specs)
	if err != nil || !results[0].Success || results[1].Success || results[1].Code() != toolspec.CodeConflict {
		t.Errorf("an id twice: %+v, %v", results, err)
	}
}
