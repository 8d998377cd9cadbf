package turn_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

// TestLargeArgumentsAreNotRead: arguments that no call may have are answered without a look at them. Parsed, these took three gigabytes.
func TestLargeArgumentsAreNotRead(t *testing.T) {
	specs := []toolspec.Spec{offeredTool("test__search", searching)}
	offer, err := client.NewOffer(openai.Codec{}, specs, true)
	if err != nil {
		t.Fatal(err)
	}
	tu := newTurn("k")
	tu.Offer = offer
	body := chat(t, asked{"c1", "test__search", `{"query":[` + strings.Repeat("0,", 7_000_000) + `0]}`}, asked{"c2", "test__search", `{"query":"a","limit":null}`})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	plan, err := tu.Plan(strings.NewReader(body))
	runtime.ReadMemStats(&after)
	if err != nil || len(plan.Calls) != 2 {
		t.Fatal(plan.Calls, err)
	}
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 500 {
		t.Errorf("a response of 14 MiB took %d", mb)
	}
	if r := plan.Calls[0].Refused; r == nil || r.ErrorCode != toolspec.CodeValidation || r.SafeMessage != "The arguments are larger than 65536 bytes" {
		t.Errorf("refused: %+v", r)
	}
	if got := string(plan.Calls[1].Invocation.Args); got != `{"query":"a"}` {
		t.Errorf("the other call has %s", got)
	}
	results, err := tu.Hydrate(strings.NewReader(body), specs)
	if err != nil || results[0].Code() != toolspec.CodeValidation || results[0].Problems()[0].Kind != "too_large" || !results[1].Success {
		t.Errorf("hydrated: %+v, %v", results, err)
	}
}
