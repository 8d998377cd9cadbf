package postgres_test

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestAskedAgainAfterTheAnswer: when the worker of a call dies after the answer to a request was written, the next run asks again. It gets that answer, and
// not a new request, which another person could approve.
func TestAskedAgainAfterTheAnswer(t *testing.T) {
	for verb, state := range map[toolspec.Verb]contract.RequestState{
		toolspec.Deny: contract.RequestDenied, toolspec.Withdraw: contract.RequestWithdrawn,
	} {
		t.Run(string(verb), func(t *testing.T) {
			b := open(t)
			b.admit("call_1")
			b.request(requestRow("call_1", 1))
			b.review(reviewRow("call_1", 1, 1, decision("call_1", 1, verb)))
			epoch := b.admit("call_1").Epoch
			again := b.request(requestRow("call_1", epoch))
			if again.Number != 1 || again.State != state || again.Remaining != 0 {
				t.Errorf("%+v, want the first request and nothing to wait for", again)
			}
			if n := value[int](b, `SELECT count(*) FROM approvals`); n != 1 {
				t.Errorf("%d requests", n)
			}
			if got := b.review(reviewRow("call_1", epoch, 1, nil)); got.State != state {
				t.Errorf("it is %s, want %s", got.State, state)
			}
			// A call with other arguments gets a new request.
			other := requestRow("call_1", epoch)
			other.View.Digest, other.Last = "another", 1
			if got := b.request(other); got.Number != 2 || got.Remaining == 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestRequestClosesNoRequestOfOthers: a request for other arguments closes the earlier request of its call, and no request of another call, even one that is
// overdue.
func TestRequestClosesNoRequestOfOthers(t *testing.T) {
	b := open(t)
	for _, call := range []string{"call_1", "call_2", "call_3"} {
		b.admit(call)
		b.request(requestRow(call, 1))
	}
	b.sql(`UPDATE approvals SET created_at = now() - interval '2 hours', expires_at = now() - interval '1 hour' WHERE invocation_id = $1`, id("call_3"))
	other := requestRow("call_1", 1)
	other.View.Digest, other.Last = "another", 1
	if got := b.request(other); got.Number != 2 {
		t.Errorf("%+v", got)
	}
	for call, want := range map[string]string{"call_1": "closed", "call_2": "open", "call_3": "open"} {
		if got := value[string](b, `SELECT state FROM approvals WHERE number = 1 AND invocation_id = $1`, id(call)); got != want {
			t.Errorf("the first request of %s is %q, want %q", call, got, want)
		}
	}
}

// TestAskedAgainAfterTheExpiry: a run that asks again after the request has expired gets the answer "expired", also if no worker has noticed the expiry before.
func TestAskedAgainAfterTheExpiry(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	b.sql(`UPDATE approvals SET expires_at = now()`)
	epoch := b.admit("call_1").Epoch
	again := b.request(requestRow("call_1", epoch))
	if again.Number != 1 || again.State != contract.RequestExpired || again.Remaining != 0 {
		t.Errorf("%+v, want the first request, expired", again)
	}
	if n := value[int](b, `SELECT count(*) FROM approvals`); n != 1 {
		t.Errorf("%d requests", n)
	}
}
