package postgres_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestKeptAnswersAreDeleted: the stored answer of an attempt is deleted when its call is settled, by its workflow or by the sweeper.
func TestKeptAnswersAreDeleted(t *testing.T) {
	b := open(t)
	b.admit("another open call")
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
		b.admit(call)
		if got := b.claim(attempt.ClaimRow{
			InvocationID: id(call), TenantID: tenant, ToolID: admitRow(call).Invocation.ToolID, Epoch: 1, Dispatch: 1, ClaimID: "claim", Subject: "subject", Runtime: time.Second,
		}); got != contract.Done {
			t.Fatalf("claimed with %s", got)
		}
		keep := func() (kept bool) {
			t.Helper()
			b.keep(call, contract.Claim{Dispatch: 1, ID: "claim"}, `{"value": "\u0000"}`)
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

// TestLeftAnswersAreDeleted: upkeep deletes the answers that a worker of release 0.1.0 leaves behind when it settles
// a call, and no answer of an open call.
func TestLeftAnswersAreDeleted(t *testing.T) {
	b := open(t)
	calls := []string{"call_1", "call_2", "call_3"}
	for _, call := range calls {
		b.admit(call)
		b.claim(attempt.ClaimRow{
			InvocationID: id(call), TenantID: tenant, ToolID: admitRow(call).Invocation.ToolID, Epoch: 1, Dispatch: 1, ClaimID: "claim", Subject: "subject", Runtime: time.Second,
		})
		if call != "call_3" {
			in := settleIn(call, 1)
			in.Claims = []contract.Claim{{Dispatch: 1, ID: "claim"}}
			b.settle(in)
		}
		b.sql(`UPDATE claims SET answer = '{}', subject = 'subject' WHERE invocation_id = $1::uuid`, id(call))
	}
	for i, want := range []int{1, 1, 0} {
		if n, err := b.DeleteKeptAnswers(t.Context(), 1); n != want || err != nil {
			t.Errorf("turn %d deleted %d, %v; want %d", i, n, err, want)
		}
	}
	for _, call := range calls {
		if kept := b.keepsAnswer(call); kept != (call == "call_3") {
			t.Errorf("%s keeps an answer: %t", call, kept)
		}
	}
}

// keep keeps an answer of a claim, if the record has the claim and its call is open.
func (b bench) keep(call string, of contract.Claim, answer string) {
	b.t.Helper()
	if err := b.Keep(b.t.Context(), attempt.KeepRow{InvocationID: id(call), Claim: of, Subject: "subject", Answer: []byte(answer)}); err != nil {
		b.t.Fatal(err)
	}
}

// keepsAnswer reports whether a claim of a call has an answer or a subject.
func (b bench) keepsAnswer(call string) bool {
	b.t.Helper()
	return value[bool](b, `SELECT bool_or(answer IS NOT NULL OR subject IS NOT NULL) FROM claims WHERE invocation_id = $1::uuid`, id(call))
}
