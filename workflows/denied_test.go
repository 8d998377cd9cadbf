package workflows_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// denyingAll denies every tool.
const denyingAll = "version: 1\ntenants: {acme: {allowedTools: []}}\n"

// connected returns a call with a connection.
func connected(toolID string) toolspec.Invocation {
	inv := call(toolID, args)
	inv.Context.ConnectionID, inv.AllowedConnectionIDs = "conn-1", []string{"conn-1"}
	return inv
}

// older makes the call one whose history is from before a change of the workflow.
func (r *rig) older(change string) {
	r.env.OnGetVersion(change, workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
}

// holding is a source that holds the first lookup of execute, which is the third one.
type holding struct {
	judge.Source
	looks atomic.Int64
	// hold returns whether the source has the tool.
	hold func() bool
}

func (h *holding) Find(toolID, digest string) (*catalog.Bound, bool) {
	if h.looks.Add(1) == 3 && !h.hold() {
		return nil, false
	}
	return h.Source.Find(toolID, digest)
}

func (h *holding) Get(toolID string) (*catalog.Bound, bool) {
	h.looks.Add(1)
	return h.Source.Get(toolID)
}

// TestDeniedBeforeItBegan: the gate denies a call with a connection while its attempt waits for a worker. The attempt is cancelled before it
// begins, and the call ends with the denial instead of dispatching the attempt again. A call with an older history dispatches it again.
func TestDeniedBeforeItBegan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool  string
		older bool
		code  toolspec.Code // "" = ok
		runs  int
	}{
		"must not be repeated": {tool: "core__mail", code: toolspec.CodePolicyDenied},
		"may be repeated":      {tool: "core__write", code: toolspec.CodePolicyDenied},
		"an older history":     {tool: "core__mail", older: true, runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *rig
			checked := make(chan struct{})
			r = newRig(t, rigOptions{policy: freePolicy, source: func(s judge.Source) judge.Source {
				return &holding{Source: s, hold: func() bool {
					r.activate(denyingAll)
					r.env.SignalWorkflow(toolspec.RecheckName, nil)
					<-checked // the attempt does not begin before the call has given it up
					return true
				}}
			}})
			r.records.onCheck = func(int) contract.Outcome {
				close(checked)
				return ""
			}
			if tc.older {
				r.older("denied-before-it-began")
			}
			result := r.run(connected(tc.tool))
			if result.ErrorCode != tc.code || result.Attempts != tc.runs || r.ran() != tc.runs || r.records.checks != 1 || len(r.records.claims) != tc.runs {
				t.Errorf("got %+v after %d runs and %d checks\n%s", result, r.ran(), r.records.checks, r.stages())
			}
		})
	}
}

// TestDeniedAttemptAnswers: the gate denies a call while the worker that has taken its attempt answers that it lacks the tool. The call ends
// with the denial at once.
func TestDeniedAttemptAnswers(t *testing.T) {
	t.Parallel()
	var r *rig
	judged, answered := make(chan struct{}), make(chan struct{})
	var asked atomic.Int64
	r = newRig(t, rigOptions{
		policy: freePolicy,
		engine: authztest.New(func(context.Context, authz.Request) (authz.Decision, error) {
			if asked.Add(1) == 1 {
				return authz.Allow(), nil
			}
			close(judged)
			<-answered
			return authz.Decision{}, nil
		}),
		source: func(s judge.Source) judge.Source {
			return &holding{Source: s, hold: func() bool {
				r.env.SignalWorkflow(toolspec.RecheckName, nil)
				<-judged
				return false
			}}
		},
	})
	r.env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		if info.ActivityType.Name == contract.Execute.Name() {
			close(answered)
		}
	})
	result := r.run(connected("core__write"))
	if took := result.EndedAtMs - result.StartedAtMs; result.ErrorCode != toolspec.CodeAuthzDenied || r.ran() != 0 || took >= time.Second.Milliseconds() {
		t.Errorf("got %+v after %d ms and %d runs\n%s", result, took, r.ran(), r.stages())
	}
}

// TestJudgedBeforeEachDispatch: policy changes while a call waits to dispatch an attempt again, because its worker lacks a part or the database
// gave no answer. The gate judges the call before the next dispatch, in every lane.
func TestJudgedBeforeEachDispatch(t *testing.T) {
	t.Parallel()
	const other = "version: 1\ntenants: {acme: {allowedTools: [\"core__*\"], mode: yolo}, beta: {allowedTools: []}}\n"
	quick := toolspec.Definition{
		ID: "core__quick", Description: "test tool", Version: "1", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}
	for name, tc := range map[string]struct {
		tool, policy string
		// away says that the database gives no answer to the first claims. Otherwise the workers lack the tool.
		away  bool
		older bool
		code  toolspec.Code
		runs  int
	}{
		"regular lane":             {tool: "core__remote", policy: denyingAll, code: toolspec.CodePolicyDenied},
		"local lane":               {tool: "core__read", policy: denyingAll, code: toolspec.CodePolicyDenied},
		"claimed lane":             {tool: "core__quick", policy: denyingAll, code: toolspec.CodePolicyDenied},
		"no answer of the claim":   {tool: "core__mail", policy: denyingAll, away: true, code: toolspec.CodePolicyDenied},
		"needs an approval now":    {tool: "core__write", policy: testPolicy, code: toolspec.CodeApprovalStale},
		"regular lane, allowed":    {tool: "core__remote", policy: other, runs: 1},
		"local lane, allowed":      {tool: "core__read", policy: other, runs: 1},
		"claimed lane, allowed":    {tool: "core__quick", policy: other, runs: 1},
		"no answer, still allowed": {tool: "core__mail", policy: other, away: true, runs: 1},
		"an older history":         {tool: "core__remote", policy: denyingAll, older: true, runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *rig
			o := rigOptions{policy: freePolicy, tools: []toolspec.Tool{toolspec.Define(quick, func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
				r.runs.Add(1)
				return echoOut{Text: in.Text}, nil
			})}}
			if !tc.away {
				o.source = lacks(3, 6) // the dispatches wait for 1 s, 2 s and 4 s
			}
			r = newRig(t, o)
			if tc.older {
				r.older("judge-each-dispatch")
			}
			if tc.away {
				r.records.onClaim = func(n int) (contract.Outcome, error) {
					if n <= 3 {
						r.records.written(false)
						return "", errAway
					}
					return "", nil
				}
			}
			r.at(2*time.Second, func() {
				r.activate(tc.policy)
				r.env.SignalWorkflow(toolspec.RecheckName, nil)
			})
			result := r.run(call(tc.tool, args))
			if result.ErrorCode != tc.code || result.OK != (tc.code == "") || r.ran() != tc.runs {
				t.Errorf("got %+v after %d runs\n%s", result, r.ran(), r.stages())
			}
			if took := result.EndedAtMs - result.StartedAtMs; tc.runs == 0 && took > (3*time.Second+time.Second/2).Milliseconds() {
				t.Errorf("the call was denied after %d ms, want it at the next dispatch", took)
			}
		})
	}
}

// TestJudgedAfterAWatchedAttempt: policy changes while an attempt with a connection runs, and denies the call only by its arguments, which the
// gate does not see while a tool runs. The attempt ends by itself, and the whole gate judges the call before the next one.
func TestJudgedAfterAWatchedAttempt(t *testing.T) {
	t.Parallel()
	var r *rig
	var asked atomic.Int64
	judged := make(chan struct{})
	r = newRig(t, rigOptions{
		policy: freePolicy,
		fail:   func(int) error { return errPlain },
		engine: authztest.New(func(context.Context, authz.Request) (authz.Decision, error) {
			if asked.Add(1) == 2 {
				close(judged)
			}
			return authz.Allow(), nil
		}),
		hooks: []hook.Hook{hook.New("meanwhile", hook.WillExecute.Do(func(context.Context, *hook.Attempt) error {
			r.activate(strings.Replace(freePolicy, "rules: [", `rules: [{tool: core__write, when: 'args.text == "hello"', decision: deny}, `, 1))
			r.env.SignalWorkflow(toolspec.RecheckName, nil)
			<-judged
			return nil
		}))},
	})
	if result := r.run(connected("core__write")); result.ErrorCode != toolspec.CodePolicyDenied || r.ran() != 1 {
		t.Errorf("got %+v after %d runs\n%s", result, r.ran(), r.stages())
	}
}
