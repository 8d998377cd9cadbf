package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	big   = `{"text":"big"}`
	small = `{"text":"small"}`
)

// namer is a hook that requires the approval of a person if the text is "big".
type namer struct {
	name, person string
	// texts are the texts of its runs before the approval. after counts its runs after the approval.
	texts []string
	after atomic.Int64
	down  atomic.Bool
	// late is the number of first runs in which the hook requires no approval.
	late int
}

func (n *namer) hook() hook.Hook {
	return hook.New(n.name, hook.NamesApprovers(), hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
		if n.down.Load() {
			return errs.Transient(errors.New("the service is down"))
		}
		if v.Approved() {
			n.after.Add(1)
			return nil
		}
		var in echoIn
		if err := json.Unmarshal(v.Args(), &in); err != nil {
			return err
		}
		if n.texts = append(n.texts, in.Text); in.Text != "big" || len(n.texts) <= n.late {
			return nil
		}
		return v.RequireApproval(hook.Ask{Message: n.name + " asks", Approvals: &hook.Approvals{Approvers: []string{n.person}, ExpiresAfter: 2 * time.Hour}})
	}))
}

func (n *namer) count() int { return len(n.texts) }

func recheckAfter(r *rig, d time.Duration) {
	r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.RecheckName, nil) }, d)
}

// TestNamedApprovers: the approvers that a hook names must approve in addition to the approvers of policy, whether policy or the hook asks
// first.
func TestNamedApprovers(t *testing.T) {
	approve := func(after time.Duration, n int, who string) func(*rig) {
		return func(r *rig) { r.decideAfter(after, n, toolspec.Approve, who) }
	}
	edit := func(after time.Duration, n int, who, args string) func(*rig) {
		return func(r *rig) {
			r.decideAfter(after, n, toolspec.Edit, who, func(d *toolspec.Decision) { d.EditedArgs = json.RawMessage(args) })
		}
	}
	policyAfter := func(after time.Duration, text string) func(*rig) {
		return func(r *rig) {
			r.env.RegisterDelayedCallback(func() { r.activate(text) }, after)
			recheckAfter(r, after+time.Second)
		}
	}
	const free = "version: 1\ntenants:\n  acme:\n    allowedTools: [\"core__*\"]\n    mode: yolo\n    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}\n"
	for _, tc := range []struct {
		name   string
		policy string
		args   string
		steps  []func(*rig)
		// texts are the texts that the hook judged: in the gate if policy does not ask, and before each request.
		texts string
		asked int
		code  toolspec.Code
		took  time.Duration
	}{
		{"the hook asks", free, big, []func(*rig){approve(time.Minute, 1, "user:cfo")}, "big big", 1, "", time.Minute},
		{"policy asks too", testPolicy, big, []func(*rig){approve(time.Minute, 1, "user:cfo")}, "big", 1, "", time.Minute},
		{"policy asks alone", testPolicy, small, []func(*rig){approve(time.Minute, 1, "user:bob")}, "small", 1, "", time.Minute},
		{"nobody asks", free, small, nil, "small", 0, "", 0},
		{"somebody else approves", testPolicy, big, []func(*rig){approve(time.Minute, 1, "user:bob")}, "big", 1, toolspec.CodeApprovalExpired, time.Hour},
		{"somebody else approves first", testPolicy, big, []func(*rig){approve(time.Minute, 1, "user:bob"), approve(2*time.Minute, 1, "user:cfo")}, "big", 1, "", 2 * time.Minute},
		{"the requester is the only one", testPolicy, big, []func(*rig){approve(time.Minute, 1, "user:ann")}, "big", 1, toolspec.CodeApprovalExpired, time.Hour},
		{"policy begins to ask", free, big, []func(*rig){policyAfter(time.Minute, testPolicy), approve(2*time.Minute, 1, "user:bob"), approve(3*time.Minute, 1, "user:cfo")}, "big big", 1, "", 3 * time.Minute},
		{"policy asks others by now", free, big, []func(*rig){
			policyAfter(time.Minute, strings.Replace(testPolicy, "enabled: true", `enabled: true, approvers: ["user:dan"]`, 1)), approve(3*time.Minute, 1, "user:cfo"),
		}, "big big", 1, toolspec.CodeApprovalStale, 3 * time.Minute},
		{"policy asks no more, and the hook does", testPolicy, big, []func(*rig){policyAfter(time.Minute, free), approve(2*time.Minute, 1, "user:bob"), approve(3*time.Minute, 1, "user:cfo")}, "big", 1, "", 3 * time.Minute},
		{"policy asks no more, nor does the hook", testPolicy, small, []func(*rig){policyAfter(time.Minute, free)}, "small small", 1, "", time.Minute},
		{"policy denies by now", free, big, []func(*rig){policyAfter(time.Minute, "version: 1\ntenants: {acme: {allowedTools: [core__read]}}\n")}, "big big", 1, toolspec.CodePolicyDenied, time.Minute},
		{"edited below", testPolicy, big, []func(*rig){edit(time.Minute, 1, "user:bob", small), approve(2*time.Minute, 2, "user:bob"), approve(3*time.Minute, 2, "user:cid")}, "big small", 2, "", 3 * time.Minute},
		{"edited below what policy asks", free, big, []func(*rig){edit(time.Minute, 1, "user:bob", small), approve(3*time.Minute, 2, "user:cid")}, "big big small", 2, "", 3 * time.Minute},
		{"edited above", testPolicy, small, []func(*rig){edit(time.Minute, 1, "user:bob", big), approve(2*time.Minute, 2, "user:cid"), approve(3*time.Minute, 2, "user:cfo")}, "small big", 2, "", 3 * time.Minute},
		{"the only one edits", testPolicy, big, []func(*rig){edit(time.Minute, 1, "user:cfo", big), approve(2*time.Minute, 2, "user:cfo"), approve(3*time.Minute, 2, "user:bob")}, "big big", 2, toolspec.CodeApprovalExpired, time.Hour + time.Minute},
		{"the only one denies", testPolicy, big, []func(*rig){func(r *rig) { r.decideAfter(time.Minute, 1, toolspec.Deny, "user:cfo") }}, "big", 1, toolspec.CodeApprovalDenied, time.Minute},
		{"an edit after an approval", testPolicy, big, []func(*rig){
			approve(time.Minute, 1, "user:bob"), edit(2*time.Minute, 1, "user:cid", big), approve(3*time.Minute, 2, "user:cfo"), approve(3*time.Minute, 2, "user:bob"),
		}, "big big", 2, "", 3 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &namer{name: "amounts", person: "user:cfo"}
			r := newRig(t, rigOptions{policy: tc.policy, hooks: []hook.Hook{n.hook()}})
			for _, step := range tc.steps {
				step(r)
			}
			result := r.run(call("core__write", tc.args))
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if result.ErrorCode != tc.code || r.ran() != map[bool]int{true: 1}[tc.code == ""] || took < tc.took || took > tc.took+time.Minute/2 {
				t.Errorf("got %+v after %s and %d runs", result, took, r.ran())
			}
			if got := strings.Join(n.texts, " "); got != tc.texts || r.records.asks != tc.asked {
				t.Errorf("the hook was asked about %q, want %q; %d requests, want %d\n%s", got, tc.texts, r.records.asks, tc.asked, r.stages())
			}
		})
	}
}

// TestNamesAreShown: the state of a call names the approvers for whom it waits, and says why.
func TestNamesAreShown(t *testing.T) {
	n, law := &namer{name: "amounts", person: "user:cfo"}, &namer{name: "law", person: "user:law"}
	r := newRig(t, rigOptions{hooks: []hook.Hook{n.hook(), law.hook()}})
	for i, who := range []string{"user:law", "user:cfo"} {
		r.decideAfter(time.Duration(i+1)*time.Minute, 1, toolspec.Approve, who)
	}
	r.env.RegisterDelayedCallback(func() {
		state := r.state()
		if state.Approval == nil || state.Approval.Message != "mode auto asks for calls of risk medium; amounts asks; law asks" ||
			state.Approval.Approvers != "anyone but user:ann; hook amounts asks for user:cfo; hook law asks for user:law; unsigned decisions count" {
			t.Errorf("the state is %+v", state.Approval)
		}
		if len(state.Answers) != 1 || state.Answers[0].Reason != "the request now waits for user:cfo" {
			t.Errorf("the approver hears %+v", state.Answers)
		}
	}, 90*time.Second)
	if result := r.run(call("core__write", big)); !result.OK || r.records.requests[0].row.Rule.RememberForMs != 0 {
		t.Errorf("got %+v", result)
	}
}

// TestHooksDoNotHoldTheWait: a recheck does not run hooks while a call waits for an approval. So a hook whose service is down neither delays nor
// ends the wait.
func TestHooksDoNotHoldTheWait(t *testing.T) {
	n := &namer{name: "amounts", person: "user:cfo"}
	r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{n.hook()}})
	r.env.RegisterDelayedCallback(func() { n.down.Store(true) }, time.Minute)
	for i := range 20 {
		recheckAfter(r, time.Duration(i+2)*time.Minute)
	}
	r.env.RegisterDelayedCallback(func() {
		if got := r.state(); got.Status != toolspec.StatusWaitingApproval || n.count() != 2 {
			t.Errorf("the call is %s, and the hook was asked %d times", got.Status, n.count())
		}
		n.down.Store(false)
	}, 30*time.Minute)
	r.decideAfter(31*time.Minute, 1, toolspec.Approve, "user:cfo")
	if result := r.run(call("core__write", big)); !result.OK || n.after.Load() != 1 || len(r.records.requests) != 1 {
		t.Errorf("got %+v; asked %d times after the approval, %d requests", result, n.after.Load(), len(r.records.requests))
	}
}

// TestAHookBeginsToAsk: when policy requires no approval any more, the hooks judge the call again. A hook now requires an approval, so another
// request follows.
func TestAHookBeginsToAsk(t *testing.T) {
	n := &namer{name: "amounts", person: "user:cfo", late: 1}
	r := newRig(t, rigOptions{hooks: []hook.Hook{n.hook()}})
	r.env.RegisterDelayedCallback(func() { r.activate(freePolicy) }, time.Minute)
	recheckAfter(r, 2*time.Minute)
	r.decideAfter(3*time.Minute, 2, toolspec.Approve, "user:bob")
	r.decideAfter(4*time.Minute, 2, toolspec.Approve, "user:cfo")
	result := r.run(call("core__write", big))
	if took := result.EndedAtMs - result.StartedAtMs; !result.OK || took < 239_000 || r.records.asks != 2 || r.records.requests[0].state != contract.RequestClosed {
		t.Errorf("got %+v after %d ms, %d requests", result, took, r.records.asks)
	}
}

// TestHooksJudgeNormalizedArguments: if an input stage changes the arguments after policy has asked, the hooks judge the new arguments.
func TestHooksJudgeNormalizedArguments(t *testing.T) {
	n := &namer{name: "amounts", person: "user:cfo"}
	r := newRig(t, rigOptions{hooks: []hook.Hook{n.hook(), hook.New("normal", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error {
		v.SetArgs(echoIn{Text: "big"})
		return nil
	}))}})
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	r.decideAfter(2*time.Minute, 1, toolspec.Approve, "user:cfo")
	result := r.run(call("core__write", small))
	if took := result.EndedAtMs - result.StartedAtMs; !result.OK || took < 119_000 || strings.Join(n.texts, " ") != "big" {
		t.Errorf("got %+v after %d ms; judged %q", result, took, n.texts)
	}
}

// TestEveryHookIsAsked: if one hook requires an approval and another hook aborts the call, the call ends before a person is asked.
func TestEveryHookIsAsked(t *testing.T) {
	for _, policy := range []string{testPolicy, freePolicy} {
		n := &namer{name: "amounts", person: "user:cfo"}
		r := newRig(t, rigOptions{policy: policy, hooks: []hook.Hook{n.hook(), hook.New("limits", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
			return v.Abort("over the limit")
		}))}})
		if result := r.run(call("core__write", big)); result.ErrorCode != toolspec.CodeAborted || r.records.asks != 0 || r.ran() != 0 {
			t.Errorf("got %+v, %d requests", result, r.records.asks)
		}
	}
}

// TestEmptyNamesFail: an empty list of approvers is an error of the hook, because policy takes an empty list as anyone.
func TestEmptyNamesFail(t *testing.T) {
	for _, policy := range []string{testPolicy, freePolicy} {
		r := newRig(t, rigOptions{policy: policy, hooks: []hook.Hook{hook.New("amounts", hook.NamesApprovers(), hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
			if v.Approved() {
				return nil
			}
			return v.RequireApproval(hook.Ask{Approvals: &hook.Approvals{Approvers: []string{}}})
		}))}})
		r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
		if result := r.run(call("core__write", big)); result.ErrorCode != toolspec.CodeInternal || r.records.asks != 0 {
			t.Errorf("got %+v, %d requests", result, r.records.asks)
		}
	}
}

// TestNamesBesideADurableHook: a durable hook at willCheckConsent does not run before a request or at a recheck. It runs only after the
// approval.
func TestNamesBesideADurableHook(t *testing.T) {
	n := &namer{name: "amounts", person: "user:cfo"}
	slow := 0
	r := newRig(t, rigOptions{hooks: []hook.Hook{n.hook(), hook.New("slow", hook.Durable(time.Minute), hook.WillCheckConsent.Do(func(context.Context, *hook.Consent) error {
		slow++
		return nil
	}))}})
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	recheckAfter(r, 90*time.Second)
	r.decideAfter(2*time.Minute, 1, toolspec.Approve, "user:cfo")
	if result := r.run(call("core__write", big)); !result.OK || slow != 1 || n.count() != 1 {
		t.Errorf("got %+v; the durable hook ran %d times, the other was asked %d times", result, slow, n.count())
	}
}

// TestNamesInAPlanWithoutApproverHooks: a worker of an older release made the plan, and such a worker may continue the call without the approvers
// of the hook. So the call ends before a person is asked.
func TestNamesInAPlanWithoutApproverHooks(t *testing.T) {
	n := &namer{name: "amounts", person: "user:cfo"}
	r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{n.hook()}})
	r.records.plan = func(p *hook.Plan) {
		for i := range p.Pre {
			p.Pre[i].ApproverHooks = nil
		}
	}
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	result := r.run(call("core__write", big))
	if result.ErrorCode != toolspec.CodeApprovalStale || r.ran() != 0 || n.count() != 1 || len(r.records.requests) != 0 {
		t.Errorf("got %+v; hook asked %d times, %d requests", result, n.count(), len(r.records.requests))
	}
}
