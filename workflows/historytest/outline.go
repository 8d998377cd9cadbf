package historytest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
)

// LocalMarker is the name that the Temporal SDK gives the markers of local activities.
const LocalMarker = "LocalActivity"

// Outline returns one line for each event of a history, without ids and times. It leaves
// out workflow tasks, because their number depends on the load of the machine.
func Outline(h *historypb.History) []string {
	var lines []string
	for _, e := range h.GetEvents() {
		if line := outline(e); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// outline returns the line for an event, or an empty string if Outline leaves it out.
func outline(e *historypb.HistoryEvent) string {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_MARKER_RECORDED:
		a := e.GetMarkerRecordedEventAttributes()
		if a.GetMarkerName() != LocalMarker {
			return "marker " + a.GetMarkerName()
		}
		if a.GetFailure() != nil {
			return "local " + ActivityOf(e) + " failed"
		}
		return "local " + ActivityOf(e)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		return "activity " + ActivityOf(e)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		return "activity started"
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		return "activity completed"
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		return "activity failed"
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		return "activity timed out"
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
		return "activity cancel"
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return "activity cancelled"
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		return "timer"
	case enumspb.EVENT_TYPE_TIMER_FIRED:
		return "timer fired"
	case enumspb.EVENT_TYPE_TIMER_CANCELED:
		return "timer cancelled"
	case enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
		return "upsert"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		return "signal " + e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		return "update " + e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetName()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		return "cancel"
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		return "child"
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
		return "child started"
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		return "child completed"
	case enumspb.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
		return "child cancel"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		return "ended " + ending(e)
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return "ended on " + e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetTaskQueue().GetName()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
		enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
		return ""
	default:
		return e.GetEventType().String()
	}
}

// ActivityOf returns the name of the activity that a marker or a scheduled activity
// belongs to. It returns an empty string for other events.
func ActivityOf(e *historypb.HistoryEvent) string {
	if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
		return a.GetActivityType().GetName()
	}
	return local(e).ActivityType
}

// AttemptOf returns the number of the last attempt of the local activity of a marker,
// from 1. It returns 0 for other events.
func AttemptOf(e *historypb.HistoryEvent) int { return local(e).Attempt }

// localData is the part of the data in a marker of a local activity that this package
// reads. The Temporal SDK writes the marker.
type localData struct {
	ActivityType string
	Attempt      int
}

func local(e *historypb.HistoryEvent) (data localData) {
	payloads := e.GetMarkerRecordedEventAttributes().GetDetails()["data"].GetPayloads()
	if len(payloads) == 0 || converter.GetDefaultDataConverter().FromPayload(payloads[0], &data) != nil {
		return localData{}
	}
	return data
}

// ending returns "ok" for a call that succeeded, with a note if its result has both a value and an output. For
// other calls it returns the error code, and for a run of an agent the outcome. It returns "unreadable" if the
// result of the workflow does not decode.
func ending(e *historypb.HistoryEvent) string {
	var result struct {
		OK        bool            `json:"ok"`
		ErrorCode string          `json:"errorCode"`
		Outcome   string          `json:"outcome"`
		Value     json.RawMessage `json:"value"`
		OutputRef string          `json:"outputRef"`
	}
	payloads := e.GetWorkflowExecutionCompletedEventAttributes().GetResult().GetPayloads()
	if len(payloads) != 1 || converter.GetDefaultDataConverter().FromPayload(payloads[0], &result) != nil {
		return "unreadable"
	}
	switch {
	case result.OK && len(result.Value) > 0 && result.OutputRef != "":
		return "ok with a value and an output"
	case result.OK:
		return "ok"
	}
	return cmp.Or(result.ErrorCode, result.Outcome)
}

// Check returns an error if the history does not show the case: a line of Shows is
// missing or out of order, or the workflow is open although the case has ended, or the
// reverse.
func (c Case) Check(h *historypb.History) error {
	lines := Outline(h)
	rest := lines
	for _, want := range c.Shows {
		for len(rest) > 0 && rest[0] != want {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return fmt.Errorf("%q is not there, or not where it belongs, in:\n%s", want, strings.Join(lines, "\n"))
		}
		rest = rest[1:]
	}
	open := len(lines) > 0 && !strings.HasPrefix(lines[len(lines)-1], "ended ")
	if open != c.Waits {
		return fmt.Errorf("open: %t, want %t, after:\n%s", open, c.Waits, strings.Join(lines, "\n"))
	}
	return nil
}
