package upkeep_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envtest"
	upkeepflow "github.com/pawl-run/pawl/workflows/upkeep"
)

// stores is a fake of the database. away is the number of times that each method fails
// before it succeeds; -1 means that it always fails.
type stores struct {
	mu    sync.Mutex
	away  map[string]int
	calls []string
	pages []upkeep.OpenPage
}

func (u *stores) did(name string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls = append(u.calls, name)
	switch {
	case u.away[name] < 0:
		return errors.New("broken")
	case u.away[name] > 0:
		u.away[name]--
		return errs.Transient(errors.New("away"))
	}
	return nil
}

func (u *stores) OpenCalls(_ context.Context, page upkeep.OpenPage) ([]upkeep.OpenCall, error) {
	u.mu.Lock()
	u.pages = append(u.pages, page)
	u.mu.Unlock()
	return []upkeep.OpenCall{{InvocationID: "1", WorkflowID: "gone", RunID: "run"}, {InvocationID: "2", WorkflowID: "there", RunID: "run"}}, u.did("open")
}

func (u *stores) Sweep(_ context.Context, in upkeep.SweepRow) (toolspec.Code, error) {
	return in.Code, u.did("sweep " + in.InvocationID)
}
func (u *stores) EnsurePartitions(context.Context, int) error      { return u.did("partitions") }
func (u *stores) ReleaseExpired(context.Context, int) (int, error) { return 0, u.did("release") }
func (u *stores) DeleteIdleCapacity(context.Context, int) (int, error) {
	return 0, u.did("idle")
}
func (u *stores) DeleteExpiredCalls(context.Context, int, int) (int, error) {
	return 0, u.did("calls")
}
func (u *stores) DeleteExpiredSeals(context.Context, int) (int, error)  { return 0, u.did("seals") }
func (u *stores) DeleteExpiredMemory(context.Context, int) (int, error) { return 0, u.did("memory") }
func (u *stores) DeleteOldSessions(context.Context, int) (int, error)   { return 0, u.did("sessions") }
func (u *stores) DeleteKeptAnswers(context.Context, int) (int, error)   { return 0, u.did("answers") }
func (u *stores) DeleteExpiredAgentRuns(context.Context, int, int) (int, error) {
	return 0, u.did("agent runs")
}
func (u *stores) DeleteExpiredRuns(context.Context, int, int) (int, error) { return 0, u.did("runs") }
func (u *stores) DeleteExpiredRows(context.Context, int, int) (int, error) { return 0, u.did("rows") }
func (u *stores) DeleteExpiredCache(context.Context, int) (int, error) {
	return 0, u.did("cache")
}
func (u *stores) DeleteOutputObjects(context.Context) (int, error) { return 0, u.did("objects") }

func (u *stores) DeleteExpiredOutputs(context.Context, int) (int, error) {
	return 0, u.did("outputs")
}
func (u *stores) DropExpiredPartitions(context.Context, int) (upkeep.DroppedPartitions, error) {
	return upkeep.DroppedPartitions{Dropped: 4}, u.did("drop")
}

func (u *stores) TakeEnding(context.Context, string) (e upkeep.Ending, found bool, err error) {
	return e, false, nil
}
func (u *stores) EndStage(context.Context, upkeep.EndedStage) (bool, error) { return false, nil }
func (u *stores) DropEnding(context.Context, string, int) error             { return nil }

func (u *stores) Owner(_ context.Context, workflowID, _ string) (upkeep.Owner, error) {
	if workflowID == "gone" {
		return upkeep.Owner{Status: upkeep.OwnerTimedOut, RunID: "run"}, nil
	}
	return upkeep.Owner{Status: upkeep.OwnerRunning, RunID: "run"}, nil
}

// sweep runs the workflow with the real activities and the fake database u.
func sweep(t *testing.T, u *stores, prepare func(*testsuite.TestWorkflowEnvironment)) (out upkeepflow.SweepOut, err error) {
	t.Helper()
	env := envtest.New()
	env.RegisterWorkflowWithOptions(upkeepflow.Sweep, workflow.RegisterOptions{Name: upkeepflow.SweepType})
	upkeep.NewSweeper("its own", u, u, nil, u, slog.New(slog.DiscardHandler), 30).Register(env)
	if prepare != nil {
		prepare(env)
	}
	env.ExecuteWorkflow(upkeepflow.SweepType)
	if err := env.GetWorkflowError(); err != nil {
		return out, err
	}
	return out, env.GetWorkflowResult(&out)
}

// TestSweepWorkflow: the workflow retries an unavailable database, and if one activity
// fails, the others still run.
func TestSweepWorkflow(t *testing.T) {
	calls := contract.SweepCallsOut{Open: 2, Running: 1, TimedOut: 1}
	expired := contract.DropExpiredOut{RetentionDays: 30, Partitions: 4}
	every := []string{"release", "open", "sweep 1", "partitions", "outputs", "calls", "rows", "runs", "agent runs", "cache", "idle", "sessions", "answers", "seals", "memory", "objects", "drop"}
	for _, tc := range []struct {
		name string
		away map[string]int
		want upkeepflow.SweepOut
		did  []string
	}{
		{"all is well", map[string]int{}, upkeepflow.SweepOut{Calls: calls, Expired: expired}, every},
		{"everything is away for a while", map[string]int{"open": 2, "sweep 1": 1, "partitions": 1, "rows": 1}, upkeepflow.SweepOut{Calls: calls, Expired: expired}, every},
		{"calls fail", map[string]int{"open": -1}, upkeepflow.SweepOut{Expired: expired, Failed: []string{"sweepCalls"}}, []string{"release", "open", "partitions", "outputs", "calls", "rows", "runs", "agent runs", "cache", "idle", "sessions", "answers", "seals", "memory", "objects", "drop"}},
		{"partitions are away for too long", map[string]int{"partitions": 1000}, upkeepflow.SweepOut{Calls: calls, Expired: expired, Failed: []string{"keepPartitions"}}, every},
		{"retention fails", map[string]int{"rows": -1}, upkeepflow.SweepOut{Calls: calls, Failed: []string{"dropExpired"}}, []string{"release", "open", "sweep 1", "partitions", "outputs", "calls", "rows", "runs", "agent runs", "cache", "idle", "sessions", "answers", "seals", "memory", "objects"}},
		{"outputs fail", map[string]int{"outputs": -1}, upkeepflow.SweepOut{Calls: calls, Failed: []string{"dropExpired"}}, []string{"release", "open", "sweep 1", "partitions", "outputs", "calls", "rows", "runs", "agent runs", "cache", "idle", "sessions", "answers", "seals", "memory", "objects"}},
		{"the bucket of outputs refuses", map[string]int{"objects": -1}, upkeepflow.SweepOut{Calls: calls, Expired: expired}, every},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := &stores{away: tc.away}
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
			if u.pages[0].Namespace != "its own" {
				t.Errorf("swept the namespace %q", u.pages[0].Namespace)
			}
		})
	}
}

// TestSweepWorkflowCancelled: a cancelled workflow ends as cancelled and starts no
// further activity.
func TestSweepWorkflowCancelled(t *testing.T) {
	u := &stores{away: map[string]int{"open": 1000}} // open fails so often that the sweep still tries it when it is cancelled
	_, err := sweep(t, u, func(env *testsuite.TestWorkflowEnvironment) { env.RegisterDelayedCallback(env.CancelWorkflow, 1) })
	u.mu.Lock() // the activity may still run
	defer u.mu.Unlock()
	if err == nil || slices.Contains(u.calls, "drop") {
		t.Errorf("ended with %v after %v", err, u.calls)
	}
}
