package e2etest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestReadLane: a fast read is one workflow task, with a named marker for each step and no activity of its own.
func TestReadLane(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(tool("test__read", echo, fast)))
	inv := invocation("read", "test__read", `{"text":"hello"}`)
	id := inv.Identity().WorkflowID()
	wantText(t, w.invoke(inv), "hello")

	h := w.history(id, "")
	anew := count(h, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) // a busy machine was given up on
	for _, e := range h.GetEvents() {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil && ofTheMachine(a) {
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
		got := count(h, kind)
		if kind == enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED {
			got -= anew
		}
		// A task that takes four seconds of its five is made two: the server is told what there is so far.
		inTwo := kind == enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED || kind == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
		if inTwo && took > 3*time.Second && got > want {
			continue
		}
		if got != want {
			t.Errorf("%s: %d times in the history of a read, want %d", kind, got, want)
		}
	}
	want := []marker{
		{"admit", "find or make the record"},
		{"willAuthorize", "willAuthorize: policy, cache"}, // a read might be kept; nothing is asked of the database for it
		{"hydrate", "parse and validate the arguments"},
		{"willCheckConsent", "willCheckConsent: policy"},
		{"execute", "test__read"},
		{"willAudit", "willAudit: audit"},
		{"settle", "write the result"},
	}
	if got := w.markers(h); !slices.Equal(got, want) {
		t.Errorf("markers %v, want %v", got, want)
	}
	wantAttributes(w, id, map[string]string{
		"PawlTenant": "acme", "PawlTool": "test__read", "PawlEffect": "read_only", "PawlStatus": "settled", "PawlOutcome": "ok",
	})
	if got, want := w.summary(w.describe(id).GetExecutionConfig().GetUserMetadata()), "test__read for acme"; got != want {
		t.Errorf("static summary %q, want %q", got, want)
	}
}

// TestWriteLane: an approved write has one activity of its own, and says in every phase where it stands.
func TestWriteLane(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	running, release := make(chan struct{}), make(chan struct{})
	w.work(worker.Tools(tool("test__write", func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		close(running)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return echo(ctx, in, call)
	}, idempotent, risky, within(2*time.Minute))))
	inv := invocation("write", "test__write", `{"text":"hello"}`)
	id := inv.Identity().WorkflowID()
	call := w.start(inv)

	view := w.waiting(id)
	attributes := map[string]string{
		"PawlTenant": "acme", "PawlTool": "test__write", "PawlEffect": "state_change", "PawlStatus": "waiting_approval",
	}
	wantAttributes(w, id, attributes)
	for _, part := range []string{"Waiting for approval", "test__write", view.ApprovalID, view.Digest, actor, "mode auto asks"} {
		if text := w.details(id); !strings.Contains(text, part) {
			t.Errorf("the current details of a waiting call lack %q:\n%s", part, text)
		}
	}
	w.approve(id)
	receive(t, running)
	attributes["PawlStatus"] = "running"
	wantAttributes(w, id, attributes)
	if text := w.details(id); text != "" {
		t.Errorf("a call that does not wait still says:\n%s", text)
	}
	close(release)
	wantText(t, w.result(call), "hello")
	attributes["PawlStatus"], attributes["PawlOutcome"] = "settled", "ok"
	wantAttributes(w, id, attributes)
	if text := w.details(id); text != "" {
		t.Errorf("a settled call still says:\n%s", text)
	}

	h := w.history(id, "")
	if got := activities(h); !slices.Equal(got, []string{"execute"}) {
		t.Errorf("activities %v, want one: execute", got)
	}
	want := []marker{
		{"admit", "find or make the record"},
		{"willAuthorize", "willAuthorize: policy"},
		{"hydrate", "parse and validate the arguments"},
		{"willCheckConsent", "willCheckConsent: policy"},
		{"requestApproval", "open the approval request"},
		{"reviewDecision", "verify a decision"},
		{"willAuthorize", "willAuthorize: policy"},
		{"willCheckConsent", "willCheckConsent: policy"},
		{"willAudit", "willAudit: audit"},
		{"settle", "write the result"},
	}
	if got := w.markers(h); !slices.Equal(got, want) {
		t.Errorf("markers %v, want %v", got, want)
	}
	if got := w.record(inv); len(got.AttemptList) != 1 || got.AttemptList[0].Lane != "regular" || len(got.Claims) != 1 {
		t.Errorf("attempts %+v and claims %+v, want one of each in the regular lane", got.AttemptList, got.Claims)
	}
}

// TestReadThatWaited takes the regular lane, where its approval is consumed by a claim.
func TestReadThatWaited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(tool("test__read", echo, fast, risky)))
	inv := invocation("read", "test__read", `{"text":"hello"}`)
	call := w.start(inv)
	view := w.approve(call.WorkflowID)
	wantText(t, w.result(call), "hello")
	if got := activities(w.history(call.WorkflowID, "")); !slices.Equal(got, []string{"execute"}) {
		t.Errorf("activities %v, want one: execute", got)
	}
	if claims := w.record(inv).Claims; len(claims) != 1 || claims[0].ApprovalID != view.ApprovalID {
		t.Errorf("claims %+v, want one that consumed %s", claims, view.ApprovalID)
	}
}

func wantAttributes(w *world, workflowID string, want map[string]string) {
	w.t.Helper()
	if got := w.attributes(workflowID); !maps.Equal(got, want) {
		w.t.Errorf("search attributes %v, want %v", got, want)
	}
}
