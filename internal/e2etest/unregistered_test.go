package e2etest

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	acts "github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/hooks"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// allBut registers every activity but one.
type allBut struct {
	workflows.Registry
	name string
}

func (r allBut) RegisterActivityWithOptions(a any, options activity.RegisterOptions) {
	if options.Name != r.name {
		r.Registry.RegisterActivityWithOptions(a, options)
	}
}

// workWithout runs a worker that is as worker.Run makes it, but registers every activity except one.
func (w *world) workWithout(name string, tools []toolspec.Tool, toolID string, own hook.Hook) (stop func()) {
	w.t.Helper()
	log := slog.New(slog.DiscardHandler)
	source := catalog.NewRegistry(toolspec.Capabilities{})
	if err := source.Add("test", tools...); err != nil {
		w.t.Fatal(err)
	}
	all := append([]hook.Hook{hooks.Policy(w.store, w.store.Authorizer(), source, log)}, hooks.Redaction(source)...)
	registry, err := hook.NewRegistry(log, append(all, hooks.Audit()), map[string][]hook.Hook{toolID: {own}})
	if err != nil {
		w.t.Fatal(err)
	}
	sdk := sdkworker.New(w.temporal, toolspec.TaskQueue, sdkworker.Options{})
	sdk.RegisterWorkflowWithOptions(workflows.InvokeTool, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	acts.New(source, w.store, w.store, registry, log, acts.Config{SearchAttributes: true}).Register(allBut{sdk, name})
	if err := sdk.Start(); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		sdk.Stop()
		sdkworker.PurgeStickyWorkflowCache()
	}
}

// TestUnregisteredActivity: a worker that lacks a single one of the names cannot go on with a call whose history has it, which no
// replayer would say; a complete one then can. This is what TestRecordedCallsGoOn would fail by.
func TestUnregisteredActivity(t *testing.T) {
	t.Parallel()
	if n := len(workflows.ActivityNames()); n != 45 {
		t.Errorf("%d names, want 45: none may be removed", n)
	}
	w := newWorldOn(t, importingTemporal(t).Address(), devstacktest.Postgres(t), plainPolicy)
	r, ok := waitingCalls(t)[historytest.Version]["waiting_all_stages"]
	if !ok {
		t.Fatal("this version recorded no call that waits with all stages: run `task history`")
	}
	id := w.takeIn(r, 0).Identity().WorkflowID()
	tools, own := waitingTools(func(string) run { return echo }), onAll("all", normalise)

	var names []string
	for _, e := range r.History.GetEvents() {
		if name := historytest.ActivityOf(e); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) < 12 {
		t.Fatalf("the call went through %d steps only: %v", len(names), names)
	}
	for _, name := range names {
		stop := w.workWithout(name, tools, allTool, own)
		var state toolspec.State
		var err error
		// On a busy machine a query may end without any answer, or because the workflow did not run for a second.
		w.until(func() bool {
			state, err = w.pawl.State(t.Context(), id)
			return err == nil || strings.Contains(err.Error(), "TMPRL1100")
		}, "there is a state, or a history that does not fit, without "+name, &err)
		switch {
		case err == nil && state.Approval != nil:
			t.Errorf("a worker without %s goes on with the call", name)
		case err == nil && name == workflows.Admit.Name():
			// Without it the workflow is over before anything can disagree; the query answers with nothing.
		case err == nil:
			t.Errorf("a worker without %s: %+v; want a history that does not fit", name, state)
		}
		stop()
	}

	// With a task of its own instead of a query the call stays where it is.
	stop := w.workWithout(string(hook.WillBindProviders.Stage()), tools, allTool, own)
	d := approval(toolspec.ApprovalID(invocation("waiting_all_stages", "", "").Identity().InvocationID(), 1), ann)
	if err := w.temporal.SignalWorkflow(t.Context(), id, "", toolspec.DecideName, d); err != nil {
		t.Fatal(err)
	}
	var h *historypb.History
	w.until(func() bool { h = w.history(id, ""); return count(h, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED) > 0 }, "the workflow task fails")
	stop()
	if count(h, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED) > 0 {
		t.Error("the call ended all the same")
	}
	w.work(worker.Tools(tools...), worker.ToolHooks(allTool, own))
	wantText(t, w.resultOf(id, ""), "normal")
}
