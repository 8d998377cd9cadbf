package e2etest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/pawl-run/pawl/workflows/historytest"
)

// logTail is how many lines of the log of the worker Unended returns.
const logTail = 40

// Unended says how far a call has come that does not end: the tasks that wait, the events, and the end of the log of the worker. It is for
// the message of a test that fails.
func (w *World) Unended(workflowID string) string {
	w.T.Helper()
	var text strings.Builder
	line := func(format string, of ...any) { fmt.Fprintf(&text, format+"\n", of...) }
	described, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), workflowID, "")
	if err != nil {
		return err.Error()
	}
	if task := described.GetPendingWorkflowTask(); task == nil {
		line("no workflow task waits")
	} else {
		line("a workflow task waits: %s, attempt %d, scheduled %s, started %s", task.GetState(), task.GetAttempt(),
			clock(task.GetScheduledTime().AsTime()), clock(task.GetStartedTime().AsTime()))
	}
	for _, a := range described.GetPendingActivities() {
		line("an activity waits: %s %s, attempt %d", a.GetActivityType().GetName(), a.GetState(), a.GetAttempt())
	}
	events := w.Temporal.GetWorkflowHistory(w.T.Context(), workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			line("%v", err)
			break
		}
		line("%d %s %s", e.GetEventId(), clock(e.GetEventTime().AsTime()), eventLine(e))
	}
	lines := slices.Collect(strings.Lines(w.Log.String()))
	line("the end of the log of the worker, at %s:", clock(time.Now()))
	text.WriteString(strings.Join(lines[max(0, len(lines)-logTail):], ""))
	return text.String()
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// eventLine is a line of historytest.Outline. For events without one it is the type, with what a workflow task failed with.
func eventLine(e *historypb.HistoryEvent) string {
	if lines := historytest.Outline(&historypb.History{Events: []*historypb.HistoryEvent{e}}); len(lines) > 0 {
		return lines[0]
	}
	kind := e.GetEventType().String()
	if failed := e.GetWorkflowTaskFailedEventAttributes(); failed != nil {
		return fmt.Sprintf("%s %s %s", kind, failed.GetCause(), Clipped(failed.GetFailure().GetMessage()))
	}
	if timedOut := e.GetWorkflowTaskTimedOutEventAttributes(); timedOut != nil {
		return fmt.Sprintf("%s %s", kind, timedOut.GetTimeoutType())
	}
	if scheduled := e.GetWorkflowTaskScheduledEventAttributes(); scheduled != nil {
		return fmt.Sprintf("%s attempt %d on %s", kind, scheduled.GetAttempt(), scheduled.GetTaskQueue().GetName())
	}
	return kind
}
