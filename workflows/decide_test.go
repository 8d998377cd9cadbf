package workflows_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/pawl-run/pawl/toolspec"
)

// own returns the invocation id of the rig's call.
func own() string { return call("", "").Identity().InvocationID() }

// reply is the reply to the sender of an update: a rejection, an answer or an error.
type reply struct {
	rejected error
	answer   *toolspec.Answer
	err      error
}

// refused returns why the decision did not count, from the rejection or from the answer. It is empty if the decision counted or has no
// answer.
func (r *reply) refused() string {
	var refusal *temporal.ApplicationError
	switch {
	case errors.As(r.rejected, &refusal):
		return refusal.Message()
	case r.rejected != nil:
		return r.rejected.Error()
	case r.answer != nil && !r.answer.Counted:
		return r.answer.Reason
	}
	return ""
}

// update sends a decision as an update after a time.
func (r *rig) update(after time.Duration, d toolspec.Decision) *reply {
	var got reply
	r.env.RegisterDelayedCallback(func() { r.sendTo(&got, d) }, after)
	return &got
}

// send sends a decision as an update now.
func (r *rig) send(d toolspec.Decision) *reply {
	var got reply
	r.sendTo(&got, d)
	return &got
}

func (r *rig) sendTo(got *reply, d toolspec.Decision) {
	r.env.UpdateWorkflow(toolspec.DecideName, uuid.NewString(), &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { got.rejected = err },
		OnComplete: func(v any, err error) {
			got.err = err
			if a, ok := v.(toolspec.Answer); ok {
				got.answer = &a
			}
		},
	}, d)
}

func decision(n int, verb toolspec.Verb, approver string) toolspec.Decision {
	return toolspec.Decision{ApprovalID: toolspec.ApprovalID(own(), n), Decision: verb, Approver: approver}
}

// TestDecisions: which decisions count, by the time of their arrival, their form and their sender.
func TestDecisions(t *testing.T) {
	for _, tc := range []struct {
		name     string
		setup    func(*rig)
		code     toolspec.Code
		approver string
	}{
		{"in time", func(r *rig) { r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob") }, "", "user:bob"},
		{"early, before anybody asked", func(r *rig) { r.decideAfter(0, 1, toolspec.Approve, "user:bob") }, "", "user:bob"},
		{"late", func(r *rig) { r.decideAfter(61*time.Minute, 1, toolspec.Approve, "user:bob") }, toolspec.CodeApprovalExpired, ""},
		{"in the last second", func(r *rig) { r.decideAfter(59*time.Minute+59*time.Second, 1, toolspec.Approve, "user:bob") }, "", "user:bob"},
		{"the first final one wins", func(r *rig) {
			r.decideAfter(time.Minute, 1, toolspec.Deny, "user:bob")
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:cid")
		}, toolspec.CodeApprovalDenied, "user:bob"},
		{"the same twice", func(r *rig) {
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
		}, "", "user:bob"},
		{"one that does not count, then one that does", func(r *rig) {
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:ann")
			r.decideAfter(2*time.Minute, 1, toolspec.Approve, "user:bob")
		}, "", "user:bob"},
		{"for a request that never opens", func(r *rig) { r.decideAfter(time.Minute, 2, toolspec.Approve, "user:bob") }, toolspec.CodeApprovalExpired, ""},
		{"an answer to a question nobody asked", func(r *rig) { r.decideAfter(time.Minute, 1, toolspec.SettleOK, "user:bob") }, toolspec.CodeApprovalExpired, ""},
		{"empty", func(r *rig) {
			r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.DecideName, toolspec.Decision{}) }, time.Minute)
		}, toolspec.CodeApprovalExpired, ""},
		{"malformed, then in time", func(r *rig) {
			r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.DecideName, "approve!") }, time.Minute)
			r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.DecideName, []int{1}) }, time.Minute)
			r.decideAfter(2*time.Minute, 1, toolspec.Approve, "user:bob")
		}, "", "user:bob"},
		{"with a proof nobody verifies", func(r *rig) {
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob", func(d *toolspec.Decision) { d.Proof = "p" })
		}, toolspec.CodeApprovalExpired, ""},
		{"of another call", func(r *rig) {
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob", foreign)
		}, toolspec.CodeApprovalExpired, ""},
		{"of another call, before this one knows who it is", func(r *rig) {
			r.decideAfter(0, 1, toolspec.Approve, "user:bob", foreign)
		}, toolspec.CodeApprovalExpired, ""},
		{"withdrawn by who asked", func(r *rig) { r.decideAfter(time.Minute, 1, toolspec.Withdraw, "user:ann") }, toolspec.CodeApprovalDenied, "user:ann"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, rigOptions{})
			tc.setup(r)
			result := r.run(call("core__write", args))
			if result.ErrorCode != tc.code || (r.ran() == 1) != (tc.code == "") {
				t.Errorf("got %+v after %d runs, want %q", result, r.ran(), tc.code)
			}
			if got := r.records.requests[0].approver; got != tc.approver {
				t.Errorf("decided by %q, want %q", got, tc.approver)
			}
			if len(r.records.events) > 0 {
				t.Errorf("the record was asked for %v", r.records.events)
			}
			if tc.code != "" && (result.Details == nil || result.Details.ApprovalID != toolspec.ApprovalID(own(), 1)) {
				t.Errorf("details %+v", result.Details)
			}
		})
	}
}

func foreign(d *toolspec.Decision) {
	d.ApprovalID = toolspec.ApprovalID(toolspec.Identity{TenantID: "acme", RunID: "run-1", ToolCallID: "call-2"}.InvocationID(), 1)
}

// TestUpdateAnswers: the sender of an update learns whether the decision counted, and why not.
func TestUpdateAnswers(t *testing.T) {
	r := newRig(t, rigOptions{})
	other := decision(1, toolspec.Approve, "user:bob")
	foreign(&other)
	minute := time.Minute
	type sent struct {
		name string
		got  *reply
		want string
	}
	list := []sent{
		{"the requester", r.update(minute, decision(1, toolspec.Approve, "user:ann")), "false policy does not let the requester decide on the own call"},
		{"too early", r.update(minute, decision(7, toolspec.Approve, "user:eve")), "false the call is settled"},
		{"remembered", r.update(2*minute, func() toolspec.Decision { d := decision(1, toolspec.Approve, "user:bob"); d.Remember = true; return d }()),
			"true for this call only: policy lets nobody remember an approval"},
		{"malformed", r.update(minute, toolspec.Decision{}), "rejected: approvalId is not of the form <invocationId>.<n>; take it from the state query"},
		{"unknown verb", r.update(minute, decision(1, "allow", "user:bob")), "rejected: decision must be approve, deny, edit, withdraw, retry, settle_ok or settle_failed"},
		{"of another call", r.update(minute, other), "rejected: the approvalId belongs to another call"},
		{"too large", r.update(minute, func() toolspec.Decision {
			d := decision(1, toolspec.Approve, "user:bob")
			d.Proof = strings.Repeat("p", toolspec.MaxDecision+1)
			return d
		}()), "rejected: the decision is larger than 65536 bytes"},
	}
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	for _, s := range list {
		got := ""
		switch {
		case s.got.rejected != nil:
			got = "rejected: " + s.got.rejected.Error()
		case s.got.err != nil:
			got = "error: " + s.got.err.Error()
		case s.got.answer != nil:
			got = strings.TrimSpace(fmt.Sprint(s.got.answer.Counted, " ", s.got.answer.Reason))
		}
		if got != s.want {
			t.Errorf("%s: %q, want %q", s.name, got, s.want)
		}
	}
}

// TestLateUpdate: a decision on a request that is already decided gets an answer at
// once.
func TestLateUpdate(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.decideAfter(time.Minute, 1, toolspec.Edit, "user:bob", func(d *toolspec.Decision) { d.EditedArgs = []byte(`{"text":"edited"}`) })
	late := r.update(2*time.Minute, decision(1, toolspec.Approve, "user:cid"))
	editor := r.update(3*time.Minute, decision(2, toolspec.Approve, "user:bob"))
	other := r.update(4*time.Minute, decision(2, toolspec.Approve, "user:cid"))
	if result := r.run(call("core__write", args)); !result.OK || string(result.Value) != `{"text":"edited"}` {
		t.Errorf("got %+v", result)
	}
	if late.rejected == nil || late.refused() != "the request is no longer open" {
		t.Errorf("the late one: %+v, want a refusal that takes no update", late)
	}
	if editor.refused() != "policy does not let the editor of the arguments decide on them" {
		t.Errorf("the editor: %+v", editor)
	}
	if other.answer == nil || !other.answer.Counted {
		t.Errorf("another one: %+v", other)
	}
}

// TestSentAgain: a sender who repeats a decision that counted, because the answer was lost, learns
// that the decision counted. Another sender or another verb does not get this answer.
func TestSentAgain(t *testing.T) {
	for name, setup := range map[string]func(*rig){
		"decided in this Temporal run": func(r *rig) { r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob") },
		"decided in an earlier run":    func(r *rig) { r.records.granted = "user:bob" },
		"sent before the request is open": func(r *rig) {
			r.records.granted = "user:bob"
			r.decideAfter(0, 1, toolspec.Approve, "user:bob")
		},
	} {
		t.Run(name, func(t *testing.T) {
			// The call runs for ten minutes after the decision.
			r := newRig(t, rigOptions{fail: func(run int) error {
				if run == 1 {
					return toolspec.RetryAfter(10*time.Minute, "busy")
				}
				return nil
			}})
			setup(r)
			again := r.update(5*time.Minute, decision(1, toolspec.Approve, "user:bob"))
			others := []*reply{r.update(5*time.Minute, decision(1, toolspec.Approve, "user:cid")), r.update(5*time.Minute, decision(1, toolspec.Deny, "user:bob"))}
			if result := r.run(call("core__write", args)); !result.OK {
				t.Errorf("got %+v", result)
			}
			if again.answer == nil || *again.answer != (toolspec.Answer{Counted: true}) {
				t.Errorf("the repeated decision: %+v", again.answer)
			}
			for _, other := range others {
				if other.refused() == "" {
					t.Errorf("another decision counted: %+v", other)
				}
			}
		})
	}
}

// TestDecisionOnAnUnreadablePolicy: a decision whose worker cannot read the policy neither counts nor ends the call. It
// counts when it is sent to a worker that can read the policy.
func TestDecisionOnAnUnreadablePolicy(t *testing.T) {
	r := newRig(t, rigOptions{policy: strings.Replace(testPolicy, "{enabled: true,", "{enabled: true, approvers: ['role:lead'],", 1) + "    roles: {lead: ['user:bob']}\n"})
	readable := r.records.active
	activate := func(digest string) {
		r.records.mu.Lock()
		defer r.records.mu.Unlock()
		r.records.active = digest
	}
	r.env.RegisterDelayedCallback(func() { activate(unreadable) }, time.Minute)
	early := r.update(2*time.Minute, decision(1, toolspec.Approve, "user:bob"))
	r.env.RegisterDelayedCallback(func() { activate(readable) }, 3*time.Minute)
	late := r.update(4*time.Minute, decision(1, toolspec.Approve, "user:bob"))
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if early.answer == nil || early.answer.Counted || !early.answer.Again || !strings.Contains(early.answer.Reason, "cannot read the policy") {
		t.Errorf("the early decision: %+v, %v", early.answer, early.rejected)
	}
	if late.answer == nil || !late.answer.Counted {
		t.Errorf("the late decision: %+v, %v", late.answer, late.rejected)
	}
}

// TestFullInbox: many decisions on requests that do not exist do not prevent a decision on the
// open request.
func TestFullInbox(t *testing.T) {
	r := newRig(t, rigOptions{})
	for i := range 70 {
		r.decideAfter(time.Minute, 100+i, toolspec.Approve, "user:eve")
	}
	refused := r.update(2*time.Minute, decision(200, toolspec.Approve, "user:eve"))
	counted := r.update(3*time.Minute, decision(1, toolspec.Approve, "user:bob"))
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if refused.rejected == nil || !strings.Contains(refused.refused(), "more than 64 decisions wait") {
		t.Errorf("one too many: %+v", refused)
	}
	if counted.answer == nil || !counted.answer.Counted {
		t.Errorf("the one that matters: %+v", counted.answer)
	}
}

// TestFloodBeforeItAsks: many decisions that arrive before the request is open do not prevent a
// later decision that counts.
func TestFloodBeforeItAsks(t *testing.T) {
	r := newRig(t, rigOptions{})
	for range 70 {
		r.decideAfter(0, 1, toolspec.Approve, "user:ann") // the requester, whose approval does not count
	}
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	if result := r.run(call("core__write", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
}

// TestStaleApproval: an approval does not cover a call whose risk has risen since the request.
func TestStaleApproval(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.env.RegisterDelayedCallback(func() {
		r.activate(testPolicy + "    rules: [{tool: core__write, risk: high}]\n")
	}, time.Minute)
	r.decideAfter(2*time.Minute, 1, toolspec.Approve, "user:bob")
	if result := r.run(call("core__write", args)); result.ErrorCode != toolspec.CodeApprovalStale || r.ran() != 0 {
		t.Errorf("got %+v", result)
	}
}

// TestStateWhileWaiting: the state of a call that waits for an approval has the request.
func TestStateWhileWaiting(t *testing.T) {
	r := newRig(t, rigOptions{})
	var state toolspec.State
	var text string
	r.env.RegisterDelayedCallback(func() {
		v, err := r.env.QueryWorkflow(toolspec.StateName)
		if err != nil {
			t.Error(err)
			return
		}
		var raw json.RawMessage
		if err := v.Get(&raw); err != nil {
			t.Error(err)
		}
		if err := v.Get(&state); err != nil {
			t.Error(err)
		}
		text = string(raw)
	}, time.Minute)
	r.decideAfter(2*time.Minute, 1, toolspec.Approve, "user:bob")
	result := r.run(call("core__write", args))
	a := state.Approval
	if state.Status != toolspec.StatusWaitingApproval || state.InputDigest != result.InputDigest || a == nil || a.ApprovalID != toolspec.ApprovalID(own(), 1) ||
		a.ToolID != "core__write" || a.RequestedBy != "user:ann" || a.Digest == "" || a.Approvers != "anyone but user:ann; unsigned decisions count" ||
		a.ExpiresAtMs-result.StartedAtMs < 3_590_000 || state.Plan.Lane != "regular" || state.Attempts != 0 {
		t.Errorf("state %s", text)
	}
	v, err := r.env.QueryWorkflow(toolspec.StateName)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Get(&state); err != nil || state.Status != toolspec.StatusSettled || state.Attempts != 1 {
		t.Errorf("afterwards: %+v, %v", state, err)
	}
}

// TestEditsAreBounded: every edit stays in the history of the call, so the sum of all edits has a
// bound.
func TestEditsAreBounded(t *testing.T) {
	r := newRig(t, rigOptions{})
	large := `{"text":"` + strings.Repeat("x", 60<<10) + `"}`
	for n := 1; n < 30; n++ {
		r.decideAfter(time.Duration(n)*time.Minute, n, toolspec.Edit, fmt.Sprintf("user:e%d", n), func(d *toolspec.Decision) { d.EditedArgs = []byte(large) })
	}
	if result := r.run(call("core__write", args)); result.ErrorCode != toolspec.CodeApprovalDenied || len(r.records.requests) != 18 {
		t.Errorf("got %+v after %d requests", result, len(r.records.requests))
	}
}

// TestApprovalIsConsumed: the claim and the audit event name the approval.
func TestApprovalIsConsumed(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	r.run(call("core__write", args))
	if id := r.records.rows[0].ApprovalID; id != toolspec.ApprovalID(own(), 1) {
		t.Errorf("claimed with the approval %q", id)
	}
	if line := string(r.records.settled[0].Audit[0].Detail); !strings.Contains(line, `"approvedBy":"user:bob"`) {
		t.Errorf("audit %s", line)
	}
}

// TestReadAfterApproval: a read runs in the regular lane, with a claim, if the call waited for an approval.
func TestReadAfterApproval(t *testing.T) {
	r := newRig(t, rigOptions{policy: strings.Replace(testPolicy, "mode: auto", "mode: ask", 1)})
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	if result := r.run(call("core__read", args)); !result.OK || r.records.claimed != 1 {
		t.Errorf("got %+v with %d claims", result, r.records.claimed)
	}
	if got := r.records.settled[0].Attempts; len(got) != 1 || got[0].Lane != "regular" {
		t.Errorf("attempts %+v", got)
	}
}
