package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

// upkeep answers in place of a database, as often as it is told to not at all.
type upkeep struct {
	mu    sync.Mutex
	away  map[string]int
	calls []string
	pages []activities.OpenPage
}

func (u *upkeep) did(name string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls = append(u.calls, name)
	switch {
	case u.away[name] < 0:
		return errors.New("broken")
	case u.away[name] > 0:
		u.away[name]--
		return hook.Transient(errors.New("away"))
	}
	return nil
}

func (u *upkeep) OpenCalls(_ context.Context, page activities.OpenPage) ([]activities.OpenCall, error) {
	u.mu.Lock()
	u.pages = append(u.pages, page)
	u.mu.Unlock()
	return []activities.OpenCall{{InvocationID: "1", WorkflowID: "gone", RunID: "run"}, {InvocationID: "2", WorkflowID: "there", RunID: "run"}}, u.did("open")
}

func (u *upkeep) Sweep(_ context.Context, in activities.SweepRow) (toolspec.Code, error) {
	return in.Code, u.did("sweep " + in.InvocationID)
}
func (u *upkeep) EnsurePartitions(context.Context, int) error      { return u.did("partitions") }
func (u *upkeep) ReleaseExpired(context.Context, int) (int, error) { return 0, u.did("release") }
func (u *upkeep) DeleteIdleCapacity(context.Context, int) (int, error) {
	return 0, u.did("idle")
}
func (u *upkeep) DeleteExpiredCalls(context.Context, int, int) (int, error) {
	return 0, u.did("calls")
}
func (u *upkeep) DeleteOldSessions(context.Context, int) (int, error)      { return 0, u.did("sessions") }
func (u *upkeep) DeleteExpiredRows(context.Context, int, int) (int, error) { return 0, u.did("rows") }
func (u *upkeep) DeleteExpiredCache(context.Context, int) (int, error) {
	return 0, u.did("cache")
}
func (u *upkeep) DropExpiredPartitions(context.Context, int) (activities.DroppedPartitions, error) {
	return activities.DroppedPartitions{Dropped: 4}, u.did("drop")
}

func (u *upkeep) Owner(_ context.Context, workflowID, _ string) (activities.Owner, error) {
	if workflowID == "gone" {
		return activities.Owner{Status: activities.OwnerTimedOut, RunID: "run"}, nil
	}
	return activities.Owner{Status: activities.OwnerRunning, RunID: "run"}, nil
}

// sweep runs the workflow with the real activities on u.
func sweep(t *testing.T, u *upkeep, prepare func(*testsuite.TestWorkflowEnvironment)) (out workflows.SweepOut, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slogDiscard{})
	env := suite.NewTestWorkflowEnvironment()
	patient(env, worker.Options{})
	env.RegisterWorkflowWithOptions(workflows.Sweep, workflow.RegisterOptions{Name: workflows.SweepType})
	activities.NewSweeper(u, u, slog.New(slog.DiscardHandler), 30).Register(env)
	if prepare != nil {
		prepare(env)
	}
	env.ExecuteWorkflow(workflows.SweepType)
	if err := env.GetWorkflowError(); err != nil {
		return out, err
	}
	return out, env.GetWorkflowResult(&out)
}

// TestSweepWorkflow: what is away is tried again, and a part that fails does not keep the others from their work.
func TestSweepWorkflow(t *testing.T) {
	calls := workflows.SweepCallsOut{Open: 2, Running: 1, TimedOut: 1}
	expired := workflows.DropExpiredOut{RetentionDays: 30, Partitions: 4}
	every := []string{"release", "open", "sweep 1", "partitions", "calls", "rows", "cache", "idle", "sessions", "drop"}
	for _, tc := range []struct {
		name string
		away map[string]int
		want workflows.SweepOut
		did  []string
	}{
		{"all is well", map[string]int{}, workflows.SweepOut{Calls: calls, Expired: expired}, every},
		{"everything is away for a while", map[string]int{"open": 2, "sweep 1": 1, "partitions": 1, "rows": 1}, workflows.SweepOut{Calls: calls, Expired: expired}, every},
		{"calls fail", map[string]int{"open": -1}, workflows.SweepOut{Expired: expired, Failed: []string{"sweepCalls"}}, []string{"release", "open", "partitions", "calls", "rows", "cache", "idle", "sessions", "drop"}},
		{"partitions are away for too long", map[string]int{"partitions": 1000}, workflows.SweepOut{Calls: calls, Expired: expired, Failed: []string{"keepPartitions"}}, every},
		{"retention fails", map[string]int{"rows": -1}, workflows.SweepOut{Calls: calls, Failed: []string{"dropExpired"}}, []string{"release", "open", "sweep 1", "partitions", "calls", "rows"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := &upkeep{away: tc.away}
			out, err := sweep(t, u, nil)
			if err != nil || !reflect.DeepEqual(out, tc.want) {
				t.Errorf("got %+v, %v; want %+v", out, err, tc.want)
			}
			var did []string
			for _, c := range u.calls {
				if !slices.Contains(did, c) {
					did = append(did, c)
				}
			}
			if !slices.Equal(did, tc.did) {
				t.Errorf("did %v, want %v", did, tc.did)
			}
			if u.pages[0].Namespace != "default-test-namespace" {
				t.Errorf("swept the namespace %q", u.pages[0].Namespace)
			}
		})
	}
}

// TestSweepWorkflowCancelled: it says so, and begins nothing more.
func TestSweepWorkflowCancelled(t *testing.T) {
	u := &upkeep{away: map[string]int{"open": 1000}}
	_, err := sweep(t, u, func(env *testsuite.TestWorkflowEnvironment) { env.RegisterDelayedCallback(env.CancelWorkflow, 1) })
	if err == nil || slices.Contains(u.calls, "drop") {
		t.Errorf("ended with %v after %v", err, u.calls)
	}
}
