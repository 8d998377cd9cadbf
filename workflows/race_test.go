package workflows_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// interleavings is how many are tried: those of the catalogue of faults, and some of them with -short.
func interleavings() int {
	if testing.Short() {
		return 50
	}
	return 1000
}

// TestApprovalRacingTimeoutAndCancel: decisions by signal and update, the expiry of the request, a cancel and a recheck arrive within the same
// few milliseconds, in every order (fault 44): the call ends once, the tool ran if and only if the approval is what answered the request, and
// everybody who asked has an answer that fits. Each is one of a thousand that a number names.
func TestApprovalRacingTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	for n := range interleavings() {
		if t.Failed() {
			return
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) { outcomes[race(t, uint64(n))]++ })
	}
	// A race that one side always wins shows nothing.
	for _, want := range []string{"ok", string(toolspec.CodeApprovalDenied), string(toolspec.CodeApprovalExpired), string(toolspec.CodeCancelled)} {
		if outcomes[want] < interleavings()/50 {
			t.Errorf("%d calls ended with %q: %v", outcomes[want], want, outcomes)
		}
	}
	t.Log(outcomes)
}

// race is one interleaving; it returns how the call ended.
func race(t *testing.T, n uint64) string {
	t.Helper()
	r := newRig(t, rigOptions{})
	random := rand.New(rand.NewPCG(n, 44))
	// The request expires in an hour. All else comes in the three milliseconds around, or never.
	at := func() time.Duration {
		return time.Hour - 2*time.Millisecond + time.Duration(random.IntN(4))*time.Millisecond
	}
	var replies []*reply
	for i, who := range []string{"user:bob", "user:cid", "user:dan"} {
		verb := toolspec.Approve
		if i > 0 && random.IntN(2) == 0 {
			verb = toolspec.Deny
		}
		switch random.IntN(3) {
		case 0:
			r.decideAfter(at(), 1, verb, who)
		case 1:
			replies = append(replies, r.update(at(), decision(1, verb, who)))
		}
	}
	if random.IntN(2) == 0 {
		r.env.RegisterDelayedCallback(r.env.CancelWorkflow, at())
	}
	if random.IntN(4) == 0 {
		r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.RecheckName, nil) }, at())
	}
	result := r.run(call("core__mail", args))
	// A look that nobody waits for any more may go on.
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	state, settled := r.records.requests[0].state, len(r.records.settled)
	approved, ran, claimed := state == contract.RequestApproved, r.ran() == 1, len(r.records.claims) == 1
	switch {
	case settled != 1 || len(r.records.requests) != 1 || r.ran() > 1 || len(r.records.events) > 0:
		t.Errorf("%d: settled %d times, %d requests, %d runs, %v", n, settled, len(r.records.requests), r.ran(), r.records.events)
	case (ran || claimed) && !approved, result.OK && !ran, ran && !claimed, claimed && !ran && result.ErrorCode != toolspec.CodeOutcomeUnknown:
		t.Errorf("%d: the request is %s, the tool ran %d times under %d claims, and the call ended %+v", n, state, r.ran(), len(r.records.claims), result)
	case !result.OK && !slices.Contains(ends(state), result.ErrorCode):
		t.Errorf("%d: the request is %s, and the call ended with %s", n, state, result.ErrorCode)
	}
	counted := 0
	for _, a := range replies {
		switch {
		case a.err != nil || a.answer == nil && a.rejected == nil:
			// The environment takes no update once the call is over, and says nothing of it.
		case a.answer != nil && a.answer.Counted:
			counted++
		}
	}
	if counted > 1 || counted == 1 && state != contract.RequestApproved && state != contract.RequestDenied {
		t.Errorf("%d: %d senders heard that their decision counts, and the request is %s", n, counted, state)
	}
	if result.OK {
		return "ok"
	}
	return string(result.ErrorCode)
}

// ends are the codes with which a call may end whose request stands so.
func ends(state contract.RequestState) []toolspec.Code {
	switch state {
	case contract.RequestDenied:
		return []toolspec.Code{toolspec.CodeApprovalDenied, toolspec.CodeCancelled}
	case contract.RequestExpired:
		return []toolspec.Code{toolspec.CodeApprovalExpired, toolspec.CodeCancelled}
	case contract.RequestApproved:
		// Cancelled before the tool ran, or while it did.
		return []toolspec.Code{toolspec.CodeCancelled, toolspec.CodeOutcomeUnknown}
	default:
		return []toolspec.Code{toolspec.CodeCancelled}
	}
}
