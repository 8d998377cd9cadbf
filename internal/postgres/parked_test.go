package postgres_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestParkedRequests checks, for each verb, how a request about an unknown outcome ends, which notices are sent, and which request a later run of the call
// gets.
func TestParkedRequests(t *testing.T) {
	for _, tc := range []struct {
		verb    toolspec.Verb
		state   contract.RequestState
		counted bool
		// again is the number of the request that a later run gets.
		again int
	}{
		{toolspec.Retry, contract.RequestRetried, true, 2},
		{toolspec.SettleOK, contract.RequestSettledOK, true, 1},
		{toolspec.SettleFailed, contract.RequestSettledFailed, true, 1},
		{toolspec.Approve, contract.RequestOpen, false, 1},
		{toolspec.Deny, contract.RequestOpen, false, 1},
		{toolspec.Withdraw, contract.RequestOpen, false, 1},
	} {
		t.Run(string(tc.verb), func(t *testing.T) {
			b := open(t)
			b.admit("call_1")
			row := requestRow("call_1", 1)
			row.View.Parked = "lost"
			b.request(row)
			got := b.review(reviewRow("call_1", 1, 1, decision("call_1", 1, tc.verb)))
			if got.State != tc.state || got.Answer.Counted != tc.counted || !tc.counted && got.Answer.Reason == "" {
				t.Fatalf("%+v", got)
			}
			listed, err := b.Approvals(t.Context(), client.ApprovalFilter{TenantID: "acme", Decided: true})
			if err != nil || len(listed) != 1 || listed[0].Parked != "lost" || listed[0].State != tc.state {
				t.Errorf("listed as %+v, %v", listed, err)
			}
			b.admit("call_1") // epoch 2
			later := requestRow("call_1", 2)
			later.View.Parked, later.Last = "lost", 1
			again := b.request(later)
			if again.Number != tc.again || tc.again == 1 && (again.State != tc.state || tc.counted && again.Remaining != 0) {
				t.Errorf("a later run finds %+v", again)
			}
		})
	}
}

// TestParkedVerbsOnAnApproval: the verbs for an unknown outcome are refused on a request for an approval, because the call has not begun.
func TestParkedVerbsOnAnApproval(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	for _, verb := range []toolspec.Verb{toolspec.Retry, toolspec.SettleOK, toolspec.SettleFailed} {
		if got := b.review(reviewRow("call_1", 1, 1, decision("call_1", 1, verb))); got.State != contract.RequestOpen || got.Answer.Counted {
			t.Errorf("%s: %+v", verb, got)
		}
	}
}

// TestParkedExpires: when a request about an unknown outcome expires, the outcome stays unknown, also for a later run of the call.
func TestParkedExpires(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	row := requestRow("call_1", 1)
	row.View.Parked, row.ExpireAfter = "lost", time.Microsecond
	b.request(row)
	if got := b.review(reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.SettleOK))); got.State != contract.RequestExpired || got.Answer.Counted {
		t.Errorf("%+v", got)
	}
}
