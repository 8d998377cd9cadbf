// Package flows tests calls that a workflow of a user makes with package pawlflow, and how they end if that
// workflow or its worker ends, is reset or is cancelled.
package flows

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/pawlflow"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// queue is the task queue of the user.
	queue = "team"
	// team is the name of the child program that is the worker of the user.
	team = "team"
)

func TestMain(m *testing.M) {
	e2etest.Main(m, map[string]e2etest.Program{team: serveTeam})
}

// oneCall is a workflow of a user that makes one call.
func oneCall(ctx workflow.Context, inv toolspec.Invocation) (toolspec.Result, error) {
	return pawlflow.Invoke(ctx, inv)
}

// typed is the result of typedCall.
type typed struct {
	Out    e2etest.Out
	Result toolspec.Result
	Err    string
}

// typedCall is a workflow of a user that decodes the value of a call.
func typedCall(ctx workflow.Context, inv toolspec.Invocation) (typed, error) {
	out, result, err := pawlflow.InvokeAs[e2etest.Out](ctx, inv)
	got := typed{Out: out, Result: result}
	if err != nil {
		got.Err = err.Error()
	}
	return got, nil
}

// oneTurn is a workflow of a user that makes the calls of one response.
func oneTurn(ctx workflow.Context, calls []pawlflow.Planned, atOnce int) ([]toolspec.Result, error) {
	return pawlflow.Turn(ctx, calls, atOnce)
}

// twice is a workflow of a user that makes the same call a second time while the first one is open.
func twice(ctx workflow.Context, inv toolspec.Invocation) ([]toolspec.Result, error) {
	first := pawlflow.Start(ctx, inv)
	second, err := pawlflow.Invoke(ctx, inv)
	if err != nil {
		return nil, err
	}
	result, err := first.Result(ctx)
	return []toolspec.Result{result, second}, err
}

// leaving is a workflow of a user that starts a call, and does not wait for it: after a signal it ends, or continues as new.
func leaving(ctx workflow.Context, inv toolspec.Invocation, again bool) error {
	if again && workflow.GetInfo(ctx).ContinuedExecutionRunID != "" {
		workflow.GetSignalChannel(ctx, "leave").Receive(ctx, nil)
		return nil
	}
	pawlflow.Start(ctx, inv)
	workflow.GetSignalChannel(ctx, "leave").Receive(ctx, nil)
	if again {
		return workflow.NewContinueAsNewError(ctx, leaving, inv, again)
	}
	return nil
}

func newTeam(c client.Client) sdkworker.Worker {
	w := sdkworker.New(c, queue, sdkworker.Options{})
	w.RegisterWorkflow(oneCall)
	w.RegisterWorkflow(typedCall)
	w.RegisterWorkflow(oneTurn)
	w.RegisterWorkflow(twice)
	w.RegisterWorkflow(leaving)
	return w
}

// serveTeam runs the worker of the user until it is killed or until the test ends, which closes its standard input.
func serveTeam(context.Context, []string) int {
	c, err := client.Dial(envconfig.MustLoadDefaultClientOptions())
	if err == nil {
		w := newTeam(c)
		if err = w.Start(); err == nil {
			_, _ = io.Copy(io.Discard, os.Stdin)
			w.Stop()
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// world is a world with a worker of the user.
type world struct{ *e2etest.World }

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{e2etest.NewWorld(t, e2etest.PlainPolicy)}
	team := newTeam(w.Temporal)
	if err := team.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(team.Stop)
	return w
}

// run starts a workflow of the user.
func (w world) run(flow any, args ...any) client.WorkflowRun {
	w.T.Helper()
	run, err := w.Temporal.ExecuteWorkflow(w.T.Context(), client.StartWorkflowOptions{TaskQueue: queue}, flow, args...)
	if err != nil {
		w.T.Fatal(err)
	}
	return run
}

// get waits for the end of a workflow of the user and returns its result.
func get[T any](w world, run client.WorkflowRun) (v T) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	if err := run.Get(ctx, &v); err != nil {
		w.T.Fatal(err)
	}
	return v
}
