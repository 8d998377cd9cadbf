package postgres_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestKeptAnswersAreDeleted: an answer is kept until its call is settled, by its workflow or by the sweeper, and not after it.
func TestKeptAnswersAreDeleted(t *testing.T) {
	b := open(t)
	for call, settle := range map[string]func(){
		"call_1": func() {
			in := settleIn("call_1", 1)
			in.Claims = []contract.Claim{{Dispatch: 1, ID: "claim"}}
			if out := b.settle(in); out.Outcome != contract.Done {
				t.Errorf("settled with %+v", out)
			}
		},
		"call_2": func() {
			if code := b.sweep("call_2", 1, upkeep.OwnerTerminated, toolspec.CodeCancelled); code != toolspec.CodeOutcomeUnknown {
				t.Errorf("swept with %q", code)
			}
		},
	} {
		b.opened(call)
		if got := b.claim(attempt.ClaimRow{
			InvocationID: id(call), TenantID: tenant, ToolID: admitRow(call).Invocation.ToolID, Epoch: 1, Dispatch: 1, ClaimID: "claim", Subject: "subject", Runtime: time.Second,
		}); got != contract.Done {
			t.Fatalf("claimed with %s", got)
		}
		keep := func() (kept bool) {
			t.Helper()
			if err := b.Keep(t.Context(), attempt.KeepRow{
				InvocationID: id(call), Claim: contract.Claim{Dispatch: 1, ID: "claim"}, Subject: "subject", Answer: []byte(`{"value": "\u0000"}`),
			}); err != nil {
				t.Fatal(err)
			}
			return b.keepsAnswer(call)
		}
		if !keep() {
			t.Errorf("%s: the answer is not kept", call)
		}
		if settle(); b.keepsAnswer(call) {
			t.Errorf("%s: the settled call keeps an answer", call)
		}
		if keep() {
			t.Errorf("%s: a late answer is kept", call)
		}
	}
}

// keepsAnswer reports whether a claim of a call has an answer or a subject.
func (b bench) keepsAnswer(call string) bool {
	b.t.Helper()
	return value[bool](b, `SELECT bool_or(answer IS NOT NULL OR subject IS NOT NULL) FROM claims WHERE invocation_id = $1::uuid`, id(call))
}
