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

// waitTimeout is how long a test waits for what takes seconds on a quiet machine.
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

// until polls for a condition.
func (w *world) until(holds func() bool, what string) {
	w.t.Helper()
	if !devstacktest.Eventually(w.t.Context(), waitTimeout, holds) {
		w.t.Fatalf("never: %s", what)
	}
}

// invocation is a call of the tool; its id is unique in its world only.
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

// result waits for how a call ends, with a value or without.
func (w *world) result(call *pawl.Call) toolspec.Result {
	w.t.Helper()
	r, err := w.ended(call, waitTimeout)
	if err != nil {
		w.t.Fatalf("%s: %v", call.WorkflowID, err)
	}
	return r
}

// ended is result for a goroutine of the test.
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

// asked waits until a call has asked, and the task in which it asked is over.
func (w *world) asked(call *pawl.Call) {
	w.t.Helper()
	w.until(func() bool {
		detail, err := w.store.Show(w.t.Context(), "acme", call.InvocationID)
		return err == nil && detail.Status == toolspec.StatusWaitingApproval && tasksOf(w.history(call.WorkflowID)).completed > 0
	}, call.WorkflowID+" waits for an approval")
}

// approve sends the approval of a call's first request as a signal.
func (w *world) approve(call *pawl.Call) {
	w.t.Helper()
	if err := w.temporal.SignalWorkflow(w.t.Context(), call.WorkflowID, "", toolspec.DecideName, approval(call)); err != nil {
		w.t.Fatal(err)
	}
}

func approval(call *pawl.Call) toolspec.Decision {
	return toolspec.Decision{ApprovalID: toolspec.ApprovalID(call.InvocationID, 1), Decision: toolspec.Approve, Approver: "user:ann"}
}

// history is everything that Temporal keeps of the current run.
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

// tasks is what became of the steps of a run on their way to workers.
type tasks struct {
	completed int
	// lostTasks were begun and not answered, or failed; lostAttempts are activities.
	lostTasks, lostAttempts int
	// again are the local activities that were tried once more within their task.
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
			// Of a task that is tried again only the first and the last try are in the history.
			t.lostTasks += max(int(e.GetWorkflowTaskScheduledEventAttributes().GetAttempt())-2, 0)
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			t.lostTasks++
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			// Else it was never begun: the server asks another worker than the last one.
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

// timeline is when what happened to a call, for a person who looks for where the time went.
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
