package workflows_test

import (
	"encoding/json"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"

	"github.com/pawl-run/pawl/workflows/historytest"
)

// TestReplayCorpusCanFail: a replay fails if two neighbouring commands of a history are swapped, at every place, or if a step has another name.
func TestReplayCorpusCanFail(t *testing.T) {
	for _, r := range corpus(t) {
		t.Run(r.Name(), func(t *testing.T) {
			t.Parallel()
			planted := 0
			for i := range r.History.GetEvents() {
				if !swappable(r.History.GetEvents(), i) {
					continue
				}
				other := swapped(r.History, i)
				// With the commands swapped back, the history replays. So the replay fails because of the order, and not because of
				// a fault in swapped.
				if planted == 0 {
					if err := historytest.Replay(swapped(other, i)); err != nil {
						t.Fatal(err)
					}
				}
				planted++
				if err := historytest.Replay(other); err == nil {
					t.Errorf("replays with the events %d and %d swapped: %q", i+1, i+2, historytest.Outline(&historypb.History{Events: r.History.GetEvents()[i : i+2]}))
				}
			}
			if planted == 0 && len(historytest.Outline(r.History)) > 2 {
				t.Error("nothing was swapped")
			}
			if err := historytest.Replay(renamed(t, r.History)); err == nil {
				t.Error("replays with its first step renamed")
			}
		})
	}
}

// isCommand reports whether an event records a command of the workflow.
func isCommand(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_MARKER_RECORDED, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
		enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_TIMER_CANCELED, enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
		return true
	default:
		return false
	}
}

// swappable reports whether the events at i and i+1 are two different commands whose order matters.
func swappable(events []*historypb.HistoryEvent, i int) bool {
	if i+1 >= len(events) || !isCommand(events[i]) || !isCommand(events[i+1]) {
		return false
	}
	// The SDK reads the values of side effects by their ids before it runs the workflow task. So the place of a side effect among the
	// markers of a task does not matter.
	isMarker := func(e *historypb.HistoryEvent) bool { return e.GetMarkerRecordedEventAttributes() != nil }
	isSideEffect := func(e *historypb.HistoryEvent) bool {
		return e.GetMarkerRecordedEventAttributes().GetMarkerName() == "MutableSideEffect"
	}
	if isMarker(events[i]) && isMarker(events[i+1]) && (isSideEffect(events[i]) || isSideEffect(events[i+1])) {
		return false
	}
	return events[i].GetEventType() != events[i+1].GetEventType() || historytest.ActivityOf(events[i]) != historytest.ActivityOf(events[i+1])
}

// swapped returns a copy of the history with the commands at i and i+1 swapped. Later events refer to the new ids of the two commands.
func swapped(h *historypb.History, i int) *historypb.History {
	h = proto.CloneOf(h)
	a, b := h.Events[i], h.Events[i+1]
	first, second := a.GetEventId(), b.GetEventId()
	for _, e := range h.Events {
		changeReference(e, func(id *int64) {
			switch *id {
			case first:
				*id = second
			case second:
				*id = first
			}
		})
	}
	a.EventId, b.EventId = second, first
	a.EventTime, b.EventTime = b.EventTime, a.EventTime
	h.Events[i], h.Events[i+1] = b, a
	return h
}

// changeReference calls change with the field of an event that has the id of the command to which the event belongs.
func changeReference(e *historypb.HistoryEvent, change func(*int64)) {
	if a := e.GetTimerFiredEventAttributes(); a != nil {
		change(&a.StartedEventId)
	}
	if a := e.GetTimerCanceledEventAttributes(); a != nil {
		change(&a.StartedEventId)
	}
	if a := e.GetActivityTaskStartedEventAttributes(); a != nil {
		change(&a.ScheduledEventId)
	}
	if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
		change(&a.ScheduledEventId)
	}
	if a := e.GetActivityTaskFailedEventAttributes(); a != nil {
		change(&a.ScheduledEventId)
	}
	if a := e.GetActivityTaskTimedOutEventAttributes(); a != nil {
		change(&a.ScheduledEventId)
	}
	if a := e.GetActivityTaskCancelRequestedEventAttributes(); a != nil {
		change(&a.ScheduledEventId)
	}
	if a := e.GetActivityTaskCanceledEventAttributes(); a != nil {
		change(&a.ScheduledEventId)
	}
}

// renamed returns a copy of the history with the name of another activity in its first marker.
func renamed(t *testing.T, h *historypb.History) *historypb.History {
	t.Helper()
	h = proto.CloneOf(h)
	for _, e := range h.Events {
		marker := e.GetMarkerRecordedEventAttributes()
		if marker == nil {
			continue
		}
		payload := marker.GetDetails()["data"].GetPayloads()[0]
		var data map[string]any
		if err := json.Unmarshal(payload.GetData(), &data); err != nil {
			t.Fatal(err)
		}
		data["ActivityType"] = "anotherStep"
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		payload.Data = text
		return h
	}
	t.Fatal("the history has no local activity")
	return nil
}
