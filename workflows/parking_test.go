package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// parkingPolicy allows every call without an approval, and asks a person if the outcome of a call
// is unknown.
const parkingPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, parkUnknown: 48h, allowUnsigned: true, approvers: ["user:bob"]}
    rules: [{tool: "core__*", decision: allow}]
`

// TestParked: a person decides on a call whose outcome is unknown.
func TestParked(t *testing.T) {
	t.Parallel()
	const bob = "user:bob"
	for _, tc := range []struct {
		name     string
		lost     int
		act      func(r *rig)
		code     toolspec.Code // "" = ok
		runs     int
		waited   time.Duration
		requests int
	}{
		{"settled as done", 1, func(r *rig) { r.decideAfter(time.Hour, 1, toolspec.SettleOK, bob) }, "", 1, time.Hour, 1},
		{"settled as failed", 1, func(r *rig) { r.decideAfter(time.Hour, 1, toolspec.SettleFailed, bob) }, toolspec.CodeExecution, 1, time.Hour, 1},
		{"retried", 1, func(r *rig) { r.decideAfter(time.Hour, 1, toolspec.Retry, bob) }, "", 2, time.Hour, 1},
		{"retried, lost again and settled", 2, func(r *rig) {
			r.decideAfter(time.Hour, 1, toolspec.Retry, bob)
			r.decideAfter(3*time.Hour, 2, toolspec.SettleOK, bob)
		}, "", 2, 3 * time.Hour, 2},
		{"nobody decides", 1, func(*rig) {}, toolspec.CodeOutcomeUnknown, 1, 48 * time.Hour, 1},
		{"nobody who may decide", 1, func(r *rig) {
			r.decideAfter(time.Hour, 1, toolspec.SettleOK, "user:eve")
			r.decideAfter(2*time.Hour, 1, toolspec.SettleOK, "user:ann") // the requester
		}, toolspec.CodeOutcomeUnknown, 1, 48 * time.Hour, 1},
		{"an approval is no decision", 1, func(r *rig) {
			r.decideAfter(time.Hour, 1, toolspec.Approve, bob)
			r.decideAfter(2*time.Hour, 1, toolspec.Deny, bob)
		}, toolspec.CodeOutcomeUnknown, 1, 48 * time.Hour, 1},
		{"cancelled", 1, func(r *rig) { r.env.RegisterDelayedCallback(r.env.CancelWorkflow, time.Hour) }, toolspec.CodeOutcomeUnknown, 1, time.Hour, 1},
		{"policy allows no retry any more", 1, func(r *rig) {
			r.env.RegisterDelayedCallback(func() { r.activate("version: 1\ntenants: {acme: {allowedTools: []}}\n") }, time.Minute)
			r.decideAfter(time.Hour, 1, toolspec.Retry, bob)
		}, toolspec.CodeOutcomeUnknown, 1, time.Hour, 1},
		{"policy asks for an approval of the retry", 1, func(r *rig) {
			r.env.RegisterDelayedCallback(func() { r.activate(strings.Replace(parkingPolicy, "decision: allow", "decision: require_approval", 1)) }, time.Minute)
			r.decideAfter(time.Hour, 1, toolspec.Retry, bob)
		}, toolspec.CodeOutcomeUnknown, 1, time.Hour, 1},
		{"policy asks for an approval of the retry in an older history", 1, func(r *rig) {
			r.older("retry-without-approval")
			r.env.RegisterDelayedCallback(func() { r.activate(strings.Replace(parkingPolicy, "decision: allow", "decision: require_approval", 1)) }, time.Minute)
			r.decideAfter(time.Hour, 1, toolspec.Retry, bob)
		}, "", 2, time.Hour, 1},
		{"a recheck changes nothing", 1, func(r *rig) {
			r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.RecheckName, nil) }, time.Minute)
			r.decideAfter(time.Hour, 1, toolspec.SettleOK, bob)
		}, "", 1, time.Hour, 1},
		{"nothing was lost", 0, func(*rig) {}, "", 1, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &wire{lost: tc.lost}
			r := newRig(t, rigOptions{policy: parkingPolicy, tools: []toolspec.Tool{w.tool()}})
			tc.act(r)
			parked := false
			r.env.RegisterDelayedCallback(func() {
				state := r.state()
				parked = state.Status == toolspec.StatusParkedUnknown && state.Approval != nil && state.Approval.Parked == "timeout"
			}, 30*time.Second)
			began := r.env.Now()
			result := r.run(call("core__wire", args))
			w.mu.Lock() // a tool that timed out may still be at it
			defer w.mu.Unlock()
			if result.OK != (tc.code == "") || result.ErrorCode != tc.code || w.runs != tc.runs || len(r.records.requests) != tc.requests {
				t.Errorf("got %+v after %d runs and %d requests\n%s", result, w.runs, len(r.records.requests), r.stages())
			}
			if parked != (tc.requests > 0) {
				t.Errorf("the state says parked: %t", parked)
			}
			if waited := r.env.Now().Sub(began); waited < tc.waited || waited > tc.waited+time.Minute {
				t.Errorf("the call took %s, want about %s", waited, tc.waited)
			}
			if tc.requests > 0 && result.ErrorCode != "" && (result.Details == nil || result.Details.ApprovalID == "") && !strings.HasPrefix(tc.name, "policy") {
				t.Errorf("the result does not name the request: %+v", result.Details)
			}
			if tc.name == "settled as done" && (result.Value != nil || result.Source != "" || result.Details.ApprovalID == "") {
				t.Errorf("nobody knows the value, and the result is %+v", result)
			}
		})
	}
}

// TestParkedElsewhere: where another run has settled a call that waits for a person, its result counts, and the answer of the person does not.
// A call that is cancelled while it waits names the request that was open.
func TestParkedElsewhere(t *testing.T) {
	t.Parallel()
	other := &toolspec.Result{ToolCallID: "call-1", OK: true, Value: []byte(`"of another run"`), Attempts: 5}
	settled := func(r *rig) {
		r.records.onAdmit = func(n int, row *admit.Record) {
			if n == 2 {
				row.Result = other
			}
		}
	}
	for name, act := range map[string]func(*rig){
		"at the fence":   func(r *rig) { r.records.onCheck = func(int) contract.Outcome { return contract.Superseded } },
		"at the request": func(r *rig) { r.records.onRequest = func(int) bool { return true } },
		"at the review": func(r *rig) {
			r.records.onLook = func(int) bool { return true }
			r.decideAfter(time.Hour, 1, toolspec.SettleFailed, "user:bob")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wire{lost: 1}
			r := newRig(t, rigOptions{policy: parkingPolicy, tools: []toolspec.Tool{w.tool()}})
			settled(r)
			act(r)
			if result := r.run(call("core__wire", args)); !result.OK || result.Attempts != 5 || r.records.settles != 0 {
				t.Errorf("got %+v, settled %d times", result, r.records.settles)
			}
		})
	}
	w := &wire{lost: 1}
	r := newRig(t, rigOptions{policy: parkingPolicy, tools: []toolspec.Tool{w.tool()}})
	r.env.RegisterDelayedCallback(r.env.CancelWorkflow, time.Hour)
	result := r.run(call("core__wire", args))
	if want := toolspec.ApprovalID(result.InvocationID, 1); result.ErrorCode != toolspec.CodeOutcomeUnknown || result.Details.ApprovalID != want {
		t.Errorf("cancelled: got %+v, want the request %s", result, want)
	}
}

// TestParkedRestored: Postgres is restored from a backup while a call waits for a person, and pawl reconcile writes a claim. The decision of the
// person also counts for this claim. If the backup does not have the request, the person is asked again.
func TestParkedRestored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lost     bool
		dispatch int
		decision toolspec.Verb
		code     toolspec.Code // "" = ok
		requests int
	}{
		"with the request, settled as done":      {false, 9, toolspec.SettleOK, "", 1},
		"with the request, settled as failed":    {false, 9, toolspec.SettleFailed, toolspec.CodeExecution, 1},
		"with the request, an older history":     {false, 9, toolspec.SettleOK, toolspec.CodeOutcomeUnknown, 1},
		"without the request, settled as done":   {true, 1, toolspec.SettleOK, "", 2},
		"without the request, settled as failed": {true, 1, toolspec.SettleFailed, toolspec.CodeExecution, 2},
		"without the request, retried":           {true, 1, toolspec.Retry, "", 2},
		"without the request, not decided":       {true, 1, "", toolspec.CodeOutcomeUnknown, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wire{lost: 1}
			r := newRig(t, rigOptions{policy: parkingPolicy, tools: []toolspec.Tool{w.tool()}})
			if strings.HasSuffix(name, "an older history") {
				r.older("fence-again")
			}
			restored := false
			r.records.onLook = func(int) bool {
				superseded := restored
				restored = false
				return superseded
			}
			r.at(time.Minute, func() {
				r.records.mu.Lock()
				defer r.records.mu.Unlock()
				r.records.claims[tc.dispatch] = claimed{id: "restored", over: r.env.Now()}
				r.records.row.Rounds.Dispatch = max(r.records.row.Rounds.Dispatch, tc.dispatch)
				r.records.row.Epoch++
				r.records.requests[0].lost, restored = tc.lost, true
				r.env.SignalWorkflow(toolspec.RecheckName, nil)
			})
			if tc.decision != "" {
				r.decideAfter(time.Hour, tc.requests, tc.decision, "user:bob")
			}
			result := r.run(call("core__wire", args))
			w.mu.Lock() // a tool that timed out may still be at it
			defer w.mu.Unlock()
			runs := 1
			if tc.decision == toolspec.Retry {
				runs = 2
			}
			if result.OK != (tc.code == "") || result.ErrorCode != tc.code || w.runs != runs || len(r.records.requests) != tc.requests {
				t.Errorf("got %+v after %d runs and %d requests\n%s", result, w.runs, len(r.records.requests), r.stages())
			}
		})
	}
}

// TestNobodyIsAskedWithoutTheFence: while an earlier attempt could still begin, neither a probe nor a person can say what became of the call.
func TestNobodyIsAskedWithoutTheFence(t *testing.T) {
	t.Parallel()
	for name, probe := range map[string]func(int) (toolspec.Found[echoOut], error){
		"a person": nil, "a probe": func(int) (toolspec.Found[echoOut], error) { return toolspec.FoundNoEffect[echoOut](), nil },
	} {
		w := &wire{lost: 1, probe: probe}
		r := newRig(t, rigOptions{policy: parkingPolicy, tools: []toolspec.Tool{w.tool()}})
		r.records.onCheck = func(int) contract.Outcome { return dies }
		result := r.run(call("core__wire", args))
		w.mu.Lock()
		if result.ErrorCode != toolspec.CodeOutcomeUnknown || w.runs != 1 || w.probes != 0 || len(r.records.requests) != 0 {
			t.Errorf("%s: got %+v after %d runs, %d probes and %d requests", name, result, w.runs, w.probes, len(r.records.requests))
		}
		w.mu.Unlock()
	}
}

// TestParkedBeyondTheDeadline: a decision to retry restarts the deadline of the call.
func TestParkedBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	// The tries of the probe take three seconds, which is the whole deadline.
	w := &wire{lost: 1, probe: func(int) (toolspec.Found[echoOut], error) { return toolspec.Found[echoOut]{}, nil }}
	short := strings.Replace(parkingPolicy, "mode: auto", "mode: auto\n    budgets: {deadlineMs: 3000}", 1)
	r := newRig(t, rigOptions{policy: short, tools: []toolspec.Tool{w.tool()}})
	r.decideAfter(47*time.Hour, 1, toolspec.Retry, "user:bob")
	result := r.run(call("core__wire", args))
	w.mu.Lock()
	defer w.mu.Unlock()
	if !result.OK || w.runs != 2 {
		t.Errorf("got %+v after %d runs\n%s", result, w.runs, r.stages())
	}
}
