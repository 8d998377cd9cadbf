//go:build unix

package faultkit_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// waitTimeout bounds the wait for steps that take seconds on an idle machine.
const waitTimeout = 3 * time.Minute

const rules = `
version: 1
tenants:
  acme:
    allowedTools: ["chaos__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

// world is a namespace, a database and a ledger. Its workers are children.
type world struct {
	t         *testing.T
	address   string
	namespace string
	database  string
	workspace string
	ledger    *ledger.Ledger
	temporal  client.Client
	pawl      *pawl.Client
	store     *postgres.Store
	queries   *pgxpool.Pool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, address: devstacktest.Temporal(t), namespace: "faults-" + strings.ToLower(rand.Text()[:12]),
		database: postgrestest.Database(t) + "&connect_timeout=60", workspace: t.TempDir(),
	}
	var err error
	if w.ledger, err = ledger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ledger.Close() })
	if w.store, err = postgres.Open(t.Context(), w.database, postgres.Options{MaxConns: 4, Application: "faultkit"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.store.Close)
	if w.queries, err = pgxpool.New(t.Context(), w.database+"&pool_max_conns=2"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.queries.Close)
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.ApplyPolicy(t.Context(), p, "faultkit"); err != nil {
		t.Fatal(err)
	}
	if w.temporal, err = client.DialContext(t.Context(), client.Options{
		HostPort: w.address, Namespace: w.namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: waitTimeout},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.temporal.Close)
	devstacktest.Namespace(t, w.temporal, w.namespace, contract.SearchAttributeNames()...)
	w.pawl = pawl.New(w.temporal, pawl.Options{})
	return w
}

// until waits until holds returns true. what describes the condition.
func (w *world) until(holds func() bool, what string) {
	w.t.Helper()
	if !devstacktest.Eventually(w.t.Context(), waitTimeout, holds) {
		w.t.Fatalf("not in time: %s", what)
	}
}

// invocation returns a call of the tool. id must be unique in the world.
func invocation(id, toolID string, in ledger.In) toolspec.Invocation {
	args, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return toolspec.Invocation{
		ToolID: toolID, ToolCallID: id, Args: args,
		Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: "agent:one"},
	}
}

func (w *world) start(inv toolspec.Invocation) *pawl.Call {
	w.t.Helper()
	call, err := w.pawl.Start(w.t.Context(), inv)
	if err != nil {
		w.t.Fatal(err)
	}
	return call
}

// result waits for the end of a call and returns its result, ok or not.
func (w *world) result(call *pawl.Call) toolspec.Result {
	w.t.Helper()
	r, err := w.ended(call, waitTimeout)
	if err != nil {
		w.t.Fatalf("%s: %v", call.WorkflowID, err)
	}
	return r
}

// ended is like result, for other goroutines of the test.
func (w *world) ended(call *pawl.Call, within time.Duration) (toolspec.Result, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	result, err := w.pawl.Result(ctx, call)
	var ended *pawl.CallError
	if errors.As(err, &ended) {
		return ended.Result, nil
	}
	return result, err
}

func (w *world) record(invocationID string) reads.Detail {
	w.t.Helper()
	detail, err := w.store.Show(w.t.Context(), "acme", invocationID)
	if err != nil {
		w.t.Fatal(err)
	}
	return detail
}

// asked waits until a call waits for an approval, and the task in which it asked has completed.
func (w *world) asked(call *pawl.Call) {
	w.t.Helper()
	w.until(func() bool {
		detail, err := w.store.Show(w.t.Context(), "acme", call.InvocationID)
		return err == nil && detail.Status == toolspec.StatusWaitingApproval && tasksOf(w.history(call.WorkflowID)).completed > 0
	}, call.WorkflowID+" waits for an approval")
}

// approve approves the first request of a call by a signal.
func (w *world) approve(call *pawl.Call) {
	w.t.Helper()
	if err := w.temporal.SignalWorkflow(w.t.Context(), call.WorkflowID, "", toolspec.DecideName, approval(call)); err != nil {
		w.t.Fatal(err)
	}
}

func approval(call *pawl.Call) toolspec.Decision {
	return toolspec.Decision{ApprovalID: toolspec.ApprovalID(call.InvocationID, 1), Decision: toolspec.Approve, Approver: "user:ann"}
}

// history returns the history of the current run.
func (w *world) history(workflowID string) *historypb.History {
	w.t.Helper()
	var h historypb.History
	events := w.temporal.GetWorkflowHistory(w.t.Context(), workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			w.t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	return &h
}

// tasks counts what happened to the workflow tasks and attempts of a run.
type tasks struct {
	completed int
	// lostTasks started and were not answered, or failed. lostAttempts are activities that timed
	// out or failed.
	lostTasks, lostAttempts int
	// again is the number of repeated attempts of local activities within a task.
	again  int
	closed enumspb.EventType
}

func (t tasks) String() string {
	return fmt.Sprintf("%d tasks completed, %d tasks and %d attempts lost, %d steps tried again", t.completed, t.lostTasks, t.lostAttempts, t.again)
}

func tasksOf(h *historypb.History) (t tasks) {
	for _, e := range h.GetEvents() {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			t.completed++
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
			// For a task with several attempts, the history holds only the first and the last.
			t.lostTasks += max(int(e.GetWorkflowTaskScheduledEventAttributes().GetAttempt())-2, 0)
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			t.lostTasks++
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			// With another timeout type the task never started: the server offers it to another
			// worker.
			if e.GetWorkflowTaskTimedOutEventAttributes().GetTimeoutType() == enumspb.TIMEOUT_TYPE_START_TO_CLOSE {
				t.lostTasks++
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
			t.lostAttempts++
		case enumspb.EVENT_TYPE_MARKER_RECORDED:
			t.again += max(historytest.AttemptOf(e)-1, 0)
		default:
		}
	}
	if n := len(h.GetEvents()); n > 0 {
		t.closed = h.GetEvents()[n-1].GetEventType()
	}
	return t
}

// timeline returns the events of a call with their times, to find delays.
func (w *world) timeline(workflowID string) string {
	w.t.Helper()
	var lines []string
	for _, e := range w.history(workflowID).GetEvents() {
		if e.GetEventType() == enumspb.EVENT_TYPE_MARKER_RECORDED {
			continue
		}
		line := e.GetEventTime().AsTime().Format("15:04:05.000 ") + e.GetEventType().String()
		if id := e.GetWorkflowTaskStartedEventAttributes().GetIdentity() + e.GetActivityTaskStartedEventAttributes().GetIdentity(); id != "" {
			line += " by " + id
		}
		if a := e.GetWorkflowTaskTimedOutEventAttributes(); a != nil {
			line += " " + a.GetTimeoutType().String()
		}
		if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil {
			line += " " + a.GetCause().String() + " " + a.GetFailure().GetMessage()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
