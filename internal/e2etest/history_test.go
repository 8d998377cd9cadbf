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
	"github.com/pawl-run/pawl/workflows"
	"github.com/pawl-run/pawl/workflows/historytest"
)

// history is everything that Temporal keeps of a run; runID "" means the current one.
func (w *world) history(workflowID, runID string) *historypb.History {
	w.t.Helper()
	var h historypb.History
	events := w.temporal.GetWorkflowHistory(w.t.Context(), workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			w.t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	return &h
}

// ofTheMachine says that a task failed by no fault of the workflow: the server sometimes forgets a task that only brought an update, and
// its worker notices; a machine under load may not run a workflow for a second.
func ofTheMachine(a *historypb.WorkflowTaskFailedEventAttributes) bool {
	message := a.GetFailure().GetMessage()
	return strings.Contains(message, "premature end of stream") || strings.Contains(message, "TMPRL1101")
}

// lostTasks counts the workflow tasks of a call's current run that a machine under load lost: each is made anew, with what it had done and the
// server had not heard of.
func (w *world) lostTasks(inv toolspec.Invocation) int {
	w.t.Helper()
	return lostTasks(w.history(inv.Identity().WorkflowID(), ""))
}

func lostTasks(h *historypb.History) (n int) {
	for _, e := range h.GetEvents() {
		// Of several losses in a row the history has only the first.
		n += max(0, int(e.GetWorkflowTaskScheduledEventAttributes().GetAttempt())-1)
	}
	return n
}

// triedAgain counts what a run has done once more: workflow tasks that were lost, and steps within them that were not answered in time.
func (w *world) triedAgain(workflowID, runID string) int {
	w.t.Helper()
	h := w.history(workflowID, runID)
	n := lostTasks(h)
	for _, e := range h.GetEvents() {
		n += max(0, historytest.AttemptOf(e)-1)
	}
	return n
}

func count(h *historypb.History, kind enumspb.EventType) int {
	n := 0
	for _, e := range h.GetEvents() {
		if e.GetEventType() == kind {
			n++
		}
	}
	return n
}

// activities names the regular activities of a run.
func activities(h *historypb.History) (names []string) {
	for _, e := range h.GetEvents() {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			names = append(names, a.GetActivityType().GetName())
		}
	}
	return names
}

// marker is a local activity as the UI shows it.
type marker struct{ name, summary string }

func (w *world) markers(h *historypb.History) []marker {
	w.t.Helper()
	var found []marker
	for _, e := range h.GetEvents() {
		a := e.GetMarkerRecordedEventAttributes()
		if a == nil {
			continue
		}
		var data struct{ ActivityType string }
		decode(w, a.GetDetails()["data"].GetPayloads()[0], &data)
		found = append(found, marker{data.ActivityType, w.summary(e.GetUserMetadata())})
	}
	return found
}

func (w *world) summary(m *sdkpb.UserMetadata) string {
	w.t.Helper()
	var text string
	if m.GetSummary() != nil {
		decode(w, m.GetSummary(), &text)
	}
	return text
}

func decode(w *world, p *common.Payload, to any) {
	w.t.Helper()
	if err := converter.GetDefaultDataConverter().FromPayload(p, to); err != nil {
		w.t.Fatal(err)
	}
}

// describe is what the server says of the current run.
func (w *world) describe(workflowID string) *workflowservice.DescribeWorkflowExecutionResponse {
	w.t.Helper()
	d, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), workflowID, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// attributes are Pawl's search attributes of a call.
func (w *world) attributes(workflowID string) map[string]string {
	w.t.Helper()
	fields := w.describe(workflowID).GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()
	found := map[string]string{}
	for _, name := range workflows.SearchAttributeNames() {
		if p, ok := fields[name]; ok {
			var value string
			decode(w, p, &value)
			found[name] = value
		}
	}
	return found
}

// details is the text that the UI shows as a call's current details.
func (w *world) details(workflowID string) string {
	w.t.Helper()
	var metadata sdkpb.WorkflowMetadata
	var last error
	w.until(func() bool {
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		defer cancel()
		var value converter.EncodedValue
		if value, last = w.temporal.QueryWorkflow(ctx, workflowID, "", "__temporal_workflow_metadata"); last == nil {
			last = value.Get(&metadata)
		}
		return last == nil
	}, workflowID+" shows its details", &last)
	return metadata.GetCurrentDetails()
}
