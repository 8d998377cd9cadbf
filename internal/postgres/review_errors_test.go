package postgres_test

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestReviewOfNoSuchRequest checks that a review reports a request as lost if the record does not have it or if it belongs to another call, and that no
// decision on it counts.
func TestReviewOfNoSuchRequest(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.admit("call_2")
	b.request(requestRow("call_2", 1))
	row := reviewRow("call_1", 1, 1, nil)
	decided := reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))
	row.Refresh = true
	for range 2 {
		if got := b.review(row); got.State != contract.RequestLost || got.Request != nil {
			t.Errorf("without a decision: %+v", got)
		}
		if got := b.review(decided); got.State != contract.RequestLost || got.Answer.Counted || got.Answer.Reason == "" {
			t.Errorf("with a decision: %+v", got)
		}
		row.ApprovalID = toolspec.ApprovalID(id("call_2"), 1)
		decided.ApprovalID = row.ApprovalID
	}
}

func TestDecisionForAnotherRequest(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	if got := b.review(reviewRow("call_1", 1, 1, decision("call_1", 2, toolspec.Approve))); got.Answer.Counted || got.State != contract.RequestOpen {
		t.Errorf("%+v", got)
	}
}

func TestReviewTakesWhatPostgresRefuses(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	d := decision("call_1", 1, toolspec.Approve)
	d.Reason = "nul \x00 and \xff"
	if got := b.review(reviewRow("call_1", 1, 1, d)); !got.Answer.Counted {
		t.Errorf("%+v", got)
	}
}
