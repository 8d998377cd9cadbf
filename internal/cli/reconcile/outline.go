package reconcile

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"

	"github.com/pawl-run/pawl/internal/postgres/record"
	"github.com/pawl-run/pawl/internal/workerkey"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// outline has the facts that the history of one run shows.
type outline struct {
	workflowType string
	// onPawlQueue says that the run is on a task queue of Pawl.
	onPawlQueue bool
	startedAt   time.Time
	// input is nil if it cannot be decoded.
	input []byte
	// claims has a claim for each dispatch whose tool may have run. It has none for a dispatch of which a worker has
	// answered that the tool did not begin.
	claims []record.LostClaim
	// unanswered counts the attempts in the claimed lane that gave no answer. The history has only a marker of such an
	// attempt, without its claim.
	unanswered int
	// lane is the lane of the plan of the call, or "" if the history has no plan.
	lane hook.Lane
	// taskUnfinished says that a worker has begun a workflow task that did not complete.
	taskUnfinished bool
	// noMoreAttempts says that no other attempt of the call follows the last attempt in the history, provided that its
	// tool must not be repeated.
	noMoreAttempts bool
	// rechecked says that a recheck has arrived that no workflow task has read: the workflow reads its record as soon as a worker runs it.
	rechecked bool
	// unread says that an activity in the history cannot be decrypted, so that the outline does not have what the activity has done.
	unread bool
	// previous is the id of the Temporal run that continued as new in this run, or "".
	previous string
	// askedModel says that the run of an agent has sent a request to a model.
	askedModel bool
	// lastRound is the last round of the run of an agent in which the model has responded.
	lastRound int
}

// attempts returns how many attempts in the history may have run.
func (t outline) attempts() int { return len(t.claims) + t.unanswered }

// scheduled is an activity that the run has scheduled.
type scheduled struct {
	input     []byte
	budget    time.Duration
	startedAt time.Time
	// dispatch is the number of the dispatch if the activity runs a tool.
	dispatch int
	// round is the round of the agent if the activity is a request to a model, and 0 if it runs a tool.
	round int
	// answered says that the activity has ended with an answer of a worker.
	answered bool
	// failed says that the activity has ended without an answer.
	failed bool
}

// reading is the outline of a history that is not read to its end yet.
type reading struct {
	outline
	reader
	workflowID string
	// pendingSince has the time of the last start of each activity that has not ended, by its id.
	pendingSince map[string]time.Time
	// byEvent has the requests to a model and the attempts, by the number of the event that scheduled them.
	byEvent map[int64]*scheduled
	// executions has the activities that run the tool, in the order of the history.
	executions []*scheduled
}

func newReading(r reader, workflowID string, pending []*workflow.PendingActivityInfo) *reading {
	h := &reading{reader: r, workflowID: workflowID, pendingSince: map[string]time.Time{}, byEvent: map[int64]*scheduled{}}
	for _, p := range pending {
		if p.GetLastStartedTime() != nil || p.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			h.pendingSince[p.GetActivityId()] = p.GetLastStartedTime().AsTime()
		}
	}
	return h
}

// add adds to the outline what an event says.
func (h *reading) add(ctx context.Context, e *history.HistoryEvent) error {
	switch a := e.GetAttributes().(type) {
	case *history.HistoryEvent_WorkflowExecutionStartedEventAttributes:
		started := a.WorkflowExecutionStartedEventAttributes
		h.workflowType, h.startedAt, h.input = started.GetWorkflowType().GetName(), e.GetEventTime().AsTime(), h.first(started.GetInput()).GetData()
		h.previous = started.GetContinuedExecutionRunId()
		_, h.onPawlQueue = toolspec.PoolOf(started.GetTaskQueue().GetName())
	case *history.HistoryEvent_WorkflowTaskStartedEventAttributes:
		h.taskUnfinished = true
	case *history.HistoryEvent_WorkflowTaskCompletedEventAttributes:
		h.taskUnfinished, h.rechecked = false, false
	case *history.HistoryEvent_WorkflowExecutionSignaledEventAttributes:
		h.rechecked = h.rechecked || a.WorkflowExecutionSignaledEventAttributes.GetSignalName() == toolspec.RecheckName
	case *history.HistoryEvent_MarkerRecordedEventAttributes:
		h.addMarker(a.MarkerRecordedEventAttributes)
	case *history.HistoryEvent_ActivityTaskScheduledEventAttributes:
		h.addScheduled(e.GetEventId(), a.ActivityTaskScheduledEventAttributes)
	case *history.HistoryEvent_ActivityTaskStartedEventAttributes:
		if one := h.byEvent[a.ActivityTaskStartedEventAttributes.GetScheduledEventId()]; one != nil {
			one.startedAt = e.GetEventTime().AsTime()
		}
	case *history.HistoryEvent_ActivityTaskCompletedEventAttributes:
		return h.addCompleted(ctx, a.ActivityTaskCompletedEventAttributes)
	case *history.HistoryEvent_ActivityTaskFailedEventAttributes:
		h.addFailed(a.ActivityTaskFailedEventAttributes.GetScheduledEventId())
	case *history.HistoryEvent_ActivityTaskTimedOutEventAttributes:
		h.addFailed(a.ActivityTaskTimedOutEventAttributes.GetScheduledEventId())
	case *history.HistoryEvent_ActivityTaskCanceledEventAttributes:
		h.addFailed(a.ActivityTaskCanceledEventAttributes.GetScheduledEventId())
	}
	return nil
}

// finish adds to the outline a claim for each attempt that may have run and gave no answer. last is the last event.
func (h *reading) finish(last *history.HistoryEvent) {
	for _, one := range h.executions {
		// Temporal writes the start of an activity into the history when the activity ends. If the run ended before,
		// for example by a reset, the activity may have started.
		if !one.answered && !one.failed && one.startedAt.IsZero() && isEnd(last) {
			one.startedAt = last.GetEventTime().AsTime()
		}
		if !one.answered && !one.startedAt.IsZero() {
			h.addClaim(one.dispatch, rand.Text(), one.startedAt.Add(one.budget+overMargin))
		}
	}
}

func (h *reading) addClaim(dispatch int, id string, overAt time.Time) {
	h.claims = append(h.claims, record.LostClaim{Claim: contract.Claim{Dispatch: dispatch, ID: id}, OverAt: overAt})
}

// isEnd reports whether an event ends its run.
func isEnd(e *history.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	default:
		return false
	}
}

// addMarker adds to the outline what the marker of a local activity says: the lane of the call, or a claim. It asks for no
// receipt of a worker: a program that can write a marker polls the task queue, so it could also complete the workflow.
func (h *reading) addMarker(m *history.MarkerRecordedEventAttributes) {
	var data struct{ ActivityType string }
	if m.GetMarkerName() != localActivity {
		return
	}
	if json.Unmarshal(h.first(m.GetDetails()["data"]).GetData(), &data) != nil {
		h.unread = true
		return
	}
	result := h.first(m.GetDetails()["result"]).GetData()
	switch data.ActivityType {
	case contract.Admit.Name():
		var out contract.AdmitOut
		if json.Unmarshal(result, &out) == nil && out.Plan != nil {
			h.lane = out.Plan.Lane
		}
	case contract.Execute.Name():
		var out contract.ExecuteOut
		switch {
		case m.GetFailure() != nil && h.lane != hook.LocalLane:
			h.unanswered++
		case json.Unmarshal(result, &out) == nil && out.ClaimID != "" && out.Dispatch >= 1 && out.Dispatch <= maxDispatch:
			h.addClaim(out.Dispatch, out.ClaimID, time.Now())
		}
		h.noMoreAttempts = endsAttempts(out)
	}
}

// addScheduled takes up a request to a model or an attempt, and no other activity.
func (h *reading) addScheduled(event int64, s *history.ActivityTaskScheduledEventAttributes) {
	input := h.first(s.GetInput()).GetData()
	switch s.GetActivityType().GetName() {
	case contract.AgentAsk.Name():
		h.askedModel = true
		var in contract.AgentAskIn
		if json.Unmarshal(input, &in) != nil {
			h.unread = true
			return
		}
		h.byEvent[event] = &scheduled{round: in.Round}
		h.lastRound = max(h.lastRound, in.Round-1)
	case contract.Execute.Name():
		var in contract.ExecuteIn
		if json.Unmarshal(input, &in) != nil || in.Dispatch < 1 || in.Dispatch > maxDispatch {
			in.Dispatch = len(h.executions) + 1
		}
		one := &scheduled{input: input, budget: s.GetStartToCloseTimeout().AsDuration(), startedAt: h.pendingSince[s.GetActivityId()], dispatch: in.Dispatch}
		h.byEvent[event], h.executions = one, append(h.executions, one)
	}
}

func (h *reading) addCompleted(ctx context.Context, c *history.ActivityTaskCompletedEventAttributes) error {
	one := h.byEvent[c.GetScheduledEventId()]
	switch {
	case one == nil:
		return nil
	case one.round > 0:
		var out contract.AgentAskOut
		if json.Unmarshal(h.first(c.GetResult()).GetData(), &out) != nil || out.Fault == nil {
			h.lastRound = max(h.lastRound, one.round)
		}
		return nil
	}
	out, answered, err := h.answer(ctx, one, c.GetResult())
	if err != nil {
		return err
	}
	if one.answered = answered; answered && out.ClaimID != "" {
		h.addClaim(one.dispatch, out.ClaimID, time.Now())
	}
	h.noMoreAttempts = answered && endsAttempts(out)
	return nil
}

func (h *reading) addFailed(scheduledBy int64) {
	if one := h.byEvent[scheduledBy]; one != nil {
		one.failed = true
	}
}

// endsAttempts reports whether out is the answer of the last attempt of a call whose tool must not be repeated.
func endsAttempts(out contract.ExecuteOut) bool {
	return out.Outcome == contract.Done || out.Outcome == contract.Refused && (!out.Retryable || !out.NothingHappened)
}

// answer returns the answer of an attempt. answered is false if the answer has no valid receipt of a worker: everybody
// with access to the namespace can complete an activity. The caller then takes the attempt for one without an answer.
func (h *reading) answer(ctx context.Context, of *scheduled, result *common.Payloads) (out contract.ExecuteOut, answered bool, err error) {
	payload := h.first(result)
	digest := contract.AnswerDigest(contract.Execute.Name(), h.workflowID, of.input, payload.GetData())
	genuine, err := h.keys.Verify(ctx, digest, contract.ReceiptOf(payload))
	if errors.Is(err, workerkey.ErrSoon) {
		// The keys were read a moment ago, and the key of this receipt is not among them: the key was lost, or somebody made it up.
		return out, false, nil
	}
	if err != nil || !genuine {
		return out, false, err
	}
	answered = json.Unmarshal(payload.GetData(), &out) == nil
	return out, answered, nil
}
