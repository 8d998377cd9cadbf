package reconcile

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/internal/workerkey"
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
func (r reader) read(ctx context.Context, workflowID, runID string, pending []*workflow.PendingActivityInfo) (o outline, found bool, err error) {
	h := newReading(r, workflowID, pending)
	events := r.temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var last *history.HistoryEvent
	for events.HasNext() {
		e, err := events.Next()
		if errors.As(err, new(*serviceerror.NotFound)) {
			return h.outline, false, nil
		}
		if err == nil {
			err = h.add(ctx, e)
		}
		if err != nil {
			return h.outline, false, err
		}
		last = e
	}
	h.finish(last)
	return h.outline, true, nil
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
