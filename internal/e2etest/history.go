package e2etest

import (
	"context"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// History returns the whole history of a workflow run. runID "" means the current run.
func (w *World) History(workflowID, runID string) *historypb.History {
	w.T.Helper()
	var h historypb.History
	events := w.Temporal.GetWorkflowHistory(w.T.Context(), workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			w.T.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	return &h
}

// OfTheMachine reports whether a workflow task failed for a reason outside of the workflow: the server sometimes loses a task that only has an
// update, and on a busy machine the SDK takes slow workflow code for a deadlock.
func OfTheMachine(a *historypb.WorkflowTaskFailedEventAttributes) bool {
	message := a.GetFailure().GetMessage()
	return strings.Contains(message, "premature end of stream") || strings.Contains(message, "TMPRL1101")
}

// LostTasks counts the workflow tasks of the current run of a call that timed out or failed, as can happen on a busy machine. The local activities of
// such a task run again.
func (w *World) LostTasks(inv toolspec.Invocation) int {
	w.T.Helper()
	return lostTasks(w.History(inv.Identity().WorkflowID(), ""))
}

func lostTasks(h *historypb.History) (n int) {
	for _, e := range h.GetEvents() {
		// If several tasks in a row are lost, the history has only the first loss, and the attempt of the next task counts all of them.
		n += max(0, int(e.GetWorkflowTaskScheduledEventAttributes().GetAttempt())-1)
	}
	return n
}

// TriedAgain counts the workflow tasks and the local activities of a run that were repeated.
func (w *World) TriedAgain(workflowID, runID string) int {
	w.T.Helper()
	h := w.History(workflowID, runID)
	n := lostTasks(h)
	for _, e := range h.GetEvents() {
		n += max(0, historytest.AttemptOf(e)-1)
	}
	return n
}

// CountEvents counts the events of a kind.
func CountEvents(h *historypb.History, kind enumspb.EventType) int {
	n := 0
	for _, e := range h.GetEvents() {
		if e.GetEventType() == kind {
			n++
		}
	}
	return n
}

// ActivityNames returns the names of the regular activities of a run.
func ActivityNames(h *historypb.History) (names []string) {
	for _, e := range h.GetEvents() {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			names = append(names, a.GetActivityType().GetName())
		}
	}
	return names
}

// localActivity is the name of the markers of local activities. Versions of the workflow code have markers with other names.
const localActivity = "LocalActivity"

// Marker is a local activity as the UI shows it: its name and its summary.
type Marker [2]string

// Markers returns the local activities of a history, in order.
func (w *World) Markers(h *historypb.History) []Marker {
	w.T.Helper()
	var found []Marker
	for _, e := range h.GetEvents() {
		a := e.GetMarkerRecordedEventAttributes()
		if a.GetMarkerName() != localActivity {
			continue
		}
		var data struct{ ActivityType string }
		Decode(w, a.GetDetails()["data"].GetPayloads()[0], &data)
		found = append(found, Marker{data.ActivityType, w.Summary(e.GetUserMetadata())})
	}
	return found
}

// Summary returns the summary in the metadata of an event or a workflow, or "".
func (w *World) Summary(m *sdkpb.UserMetadata) string {
	w.T.Helper()
	var text string
	if m.GetSummary() != nil {
		Decode(w, m.GetSummary(), &text)
	}
	return text
}

// Decode reads a payload into a pointer.
func Decode(w *World, p *common.Payload, to any) {
	w.T.Helper()
	if err := converter.GetDefaultDataConverter().FromPayload(p, to); err != nil {
		w.T.Fatal(err)
	}
}

// Describe returns the description of the current run by the server.
func (w *World) Describe(workflowID string) *workflowservice.DescribeWorkflowExecutionResponse {
	w.T.Helper()
	d, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), workflowID, "")
	if err != nil {
		w.T.Fatal(err)
	}
	return d
}

// Attributes returns the search attributes that Pawl has set for a call.
func (w *World) Attributes(workflowID string) map[string]string {
	w.T.Helper()
	fields := w.Describe(workflowID).GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()
	found := map[string]string{}
	for _, name := range contract.SearchAttributeNames() {
		if p, ok := fields[name]; ok {
			var value string
			Decode(w, p, &value)
			found[name] = value
		}
	}
	return found
}

// Details returns the text that the UI of Temporal shows as the current details of a call.
func (w *World) Details(workflowID string) string {
	w.T.Helper()
	var metadata sdkpb.WorkflowMetadata
	var last error
	w.Until(func() bool {
		ctx, cancel := context.WithTimeout(w.T.Context(), 10*time.Second)
		defer cancel()
		var value converter.EncodedValue
		if value, last = w.Temporal.QueryWorkflow(ctx, workflowID, "", "__temporal_workflow_metadata"); last == nil {
			last = value.Get(&metadata)
		}
		return last == nil
	}, workflowID+" shows its details", &last)
	return metadata.GetCurrentDetails()
}

// SecondsOver returns by how many seconds the time since began is longer than usual. The history may have more events for each of these
// seconds.
func SecondsOver(began time.Time, usual time.Duration) int {
	return max(0, int((time.Since(began) - usual).Seconds()))
}

// BoundedHistory fails if a call has more events than limit: a wait must not fill the history.
func (w *World) BoundedHistory(workflowID string, limit int) {
	w.T.Helper()
	if n := len(w.History(workflowID, "").GetEvents()); n > limit {
		w.T.Errorf("%s has %d events, want at most %d", workflowID, n, limit)
	}
}

// Clipped returns the beginning of a long text.
func Clipped(s string) string { return s[:min(len(s), 200)] }

// WantSound fails unless a call completed and none of its workflow tasks failed.
func (w *World) WantSound(workflowID string) {
	w.T.Helper()
	events := w.History(workflowID, "").GetEvents()
	for _, e := range events {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil && !OfTheMachine(a) {
			w.T.Errorf("%s: a task failed: %s %s", workflowID, a.GetCause(), Clipped(a.GetFailure().GetMessage()))
		}
	}
	if last := events[len(events)-1].GetEventType(); last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED {
		w.T.Errorf("%s ended with %s", workflowID, last)
	}
}

// Replay replays the history of a call with the present workflow code, and fails the test if they do not fit.
func (w *World) Replay(workflowID string) {
	w.T.Helper()
	if err := historytest.Replay(w.History(workflowID, "")); err != nil {
		w.T.Errorf("%s does not replay: %v", workflowID, err)
	}
}

// BeatsWithin waits until the server has got two heartbeats of the only activity of a call within this time.
func (w *World) BeatsWithin(workflowID string, limit time.Duration) {
	w.T.Helper()
	var last time.Time
	w.Until(func() bool {
		pending := w.Describe(workflowID).GetPendingActivities()
		if len(pending) != 1 || pending[0].GetLastHeartbeatTime() == nil {
			return false
		}
		before := last
		last = pending[0].GetLastHeartbeatTime().AsTime()
		return !before.IsZero() && last.After(before) && last.Sub(before) < limit
	}, workflowID+" beats that often")
}
