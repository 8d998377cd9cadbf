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
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/internal/postgres/record"
	"github.com/pawl-run/pawl/internal/workerkey"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// answerTime bounds one request to Temporal.
	answerTime = 10 * time.Second
	// overMargin is added to the time budget of a tool: after both, the tool counts as ended.
	overMargin = 10 * time.Second
	// maxDispatch bounds the number of a dispatch: everybody with access to the namespace can write any number into a history.
	maxDispatch = 100_000
	// localActivity is the name of the markers that the SDK writes for local activities.
	localActivity = "LocalActivity"
)

// reader reads histories.
type reader struct {
	temporal temporal.Client
	codec    converter.PayloadCodec
	keys     *workerkey.Ring
}

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

// describe returns the state and the pending activities of a run, or of the latest run if runID is empty. It returns nil if Temporal has no such run.
func (r reader) describe(ctx context.Context, workflowID, runID string) (*workflow.WorkflowExecutionInfo, []*workflow.PendingActivityInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	d, err := r.temporal.DescribeWorkflowExecution(ctx, workflowID, runID)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil, nil, nil
	}
	return d.GetWorkflowExecutionInfo(), d.GetPendingActivities(), err
}

// read reads the history of a run, and returns its outline. pending has the activities of the run that have not ended:
// the history does not show whether they have started. found is false if Temporal does not have the history.
func (r reader) read(ctx context.Context, workflowID, runID string, pending []*workflow.PendingActivityInfo) (t outline, found bool, err error) {
	pendingSince := map[string]time.Time{}
	for _, p := range pending {
		if p.GetLastStartedTime() != nil || p.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			pendingSince[p.GetActivityId()] = p.GetLastStartedTime().AsTime()
		}
	}
	byEvent := map[int64]*scheduled{}
	fail := func(scheduledBy int64) {
		if one := byEvent[scheduledBy]; one != nil {
			one.failed = true
		}
	}
	var attempts []*scheduled
	var last *history.HistoryEvent
	events := r.temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if errors.As(err, new(*serviceerror.NotFound)) {
			return t, false, nil
		}
		if err != nil {
			return t, false, err
		}
		last = e
		switch a := e.GetAttributes().(type) {
		case *history.HistoryEvent_WorkflowTaskStartedEventAttributes:
			t.taskUnfinished = true
		case *history.HistoryEvent_WorkflowTaskCompletedEventAttributes:
			t.taskUnfinished = false
		case *history.HistoryEvent_MarkerRecordedEventAttributes:
			r.addMarker(&t, a.MarkerRecordedEventAttributes)
		case *history.HistoryEvent_WorkflowExecutionStartedEventAttributes:
			s := a.WorkflowExecutionStartedEventAttributes
			t.workflowType, t.startedAt, t.input = s.GetWorkflowType().GetName(), e.GetEventTime().AsTime(), r.first(s.GetInput()).GetData()
			t.previous = s.GetContinuedExecutionRunId()
			_, t.onPawlQueue = toolspec.PoolOf(s.GetTaskQueue().GetName())
		case *history.HistoryEvent_ActivityTaskScheduledEventAttributes:
			s := a.ActivityTaskScheduledEventAttributes
			input := r.first(s.GetInput()).GetData()
			if s.GetActivityType().GetName() == contract.AgentAsk.Name() {
				t.askedModel = true
				var in contract.AgentAskIn
				if json.Unmarshal(input, &in) == nil {
					byEvent[e.GetEventId()] = &scheduled{round: in.Round}
					t.lastRound = max(t.lastRound, in.Round-1)
				}
			}
			if s.GetActivityType().GetName() != contract.Execute.Name() {
				continue
			}
			var in contract.ExecuteIn
			if json.Unmarshal(input, &in) != nil || in.Dispatch < 1 || in.Dispatch > maxDispatch {
				in.Dispatch = len(attempts) + 1
			}
			one := &scheduled{input: input, budget: s.GetStartToCloseTimeout().AsDuration(), startedAt: pendingSince[s.GetActivityId()], dispatch: in.Dispatch}
			byEvent[e.GetEventId()], attempts = one, append(attempts, one)
		case *history.HistoryEvent_ActivityTaskStartedEventAttributes:
			if one := byEvent[a.ActivityTaskStartedEventAttributes.GetScheduledEventId()]; one != nil {
				one.startedAt = e.GetEventTime().AsTime()
			}
		case *history.HistoryEvent_ActivityTaskCompletedEventAttributes:
			one := byEvent[a.ActivityTaskCompletedEventAttributes.GetScheduledEventId()]
			switch {
			case one == nil:
			case one.round > 0:
				var out contract.AgentAskOut
				if json.Unmarshal(r.first(a.ActivityTaskCompletedEventAttributes.GetResult()).GetData(), &out) != nil || out.Fault == nil {
					t.lastRound = max(t.lastRound, one.round)
				}
			default:
				out, answered, err := r.answer(ctx, workflowID, one, a.ActivityTaskCompletedEventAttributes.GetResult())
				if err != nil {
					return t, false, err
				}
				if one.answered = answered; answered && out.ClaimID != "" {
					t.claims = append(t.claims, record.LostClaim{Claim: contract.Claim{Dispatch: one.dispatch, ID: out.ClaimID}, OverAt: time.Now()})
				}
				t.noMoreAttempts = answered && endsAttempts(out)
			}
		case *history.HistoryEvent_ActivityTaskFailedEventAttributes:
			fail(a.ActivityTaskFailedEventAttributes.GetScheduledEventId())
		case *history.HistoryEvent_ActivityTaskTimedOutEventAttributes:
			fail(a.ActivityTaskTimedOutEventAttributes.GetScheduledEventId())
		case *history.HistoryEvent_ActivityTaskCanceledEventAttributes:
			fail(a.ActivityTaskCanceledEventAttributes.GetScheduledEventId())
		}
	}
	for _, one := range attempts {
		// Temporal writes the start of an activity into the history when the activity ends. If the run ended before,
		// for example by a reset, the activity may have started.
		if !one.answered && !one.failed && one.startedAt.IsZero() && isEnd(last) {
			one.startedAt = last.GetEventTime().AsTime()
		}
		if !one.answered && !one.startedAt.IsZero() {
			t.claims = append(t.claims, record.LostClaim{Claim: contract.Claim{Dispatch: one.dispatch, ID: rand.Text()}, OverAt: one.startedAt.Add(one.budget + overMargin)})
		}
	}
	return t, true, nil
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

// addMarker adds to t what the marker of a local activity says: the lane of the call, or a claim. It asks for no
// receipt of a worker: a program that can write a marker polls the task queue, so it could also complete the workflow.
func (r reader) addMarker(t *outline, m *history.MarkerRecordedEventAttributes) {
	var data struct{ ActivityType string }
	if m.GetMarkerName() != localActivity || json.Unmarshal(r.first(m.GetDetails()["data"]).GetData(), &data) != nil {
		return
	}
	result := r.first(m.GetDetails()["result"]).GetData()
	switch data.ActivityType {
	case contract.Admit.Name():
		var out contract.AdmitOut
		if json.Unmarshal(result, &out) == nil && out.Plan != nil {
			t.lane = out.Plan.Lane
		}
	case contract.Execute.Name():
		var out contract.ExecuteOut
		switch {
		case m.GetFailure() != nil && t.lane != hook.LocalLane:
			t.unanswered++
		case json.Unmarshal(result, &out) == nil && out.ClaimID != "" && out.Dispatch >= 1 && out.Dispatch <= maxDispatch:
			t.claims = append(t.claims, record.LostClaim{Claim: contract.Claim{Dispatch: out.Dispatch, ID: out.ClaimID}, OverAt: time.Now()})
		}
		t.noMoreAttempts = endsAttempts(out)
	}
}

// endsAttempts reports whether out is the answer of the last attempt of a call whose tool must not be repeated.
func endsAttempts(out contract.ExecuteOut) bool {
	return out.Outcome == contract.Done || out.Outcome == contract.Refused && (!out.Retryable || !out.NothingHappened)
}

// answer returns the answer of an attempt. answered is false if the answer has no valid receipt of a worker: everybody
// with access to the namespace can complete an activity. The caller then takes the attempt for one without an answer.
func (r reader) answer(ctx context.Context, workflowID string, of *scheduled, result *common.Payloads) (out contract.ExecuteOut, answered bool, err error) {
	payload := r.first(result)
	digest := contract.AnswerDigest(contract.Execute.Name(), workflowID, of.input, payload.GetData())
	genuine, err := r.keys.Verify(ctx, digest, contract.ReceiptOf(payload))
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

// first returns the first payload, decrypted, or nil if there is none or its key is missing.
func (r reader) first(p *common.Payloads) *common.Payload {
	list := p.GetPayloads()
	if len(list) == 0 {
		return nil
	}
	if r.codec == nil {
		return list[0]
	}
	decoded, err := r.codec.Decode(list[:1])
	if err != nil || len(decoded) != 1 {
		return nil
	}
	return decoded[0]
}

// each calls visit with the runs that the visibility query lists, one page at a time.
func (c *comparison) each(ctx context.Context, query string, visit func(ctx context.Context, page []*workflow.WorkflowExecutionInfo) error) error {
	var token []byte
	for {
		listed, err := c.list(ctx, query, token)
		if err != nil {
			return err
		}
		if err := visit(ctx, listed.GetExecutions()); err != nil {
			return err
		}
		if token = listed.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}
