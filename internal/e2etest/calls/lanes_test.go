package calls

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestReadLane: a fast read takes one workflow task, with a named marker for each step and no regular activity.
func TestReadLane(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast)))
	inv := e2etest.Invocation("read", "test__read", `{"text":"hello"}`)
	id := inv.Identity().WorkflowID()
	e2etest.WantText(t, w.Invoke(inv), "hello")

	h := w.History(id, "")
	anew := e2etest.CountEvents(h, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) // tasks that a busy machine did not finish in time
	for _, e := range h.GetEvents() {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil && e2etest.OfTheMachine(a) {
			anew++
		}
	}
	events := h.GetEvents()
	took := events[len(events)-1].GetEventTime().AsTime().Sub(events[0].GetEventTime().AsTime())
	for kind, want := range map[enumspb.EventType]int{
		enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED: 1, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED: 1,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: 0, enumspb.EVENT_TYPE_TIMER_STARTED: 0,
		enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES: 1,
	} {
		got := e2etest.CountEvents(h, kind)
		if kind == enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED {
			got -= anew
		}
		// When a task has taken four of its five seconds, the SDK splits it in two, so that the server gets the markers so far.
		inTwo := kind == enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED || kind == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
		if inTwo && took > 3*time.Second && got > want {
			continue
		}
		if got != want {
			t.Errorf("%s: %d times in the history of a read, want %d", kind, got, want)
		}
	}
	want := []e2etest.Marker{
		{"admit", "find or make the record"},
		{"willAuthorize", "willAuthorize: policy"},
		{"hydrate", "parse and validate the arguments"},
		{"willCheckConsent", "willCheckConsent: policy"},
		{"execute", "test__read"},
		{"willAudit", "willAudit: audit"},
		{"settle", "write the result"},
	}
	if got := w.Markers(h); !slices.Equal(got, want) {
		t.Errorf("markers %v, want %v", got, want)
	}
	wantAttributes(w, id, map[string]string{
		"PawlTenant": "acme", "PawlTool": "test__read", "PawlEffect": "read_only", "PawlStatus": "settled", "PawlOutcome": "ok",
	})
	if got, want := w.Summary(w.Describe(id).GetExecutionConfig().GetUserMetadata()), "test__read for acme"; got != want {
		t.Errorf("static summary %q, want %q", got, want)
	}
}

// TestWriteLane: an approved write has one regular activity, and its state and its search attributes show its phase.
func TestWriteLane(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	running, release := make(chan struct{}), make(chan struct{})
	w.Work(worker.Tools(e2etest.Tool("test__write", func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		close(running)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return e2etest.Echo(ctx, in, call)
	}, e2etest.Idempotent, e2etest.Risky, e2etest.Within(2*time.Minute))))
	inv := e2etest.Invocation("write", "test__write", `{"text":"hello"}`)
	id := inv.Identity().WorkflowID()
	call := w.Start(inv)

	view := w.Waiting(id)
	attributes := map[string]string{
		"PawlTenant": "acme", "PawlTool": "test__write", "PawlEffect": "state_change", "PawlStatus": "waiting_approval",
	}
	wantAttributes(w, id, attributes)
	for _, part := range []string{"Waiting for approval", "test__write", view.ApprovalID, view.Digest, e2etest.Actor, "mode auto asks"} {
		if text := w.Details(id); !strings.Contains(text, part) {
			t.Errorf("the current details of a waiting call lack %q:\n%s", part, text)
		}
	}
	w.Approve(id)
	e2etest.Receive(t, running)
	attributes["PawlStatus"] = "running"
	wantAttributes(w, id, attributes)
	if text := w.Details(id); text != "" {
		t.Errorf("a call that does not wait still says:\n%s", text)
	}
	close(release)
	e2etest.WantText(t, w.Result(call), "hello")
	attributes["PawlStatus"], attributes["PawlOutcome"] = "settled", "ok"
	wantAttributes(w, id, attributes)
	if text := w.Details(id); text != "" {
		t.Errorf("a settled call still says:\n%s", text)
	}

	h := w.History(id, "")
	if got := e2etest.ActivityNames(h); !slices.Equal(got, []string{"execute"}) {
		t.Errorf("activities %v, want one: execute", got)
	}
	want := []e2etest.Marker{
		{"admit", "find or make the record"},
		{"willAuthorize", "willAuthorize: policy"},
		{"hydrate", "parse and validate the arguments"},
		{"willCheckConsent", "willCheckConsent: policy"},
		{"requestApproval", "open the approval request"},
		{"reviewDecision", "verify a decision"},
		{"willAuthorize", "willAuthorize: policy"},
		{"willCheckConsent", "willCheckConsent: policy"},
		{"acceptAnswer", "is it a worker's answer?"},
		{"willAudit", "willAudit: audit"},
		{"settle", "write the result"},
	}
	if got := w.Markers(h); !slices.Equal(got, want) {
		t.Errorf("markers %v, want %v", got, want)
	}
	if got := w.Record(inv); len(got.AttemptList) != 1 || got.AttemptList[0].Lane != "regular" || len(got.Claims) != 1 {
		t.Errorf("attempts %+v and claims %+v, want one of each in the regular lane", got.AttemptList, got.Claims)
	}
}

// TestReadThatWaited: a fast read that waited for an approval runs in the regular lane, where a claim consumes the approval.
func TestReadThatWaited(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast, e2etest.Risky)))
	inv := e2etest.Invocation("read", "test__read", `{"text":"hello"}`)
	call := w.Start(inv)
	view := w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.Result(call), "hello")
	if got := e2etest.ActivityNames(w.History(call.WorkflowID, "")); !slices.Equal(got, []string{"execute"}) {
		t.Errorf("activities %v, want one: execute", got)
	}
	if claims := w.Record(inv).Claims; len(claims) != 1 || claims[0].ApprovalID != view.ApprovalID {
		t.Errorf("claims %+v, want one that consumed %s", claims, view.ApprovalID)
	}
}

func wantAttributes(w *e2etest.World, workflowID string, want map[string]string) {
	w.T.Helper()
	if got := w.Attributes(workflowID); !maps.Equal(got, want) {
		w.T.Errorf("search attributes %v, want %v", got, want)
	}
}
