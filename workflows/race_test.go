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

// interleavings returns the number of interleavings to try: 1000 as in the catalogue of faults, and 50 with -short.
func interleavings() int {
	if testing.Short() {
		return 50
	}
	return 1000
}

// TestApprovalRacingTimeoutAndCancel: decisions by signal and update, the expiry of the request, a cancel and a recheck arrive within a few
// milliseconds, in random order (fault 44). The call ends once, the tool runs only after an approval, and each sender of an update gets an
// answer that agrees with the end. The name of a subtest is the seed of its order.
func TestApprovalRacingTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	for n := range interleavings() {
		if t.Failed() {
			return
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) { outcomes[race(t, uint64(n))]++ })
	}
	// Each possible end must occur, or the test would not show a race.
	for _, want := range []string{"ok", string(toolspec.CodeApprovalDenied), string(toolspec.CodeApprovalExpired), string(toolspec.CodeCancelled)} {
		if outcomes[want] < interleavings()/50 {
			t.Errorf("%d calls ended with %q: %v", outcomes[want], want, outcomes)
		}
	}
	t.Log(outcomes)
}

// race runs the interleaving with the seed n, and returns how the call ended.
func race(t *testing.T, n uint64) string {
	t.Helper()
	r := newRig(t, rigOptions{})
	random := rand.New(rand.NewPCG(n, 44))
	// The request expires after one hour. Every other event comes at most two milliseconds before or one millisecond after that, or never.
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
	// An activity whose answer no longer counts may still run, so read the records under their lock.
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
			// The test environment drops an update after the end of the call, and the sender gets no reply.
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

// ends returns the codes with which a call may end if its request has the state.
func ends(state contract.RequestState) []toolspec.Code {
	switch state {
	case contract.RequestDenied:
		return []toolspec.Code{toolspec.CodeApprovalDenied, toolspec.CodeCancelled}
	case contract.RequestExpired:
		return []toolspec.Code{toolspec.CodeApprovalExpired, toolspec.CodeCancelled}
	case contract.RequestApproved:
		// The call was cancelled before or while the tool ran.
		return []toolspec.Code{toolspec.CodeCancelled, toolspec.CodeOutcomeUnknown}
	default:
		return []toolspec.Code{toolspec.CodeCancelled}
	}
}
