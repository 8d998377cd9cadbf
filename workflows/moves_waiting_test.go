package workflows_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// away is a source of tools that has no tools while gone is true.
type away struct {
	judge.Source
	gone atomic.Bool
}

func (a *away) Get(toolID string) (*catalog.Bound, bool) { return a.Find(toolID, "") }

func (a *away) Find(toolID, digest string) (*catalog.Bound, bool) {
	if a.gone.Load() {
		return nil, false
	}
	return a.Source.Find(toolID, digest)
}

// over makes a the source in front of s.
func (a *away) over(s judge.Source) judge.Source {
	a.Source = s
	return a
}

// TestRecheckWithoutTheTool: a call waits for an approval, and its worker loses the tool or a hook. At a recheck the call moves to the workers
// that have the tool. If there are no such workers, the call continues to wait for the person, even after its deadline.
func TestRecheckWithoutTheTool(t *testing.T) {
	const minute = time.Minute
	for _, tc := range []struct {
		name      string
		elsewhere pools
		old       bool
		lackHook  bool
		deny      bool
		back      time.Duration // when the worker has the tool again
		approve   time.Duration
		want      string // the task queue
		code      toolspec.Code
		took      time.Duration
		runs      int
	}{
		{name: "moves", elsewhere: pools{"media"}, want: "pawl-media"},
		{name: "moves for a hook", elsewhere: pools{"media"}, lackHook: true, want: "pawl-media"},
		{name: "in an older history", elsewhere: pools{"media"}, old: true, code: toolspec.CodeUnavailable, took: 20 * minute},
		{name: "nobody has the tool", elsewhere: pools{}, code: toolspec.CodeApprovalExpired, took: 60 * minute},
		{name: "no pools", code: toolspec.CodeApprovalExpired, took: 60 * minute},
		{name: "nobody has the tool, then back", elsewhere: pools{}, back: 40 * minute, approve: 45 * minute, took: 45 * minute, runs: 1},
		{name: "nobody has the tool, then approved", elsewhere: pools{}, approve: 45 * minute, code: toolspec.CodeUnavailable, took: 60 * minute},
		{name: "nobody has the tool, then denied", elsewhere: pools{}, back: 10 * minute, deny: true, code: toolspec.CodePolicyDenied, took: 12 * minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var worker, gates away
			o := rigOptions{source: worker.over, gateSource: gates.over}
			if tc.elsewhere != nil {
				o.workers = tc.elsewhere
			}
			r := newRig(t, o)
			set := func(after time.Duration, gone bool) {
				r.env.RegisterDelayedCallback(func() {
					worker.gone.Store(gone)
					gates.gone.Store(gone && !tc.lackHook)
				}, after)
			}
			if tc.lackHook { // the plan of another pool has a hook that this worker lacks: the call finds this before it asks
				r.records.plan = func(p *hook.Plan) {
					i := slices.IndexFunc(p.Pre, func(s hook.Step) bool { return s.Stage == hook.WillAuthorize.Stage() })
					p.Pre[i].Hooks = append(p.Pre[i].Hooks, "gone")
				}
				set(30*time.Second, true)
			} else {
				set(2*minute, true)
			}
			if tc.old {
				r.env.OnGetVersion("move", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
			}
			if tc.back > 0 {
				set(tc.back, false)
			}
			if tc.approve > 0 {
				r.decideAfter(tc.approve, 1, toolspec.Approve, "user:bob")
			}
			for at := 5 * minute; at <= 9*minute; at += minute {
				recheckAfter(r, at)
			}
			if tc.deny {
				r.env.RegisterDelayedCallback(func() { r.activate("version: 1\ntenants: {acme: {allowedTools: [core__read]}}\n") }, 11*minute)
				recheckAfter(r, 12*minute)
			}
			inv := call("core__write", args)
			r.env.SetStartWorkflowOptions(startOptions(inv.Identity().WorkflowID()))
			r.env.ExecuteWorkflow(toolspec.WorkflowType, inv)
			queue, _ := r.queueOf(inv)
			if queue != tc.want || r.ran() != tc.runs {
				t.Fatalf("the call moves to %q after %d runs of its tool, want %q after %d", queue, r.ran(), tc.want, tc.runs)
			}
			if queue != "" {
				return
			}
			result := r.result()
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if result.ErrorCode != tc.code || took < tc.took-2*minute || took > tc.took+2*minute {
				t.Errorf("got %+v after %s, want %q after %s", result, took, tc.code, tc.took)
			}
		})
	}
}
