package bench

import (
	"context"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// Names of markers that the Go SDK writes.
const (
	localActivityMarker = "LocalActivity"
	sideEffectMarker    = "SideEffect"
)

// changeVersion is the search attribute that an upsert may change without an action.
const changeVersion = "TemporalChangeVersion"

// billed are the events that are one action of Temporal Cloud each: https://docs.temporal.io/cloud/actions.
var billed = []enumspb.EventType{
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
}

// actionsOf counts the actions of Temporal Cloud of a run. All local activities of a workflow task count as
// one action.
func (s *stand) actionsOf(ctx context.Context, workflowID string) (int64, error) {
	var n int64
	local := false
	events := s.temporal.GetWorkflowHistory(ctx, workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return 0, err
		}
		marker := e.GetMarkerRecordedEventAttributes().GetMarkerName()
		switch {
		case e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			local = false
		case marker == localActivityMarker && !local:
			local = true
			n++
		case marker == sideEffectMarker, slices.Contains(billed, e.GetEventType()), upsertsMore(e):
			n++
		}
	}
	return n, nil
}

// upsertsMore reports whether an event is an upsert of a search attribute other than changeVersion.
func upsertsMore(e *historypb.HistoryEvent) bool {
	for name := range e.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields() {
		if name != changeVersion {
			return true
		}
	}
	return false
}
