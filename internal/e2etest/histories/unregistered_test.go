package histories

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	acts "github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/gate"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/internal/workerkey"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// allBut registers every activity but one.
type allBut struct {
	contract.Registry
	name string
}

func (r allBut) RegisterActivityWithOptions(a any, options activity.RegisterOptions) {
	if options.Name != r.name {
		r.Registry.RegisterActivityWithOptions(a, options)
	}
}

// workWithout runs a worker like worker.Run that does not register the activity with this name, or registers another one instead.
func workWithout(w *e2etest.World,
	name string, tools []toolspec.Tool, toolID string, own hook.Hook, instead ...func(contract.Registry, *acts.Activities, contract.Signer),
) (stop func()) {
	w.T.Helper()
	log := slog.New(slog.DiscardHandler)
	source := catalog.NewRegistry(toolspec.Capabilities{})
	if err := source.Add("test", tools...); err != nil {
		w.T.Fatal(err)
	}
	registry, err := hook.NewRegistry(log, nil, map[string][]hook.Hook{toolID: {own}})
	if err != nil {
		w.T.Fatal(err)
	}
	temporal, err := client.NewClientFromExistingWithContext(w.T.Context(), w.Temporal, client.Options{
		Namespace: w.Namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(w.Log, nil))),
	})
	if err != nil {
		w.T.Fatal(err)
	}
	sdk := sdkworker.New(temporal, toolspec.TaskQueue, sdkworker.Options{})
	sdk.RegisterWorkflowWithOptions(workflows.InvokeTool, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	keys := workerkey.New(w.Store)
	steps := acts.New(source, w.Store, w.Store, registry, log, acts.Config{
		SearchAttributes: true, Keys: keys,
		Own: gate.Steps(gate.Parts{Policies: w.Store, Engine: w.Store.Authorizer(), Tools: source, Log: log}),
	})
	steps.Register(allBut{sdk, name})
	for _, bind := range instead {
		bind(sdk, steps, keys)
	}
	if err := sdk.Start(); err != nil {
		w.T.Fatal(err)
	}
	return func() {
		sdk.Stop()
		temporal.Close()
		sdkworker.PurgeStickyWorkflowCache()
	}
}

// TestUnregisteredActivity: a worker that does not register one of the activities cannot go on with a call whose history has this activity, and a complete
// worker then can. A replay does not find that fault. The test shows that TestRecordedCallsGoOn would find it.
func TestUnregisteredActivity(t *testing.T) {
	t.Parallel()
	if n := len(contract.ActivityNames()); n != 56 {
		t.Errorf("%d names, want 56: none may be removed", n)
	}
	w := e2etest.NewWorldOn(t, importingTemporal(t).Address(), postgrestest.Database(t), e2etest.PlainPolicy)
	r, ok := waitingCalls(t)[historytest.Version]["waiting_all_stages"]
	if !ok {
		t.Fatal("this version recorded no call that waits with all stages: run `task history`")
	}
	id := takeIn(w, r, 0).Identity().WorkflowID()
	tools, own := waitingTools(func(string) e2etest.Run { return e2etest.Echo }), onAll("all", normalise)

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
		stop := workWithout(w, name, tools, allTool, own)
		var state toolspec.State
		var err error
		// On a busy machine a query may end without any answer, or because the workflow did not run for a second.
		w.Until(func() bool {
			state, err = w.Pawl.State(t.Context(), id)
			return err == nil || strings.Contains(err.Error(), "TMPRL1100")
		}, "there is a state, or a history that does not fit, without "+name, &err)
		switch {
		case err == nil && state.Approval != nil:
			t.Errorf("a worker without %s goes on with the call", name)
		case err == nil && name == contract.Admit.Name():
			// Without admit the workflow ends before an event can differ from the history, and the query gives an empty answer.
		case err == nil:
			t.Errorf("a worker without %s: %+v; want a history that does not fit", name, state)
		}
		stop()
	}

	// With a signal, which causes a real workflow task and not only a query, the call does not go on either.
	stop := workWithout(w, string(hook.WillBindProviders.Stage()), tools, allTool, own)
	d := e2etest.Approving(toolspec.ApprovalID(e2etest.Invocation("waiting_all_stages", "", "").Identity().InvocationID(), 1), e2etest.Ann)
	if err := w.Temporal.SignalWorkflow(t.Context(), id, "", toolspec.DecideName, d); err != nil {
		t.Fatal(err)
	}
	var h *historypb.History
	w.Until(func() bool {
		h = w.History(id, "")
		return e2etest.CountEvents(h, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED) > 0
	}, "the workflow task fails")
	stop()
	if e2etest.CountEvents(h, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED) > 0 {
		t.Error("the call ended all the same")
	}
	w.Work(worker.Tools(tools...), worker.ToolHooks(allTool, own))
	e2etest.WantText(t, w.ResultOf(id, ""), "normal")
}
