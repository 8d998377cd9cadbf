package attack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	// victimQueue is the task queue of Pawl.
	victimQueue = "pawl"
	// foreignType is a workflow type of the attacker, and foreignQueue his task queue.
	foreignType  = "Foreign"
	foreignQueue = "foreign"
	// chainType is another, which continues as a workflow of the victim.
	chainType = "Chain"
	// resultType is another, which ends with its input.
	resultType = "Result"
)

// attacker has a plain client of the namespace, and a plain worker on a task queue of his own.
type attacker struct {
	client    client.Client
	namespace string
	mu        sync.Mutex
	// orders are what the attacker's workflows are to schedule, by workflow id, and answers what came of it. They pass through memory, for
	// payloads are to arrive as they were copied.
	orders  map[string][]task
	answers map[string][]answer
}

// task is an activity task that the attacker schedules.
type task struct {
	activity string
	payload  *common.Payload
}

// answer is what came of a task: a payload or an error.
type answer struct {
	payload *common.Payload
	err     error
}

func newAttacker(t *testing.T, address, namespace string) *attacker {
	t.Helper()
	a := &attacker{client: dial(t, address, namespace), namespace: namespace, orders: map[string][]task{}, answers: map[string][]answer{}}
	w := sdkworker.New(a.client, foreignQueue, sdkworker.Options{})
	w.RegisterWorkflowWithOptions(a.foreign, workflow.RegisterOptions{Name: foreignType})
	w.RegisterWorkflowWithOptions(chain, workflow.RegisterOptions{Name: chainType})
	w.RegisterWorkflowWithOptions(func(_ workflow.Context, result converter.RawValue) (converter.RawValue, error) { return result, nil },
		workflow.RegisterOptions{Name: resultType})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return a
}

// foreign schedules the tasks that were ordered on the victim's queue, all at once.
func (a *attacker) foreign(ctx workflow.Context) error {
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	a.mu.Lock()
	tasks := a.orders[id]
	a.mu.Unlock()
	futures := make([]workflow.Future, len(tasks))
	for i, one := range tasks {
		futures[i] = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: victimQueue, StartToCloseTimeout: waitTimeout / 3, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		}), one.activity, converter.NewRawValue(one.payload))
	}
	answers := make([]answer, len(tasks))
	for i, f := range futures {
		var raw converter.RawValue
		answers[i].err = f.Get(ctx, &raw)
		answers[i].payload = raw.Payload()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[id] = answers
	return nil
}

// chain continues as a workflow of the victim, and hands on a last completion result of the attacker's choice: the result of a run is that
// of the next.
func chain(ctx workflow.Context, workflowType string, input, more converter.RawValue) error {
	ctx = workflow.WithWorkflowTaskQueue(ctx, victimQueue)
	if more.Payload() == nil {
		return workflow.NewContinueAsNewError(ctx, workflowType, input)
	}
	return workflow.NewContinueAsNewError(ctx, workflowType, input, more)
}

// schedule has a workflow of the attacker schedule tasks on the victim's queue, and returns what came of each.
func (a *attacker) schedule(t *testing.T, workflowID string, tasks ...task) []answer {
	t.Helper()
	a.mu.Lock()
	a.orders[workflowID] = tasks
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	run, err := a.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: workflowID, TaskQueue: foreignQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, foreignType)
	if err == nil {
		err = run.Get(ctx, nil)
	}
	if err != nil {
		t.Fatalf("the attacker's own workflow: %v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answers[workflowID]
}

// anyID is a workflow id that looks like one of a call of acme, for payloads are sealed for a tenant.
func anyID() string { return "tool:acme:foreign:" + strings.ToLower(rand.Text()) }

// history is what the attacker reads of a workflow.
func (a *attacker) history(t *testing.T, workflowID, runID string) (events []*historypb.HistoryEvent) {
	t.Helper()
	all := a.client.GetWorkflowHistory(t.Context(), workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for all.HasNext() {
		e, err := all.Next()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// scheduled is a regular activity of a history: its id, its input, and its answer where there is one.
type scheduled struct {
	id            string
	input, answer *common.Payload
}

// activities are the regular activities of that name, in order.
func (a *attacker) activities(t *testing.T, workflowID, name string) (found []scheduled) {
	t.Helper()
	byEvent := map[int64]int{}
	for _, e := range a.history(t, workflowID, "") {
		if s := e.GetActivityTaskScheduledEventAttributes(); s.GetActivityType().GetName() == name {
			byEvent[e.GetEventId()] = len(found)
			found = append(found, scheduled{id: s.GetActivityId(), input: s.GetInput().GetPayloads()[0]})
		}
		if done := e.GetActivityTaskCompletedEventAttributes(); done != nil {
			if i, ok := byEvent[done.GetScheduledEventId()]; ok {
				found[i].answer = done.GetResult().GetPayloads()[0]
			}
		}
	}
	return found
}

// running waits until the nth regular activity of that name has begun, and returns it.
func (a *attacker) running(t *testing.T, workflowID, name string, n int) (found scheduled) {
	t.Helper()
	until(t, workflowID+" runs "+name, func() bool {
		d, err := a.client.DescribeWorkflowExecution(t.Context(), workflowID, "")
		if err != nil {
			return false
		}
		all := a.activities(t, workflowID, name)
		for _, p := range d.GetPendingActivities() {
			if p.GetActivityType().GetName() == name && p.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED && len(all) >= n {
				found = all[len(all)-1]
				return found.id == p.GetActivityId()
			}
		}
		return false
	})
	return found
}

// complete answers a running activity in the worker's place.
func (a *attacker) complete(t *testing.T, workflowID, activityID string, p *common.Payload) {
	t.Helper()
	if _, err := a.client.WorkflowService().RespondActivityTaskCompletedById(t.Context(), &workflowservice.RespondActivityTaskCompletedByIdRequest{
		Namespace: a.namespace, WorkflowId: workflowID, ActivityId: activityID, Result: &common.Payloads{Payloads: []*common.Payload{p}}, Identity: "attacker",
	}); err != nil {
		t.Fatal(err)
	}
}

// plain is a payload in clear.
func plain(v any) *common.Payload {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return &common.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: data}
}

// names returns the list in a message of the SDK, in order: `… [a, b]` or `… [a b]`.
func names(message string) []string {
	open, end := strings.LastIndex(message, "["), strings.LastIndex(message, "]")
	if open < 0 || end < open {
		return nil
	}
	found := strings.FieldsFunc(message[open+1:end], func(r rune) bool { return r == ' ' || r == ',' })
	slices.Sort(found)
	return found
}

// message is the text of the innermost failure of a workflow or an activity.
func message(err error) string {
	var failure *temporal.ApplicationError
	if errors.As(err, &failure) {
		return failure.Message()
	}
	return err.Error()
}

// soon is a context for one request.
func soon(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 10*time.Second)
}
