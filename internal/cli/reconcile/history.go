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
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// answerTime bounds one question to Temporal.
	answerTime = 10 * time.Second
	// overMargin is how much later than its time a tool counts as ended.
	overMargin = 10 * time.Second
	// maxDispatch bounds the number of a dispatch. Everybody with access to the namespace can write another one.
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

// outline is what the history of one run says.
type outline struct {
	workflowType string
	// pawls says that the run is on a task queue of Pawl.
	pawls     bool
	startedAt time.Time
	// input is nil if it cannot be decoded.
	input []byte
	// claims are the dispatches that a worker has taken. Dispatches that workers say not to have begun are left out.
	claims []record.LostClaim
	// previous is the run that this one continues, or "".
	previous string
	// asked says that a model was asked for a round of an agent.
	asked bool
	// rounds is the last round of an agent of which the model has responded.
	rounds int
}

// scheduled is an activity that the run has scheduled.
type scheduled struct {
	input     []byte
	budget    time.Duration
	startedAt time.Time
	// number is that of the dispatch. round is that of a question to a model, and 0 for a tool.
	number, round int
	done          bool
}

// describe returns the description of a run, the latest one if runID is empty, or nil if Temporal has none.
func (r reader) describe(ctx context.Context, workflowID, runID string) (*workflow.WorkflowExecutionInfo, []*workflow.PendingActivityInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	d, err := r.temporal.DescribeWorkflowExecution(ctx, workflowID, runID)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil, nil, nil
	}
	return d.GetWorkflowExecutionInfo(), d.GetPendingActivities(), err
}

// read reads the history of a run. found is false if Temporal does not have it.
func (r reader) read(ctx context.Context, workflowID, runID string, pending []*workflow.PendingActivityInfo) (t outline, found bool, err error) {
	began := map[string]time.Time{}
	for _, p := range pending {
		if p.GetLastStartedTime() != nil || p.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			began[p.GetActivityId()] = p.GetLastStartedTime().AsTime()
		}
	}
	byEvent := map[int64]*scheduled{}
	var order []*scheduled
	events := r.temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if errors.As(err, new(*serviceerror.NotFound)) {
			return t, false, nil
		}
		if err != nil {
			return t, false, err
		}
		switch a := e.GetAttributes().(type) {
		case *history.HistoryEvent_MarkerRecordedEventAttributes:
			if claim, ok := r.claimedInTask(a.MarkerRecordedEventAttributes, len(t.claims)+1); ok {
				t.claims = append(t.claims, claim)
			}
		case *history.HistoryEvent_WorkflowExecutionStartedEventAttributes:
			s := a.WorkflowExecutionStartedEventAttributes
			t.workflowType, t.startedAt, t.input = s.GetWorkflowType().GetName(), e.GetEventTime().AsTime(), r.first(s.GetInput()).GetData()
			t.previous = s.GetContinuedExecutionRunId()
			_, t.pawls = toolspec.PoolOf(s.GetTaskQueue().GetName())
		case *history.HistoryEvent_ActivityTaskScheduledEventAttributes:
			s := a.ActivityTaskScheduledEventAttributes
			input := r.first(s.GetInput()).GetData()
			if s.GetActivityType().GetName() == contract.AgentAsk.Name() {
				t.asked = true
				var in contract.AgentAskIn
				if json.Unmarshal(input, &in) == nil {
					byEvent[e.GetEventId()] = &scheduled{round: in.Round}
					t.rounds = max(t.rounds, in.Round-1)
				}
			}
			if s.GetActivityType().GetName() != contract.Execute.Name() {
				continue
			}
			var in contract.ExecuteIn
			if json.Unmarshal(input, &in) != nil || in.Dispatch < 1 || in.Dispatch > maxDispatch {
				in.Dispatch = len(order) + 1
			}
			one := &scheduled{input: input, budget: s.GetStartToCloseTimeout().AsDuration(), startedAt: began[s.GetActivityId()], number: in.Dispatch}
			byEvent[e.GetEventId()], order = one, append(order, one)
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
					t.rounds = max(t.rounds, one.round)
				}
			default:
				claim, answered, err := r.answer(ctx, workflowID, one, a.ActivityTaskCompletedEventAttributes.GetResult())
				if err != nil {
					return t, false, err
				}
				if one.done = answered; answered && claim != "" {
					t.claims = append(t.claims, record.LostClaim{Claim: contract.Claim{Dispatch: one.number, ID: claim}, OverAt: time.Now()})
				}
			}
		}
	}
	for _, one := range order {
		if !one.done && !one.startedAt.IsZero() {
			t.claims = append(t.claims, record.LostClaim{Claim: contract.Claim{Dispatch: one.number, ID: rand.Text()}, OverAt: one.startedAt.Add(one.budget + overMargin)})
		}
	}
	return t, true, nil
}

// claimedInTask returns the claim of an attempt that ran inside a workflow task. Only a worker can write its marker. next is the number of a
// claim whose attempt gave no answer: the marker does not have its own.
func (r reader) claimedInTask(m *history.MarkerRecordedEventAttributes, next int) (claim record.LostClaim, ok bool) {
	var data struct{ ActivityType string }
	if m.GetMarkerName() != localActivity || json.Unmarshal(r.first(m.GetDetails()["data"]).GetData(), &data) != nil || data.ActivityType != contract.Execute.Name() {
		return claim, false
	}
	if m.GetFailure() != nil {
		return record.LostClaim{Claim: contract.Claim{Dispatch: next, ID: rand.Text()}, OverAt: time.Now().Add(toolspec.FastLimit + overMargin)}, true
	}
	var out contract.ExecuteOut
	if json.Unmarshal(r.first(m.GetDetails()["result"]).GetData(), &out) != nil || out.ClaimID == "" || out.Dispatch < 1 || out.Dispatch > maxDispatch {
		return claim, false
	}
	return record.LostClaim{Claim: contract.Claim{Dispatch: out.Dispatch, ID: out.ClaimID}, OverAt: time.Now()}, true
}

// answer returns the claim of an attempt that has answered. answered is false if no worker gave the answer, as far as the record can tell: then
// the attempt counts as one without an answer. Everybody with access to the namespace can complete an activity.
func (r reader) answer(ctx context.Context, workflowID string, of *scheduled, result *common.Payloads) (claim string, answered bool, err error) {
	payload := r.first(result)
	digest := contract.AnswerDigest(contract.Execute.Name(), workflowID, of.input, payload.GetData())
	genuine, err := r.keys.Verify(ctx, digest, contract.ReceiptOf(payload))
	if errors.Is(err, workerkey.ErrSoon) {
		// The keys were read a moment ago, and this one is not among them: it was lost, or somebody made it up.
		return "", false, nil
	}
	if err != nil || !genuine {
		return "", false, err
	}
	var out contract.ExecuteOut
	answered = json.Unmarshal(payload.GetData(), &out) == nil
	return out.ClaimID, answered, nil
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

// each calls visit for every run of a type in visibility, a page at a time.
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
