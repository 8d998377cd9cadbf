package reconcile

import (
	"encoding/json"
	"slices"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"

	"github.com/pawl-run/pawl/internal/postgres/record"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// local is a local activity in a history. A nil result means that the activity failed.
type local struct {
	name   string
	result any
}

func admitted(l hook.Lane) local {
	return local{contract.Admit.Name(), contract.AdmitOut{Plan: &hook.Plan{Lane: l}}}
}

func executed(result any) local { return local{contract.Execute.Name(), result} }

// outlineOf returns the outline of a history with the markers of these activities.
func outlineOf(t *testing.T, activities []local) outline {
	t.Helper()
	h := newReading(reader{}, "", nil)
	payloads := func(v any) *common.Payloads {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return &common.Payloads{Payloads: []*common.Payload{{Data: data}}}
	}
	for _, a := range activities {
		m := &history.MarkerRecordedEventAttributes{
			MarkerName: localActivity, Details: map[string]*common.Payloads{"data": payloads(map[string]any{"ActivityType": a.name})},
		}
		if m.Details["result"] = payloads(a.result); a.result == nil {
			m.Failure = &failure.Failure{Message: "timeout"}
			delete(m.Details, "result")
		}
		h.addMarker(m)
	}
	return h.outline
}

// TestMarkers checks the outline of a history with markers of attempts: how many attempts may have run, their claims, and whether an attempt
// without a marker may have followed. Such an attempt needs a fence.
func TestMarkers(t *testing.T) {
	answer := func(n int, id string, o contract.Outcome) contract.ExecuteOut {
		return contract.ExecuteOut{Outcome: o, Dispatch: n, ClaimID: id}
	}
	busy := answer(1, "A", contract.Refused)
	busy.Retryable, busy.NothingHappened = true, true
	denied := answer(1, "A", contract.Refused)
	unsafe := answer(1, "A", contract.Refused)
	unsafe.Retryable = true
	for name, c := range map[string]struct {
		history  []local
		attempts int
		claims   []contract.Claim
		fence    bool
	}{
		"no attempt": {[]local{admitted(hook.ClaimedLane)}, 0, nil, true},
		"nothing happened, so another may follow": {[]local{admitted(hook.ClaimedLane), executed(busy)}, 1, []contract.Claim{{Dispatch: 1, ID: "A"}}, true},
		"a probe may allow another": {
			[]local{admitted(hook.ClaimedLane), executed(answer(1, "A", contract.Interrupted))}, 1, []contract.Claim{{Dispatch: 1, ID: "A"}}, true,
		},
		"the tool has answered": {
			[]local{admitted(hook.ClaimedLane), executed(answer(1, "A", contract.Done))}, 1, []contract.Claim{{Dispatch: 1, ID: "A"}}, false,
		},
		"the tool has answered at last": {
			[]local{admitted(hook.ClaimedLane), executed(busy), executed(answer(2, "B", contract.Done))},
			2, []contract.Claim{{Dispatch: 1, ID: "A"}, {Dispatch: 2, ID: "B"}}, false,
		},
		"the tool has failed":                       {[]local{admitted(hook.ClaimedLane), executed(denied)}, 1, []contract.Claim{{Dispatch: 1, ID: "A"}}, false},
		"the tool has failed, perhaps in the midst": {[]local{admitted(hook.ClaimedLane), executed(unsafe)}, 1, []contract.Claim{{Dispatch: 1, ID: "A"}}, false},
		"no answer": {[]local{admitted(hook.ClaimedLane), executed(nil)}, 1, nil, true},
		"no answer, and then the kept one": {
			[]local{admitted(hook.ClaimedLane), executed(nil), executed(answer(1, "A", contract.Done))}, 2, []contract.Claim{{Dispatch: 1, ID: "A"}}, false,
		},
		"an answer of an unreadable number": {[]local{admitted(hook.ClaimedLane), executed(answer(-1, "A", contract.Interrupted))}, 0, nil, true},
		"a read that gave no answer":        {[]local{admitted(hook.LocalLane), executed(nil)}, 0, nil, true},
		"no answer, of an unknown plan":     {[]local{executed(nil)}, 1, nil, true},
		"an attempt before the claim":       {[]local{admitted(hook.ClaimedLane), executed(contract.ExecuteOut{Outcome: contract.NotHere})}, 0, nil, true},
		"another activity":                  {[]local{admitted(hook.ClaimedLane), {contract.Settle.Name(), nil}, {contract.Check.Name(), answer(1, "A", contract.Done)}}, 0, nil, true},
	} {
		o := outlineOf(t, c.history)
		var claims []contract.Claim
		for _, lost := range o.claims {
			claims = append(claims, lost.Claim)
		}
		if o.attempts() != c.attempts || !slices.Equal(claims, c.claims) {
			t.Errorf("%s: %d attempts with the claims %v, want %d with %v", name, o.attempts(), claims, c.attempts, c.claims)
		}
		older := comparison{older: olderPostgres}
		if got := older.needsFence(record.Dispatched{Claimed: true}, true, o.noMoreAttempts); got != c.fence {
			t.Errorf("%s: it needs a fence: %v", name, got)
		}
	}
}

// TestFences checks which calls need a fence.
func TestFences(t *testing.T) {
	type call struct {
		older          string
		known          record.Dispatched
		running, ended bool
	}
	claimed := record.Dispatched{Claimed: true}
	for name, c := range map[string]struct {
		call
		want bool
	}{
		"claimed lane":                       {call{olderPostgres, claimed, true, false}, true},
		"claimed lane, ended attempts":       {call{olderPostgres, claimed, true, true}, false},
		"claimed lane, ended workflow":       {call{olderPostgres, claimed, false, false}, true},
		"claimed lane, only Temporal older":  {call{olderTemporal, claimed, true, false}, false},
		"claimed lane, both older":           {call{olderBoth, claimed, true, true}, true},
		"claimed lane, repeatable":           {call{olderPostgres, record.Dispatched{Claimed: true, Repeatable: true}, true, false}, false},
		"claimed lane, fenced":               {call{olderPostgres, record.Dispatched{Claimed: true, Fenced: true}, true, false}, false},
		"regular lane":                       {call{olderPostgres, record.Dispatched{}, true, false}, false},
		"regular lane, both older":           {call{olderBoth, record.Dispatched{}, true, false}, true},
		"regular lane, both older and ended": {call{olderBoth, record.Dispatched{}, false, false}, false},
	} {
		older := comparison{older: c.older}
		if got := older.needsFence(c.known, c.running, c.ended); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRechecked: a recheck that no workflow task has read says that the workflow reads its record when workers start.
func TestRechecked(t *testing.T) {
	signal := func(name string) *history.HistoryEvent {
		return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &history.WorkflowExecutionSignaledEventAttributes{SignalName: name},
		}}
	}
	recheck, decide := signal(toolspec.RecheckName), signal(toolspec.DecideName)
	started := &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowTaskStartedEventAttributes{}}
	completed := &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowTaskCompletedEventAttributes{}}
	for name, c := range map[string]struct {
		events []*history.HistoryEvent
		want   bool
	}{
		"none":                         {[]*history.HistoryEvent{started, completed}, false},
		"another signal":               {[]*history.HistoryEvent{decide}, false},
		"not read":                     {[]*history.HistoryEvent{started, completed, recheck, decide}, true},
		"read":                         {[]*history.HistoryEvent{recheck, started, completed}, false},
		"in a task that has not ended": {[]*history.HistoryEvent{recheck, started}, true},
		"a second one":                 {[]*history.HistoryEvent{recheck, started, completed, recheck}, true},
	} {
		h := newReading(reader{}, "", nil)
		for _, e := range c.events {
			if err := h.add(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if h.rechecked != c.want {
			t.Errorf("%s: %v", name, h.rechecked)
		}
	}
}

// TestUnread: an outline says that it does not have what an activity has done whose payload cannot be decrypted.
func TestUnread(t *testing.T) {
	sealed := &common.Payloads{Payloads: []*common.Payload{{Data: []byte("\x00sealed")}}}
	request := &history.HistoryEvent{Attributes: &history.HistoryEvent_ActivityTaskScheduledEventAttributes{
		ActivityTaskScheduledEventAttributes: &history.ActivityTaskScheduledEventAttributes{
			ActivityType: &common.ActivityType{Name: contract.AgentAsk.Name()}, Input: sealed,
		},
	}}
	marker := func(name string) *history.HistoryEvent {
		return &history.HistoryEvent{Attributes: &history.HistoryEvent_MarkerRecordedEventAttributes{
			MarkerRecordedEventAttributes: &history.MarkerRecordedEventAttributes{MarkerName: name, Details: map[string]*common.Payloads{"data": sealed}},
		}}
	}
	for name, c := range map[string]struct {
		event *history.HistoryEvent
		want  bool
	}{
		"a local activity":     {marker(localActivity), true},
		"another marker":       {marker("Version"), false},
		"a request to a model": {request, true},
	} {
		h := newReading(reader{}, "", nil)
		if err := h.add(t.Context(), c.event); err != nil || h.unread != c.want {
			t.Errorf("%s: %v, %v", name, h.unread, err)
		}
	}
	if o := outlineOf(t, []local{admitted(hook.ClaimedLane), executed(nil)}); o.unread {
		t.Error("a history that can be read counts as unread")
	}
}
