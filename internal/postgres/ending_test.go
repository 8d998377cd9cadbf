package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// swept opens a call that has hooks at four closing stages, and sweeps it.
func (b bench) swept(call string) {
	b.t.Helper()
	row := admitRow(call)
	row.Plan.Error = []hook.Step{
		{Stage: "onError", Phase: hook.PhaseError, Hooks: []string{"alarm"}},
		{Stage: "willAudit", Phase: hook.PhaseAudit, Own: "audit", Hooks: []string{"notes"}},
		{Stage: "didAudit", Phase: hook.PhaseAudit, Hooks: []string{"notes"}},
		{Stage: "didReleaseQuota", Phase: hook.PhaseRelease, Hooks: []string{"seats", "licences"}, DurableMs: 9000},
	}
	b.admitted(row)
	if code := b.sweep(call, 1, upkeep.OwnerTerminated, toolspec.CodeCancelled); code != toolspec.CodeCancelled {
		b.t.Fatalf("swept as %s", code)
	}
}

// end runs the closing stages that swept calls still have to run, and returns how many calls ended.
func (b bench) end(hooks upkeep.Hooks) int {
	b.t.Helper()
	b.sql(`UPDATE endings SET due_at = now()`)
	none := ownersFunc(func(string, string) (upkeep.Owner, error) { return upkeep.Owner{Status: upkeep.OwnerRunning}, nil })
	out, err := upkeep.NewSweeper(namespace, b.Store, b.Store, hooks, none, slog.New(slog.DiscardHandler), 400).
		Calls(b.t.Context(), contract.SweepCallsIn{})
	if err != nil {
		b.t.Fatal(err)
	}
	return out.Ended
}

// TestEndings: the hooks of a swept call run after the sweep, stage by stage. A stage runs once, and is tried again only if it could not run. A stage that has
// run does not run again when a later stage could not run. The entries that hooks record are kept.
func TestEndings(t *testing.T) {
	b := open(t)
	b.swept("call_1")
	without := admitRow("without_hooks")
	without.Plan.Error = []hook.Step{{Stage: "willAudit", Phase: hook.PhaseAudit, Own: "audit"}}
	b.admitted(without)
	b.sweep("without_hooks", 1, upkeep.OwnerTerminated, toolspec.CodeCancelled)
	// The entries of another call do not count for this one.
	b.sql(`INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, audit_id, detail)
		SELECT month, 'decision', tenant_id, invocation_id, workflow_id, 'of another call', '{}' FROM invocations WHERE invocation_id = $1`, id("without_hooks"))
	if n := value[int](b, `SELECT count(*)::int FROM endings WHERE due_at BETWEEN now() + interval '5 seconds' AND now() + interval '1 minute'`); n != 1 {
		t.Fatalf("%d calls are left to end once their tools have stopped, want the one with hooks", n)
	}
	var ran []string
	refusals := map[hook.Stage][]func() (hook.Verdict, error){
		"onError": {func() (hook.Verdict, error) { return hook.Verdict{}, errs.Transient(errors.New("the service is away")) }},
		"didReleaseQuota": {
			func() (hook.Verdict, error) { return hook.Verdict{Outcome: hook.Missing, By: "hook licences"}, nil },
			func() (hook.Verdict, error) { return hook.Verdict{Outcome: hook.Missing, By: "plan of version 9"}, nil },
		},
	}
	hooks := func(_ context.Context, in hook.StageInput) (hook.Verdict, error) {
		f := in.Facts
		if f.InvocationID != id("call_1") || f.Context.TenantID != tenant || f.Context.ActorID != "user:ann" || f.Round != 1 || f.Epoch != 2 ||
			f.Failure == nil || f.Failure.Code != toolspec.CodeCancelled || f.ToolID != "core__write_file" || in.PlanVersion != 1 {
			t.Errorf("%s sees %+v", in.Stage, f)
		}
		if refuse := refusals[in.Stage]; len(refuse) > 0 {
			refusals[in.Stage] = refuse[1:]
			return refuse[0]()
		}
		ran = append(ran, fmt.Sprintf("%s %v %d %d", in.Stage, in.Hooks, in.BudgetMs, len(f.AuditIDs)))
		switch in.Stage {
		case "willAudit":
			return hook.Verdict{Delta: hook.Delta{Audit: []hook.AuditEntry{{Kind: "note", Detail: []byte(`{"n":1}`)}, {Kind: "note", Detail: []byte(`{"n":2}`)}}}}, nil
		case "didAudit":
			return hook.Verdict{Notes: []hook.Note{{Hook: "notes", Reason: "failed"}}}, nil
		default:
		}
		return hook.Verdict{}, nil
	}
	for try, want := range []int{0, 0, 0, 1, 0} {
		if n := b.end(hooks); n != want {
			t.Errorf("try %d ended %d calls, want %d", try, n, want)
		}
	}
	if got, want := strings.Join(ran, "\n"), "onError [alarm] 2000 0\nwillAudit [notes] 2000 0\ndidAudit [notes] 2000 2\ndidReleaseQuota [seats licences] 11000 2"; got != want {
		t.Errorf("ran\n%s\nwant\n%s", got, want)
	}
	if got := value[string](b, `SELECT string_agg(stage || ' ' || outcome || coalesce(' ' || (notes -> 0 ->> 'hook'), ''), ', ' ORDER BY seq) FROM stage_events`); got !=
		"onError ok, willAudit ok, didAudit ok notes, didReleaseQuota ok" {
		t.Errorf("recorded are the stages %s", got)
	}
	if got := value[string](b, `SELECT string_agg(audit_id || ' ' || (detail ->> 'n'), ', ' ORDER BY audit_id) FROM events WHERE kind = 'note'`); got !=
		toolspec.AuditID(id("call_1"), 1)+" 1, "+toolspec.AuditID(id("call_1"), 2)+" 2" {
		t.Errorf("recorded are the entries %s", got)
	}
	if n := value[int](b, `SELECT count(*)::int FROM endings`); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// TestEndingsAreGivenUp: the ending of a call whose hooks no worker has is given up after some days, and does not delay the endings of other calls.
func TestEndingsAreGivenUp(t *testing.T) {
	b := open(t)
	b.swept("old")
	b.swept("new")
	b.sql(`UPDATE invocations SET settled_at = now() - interval '8 days' WHERE tool_call_id = 'old'`)
	missing := func(context.Context, hook.StageInput) (hook.Verdict, error) {
		return hook.Verdict{Outcome: hook.Missing, By: "hook alarm"}, nil
	}
	if n := b.end(missing); n != 0 {
		t.Errorf("%d ended", n)
	}
	if got := value[string](b, `SELECT string_agg(tool_call_id || ' ' || tries || ' ' || (due_at > now() + interval '50 seconds'), ', ') FROM endings JOIN invocations USING (invocation_id)`); got != "new 1 true" {
		t.Errorf("left are %s", got)
	}
}

// TestEndingsInTime: a stage that takes longer than its time counts as not run, and is tried again. A call that cannot be read does not delay the endings of
// other calls.
func TestEndingsInTime(t *testing.T) {
	b := open(t)
	b.swept("unreadable")
	b.swept("call_1")
	b.sql(`UPDATE invocations SET result = '{"startedAtMs":"never"}' WHERE tool_call_id = 'unreadable'`)
	slow := true
	ran := 0
	hooks := func(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
		if in.Stage == "onError" && slow {
			slow = false
			<-ctx.Done()
			return hook.Verdict{Notes: []hook.Note{{Hook: "alarm", Reason: "failed"}}}, nil
		}
		ran++
		return hook.Verdict{}, nil
	}
	for try, want := range []int{0, 1} {
		if n := b.end(hooks); n != want {
			t.Errorf("try %d ended %d calls, want %d", try, n, want)
		}
	}
	if ran != 4 {
		t.Errorf("%d stages ran, want 4", ran)
	}
	if got := value[string](b, `SELECT string_agg(tool_call_id || ' ' || tries, ', ') FROM endings JOIN invocations USING (invocation_id)`); got != "unreadable 2" {
		t.Errorf("left are %s", got)
	}
}

// TestEndingsAtOnce: when a sweep is so slow that another sweep takes its call, the slow sweep writes nothing, and the call ends once.
func TestEndingsAtOnce(t *testing.T) {
	b := open(t)
	b.swept("call_1")
	inner := 0
	slow := func(_ context.Context, in hook.StageInput) (hook.Verdict, error) {
		if in.Stage == "willAudit" && inner == 0 {
			inner = b.end(func(context.Context, hook.StageInput) (hook.Verdict, error) { return hook.Verdict{}, nil })
			return hook.Verdict{Delta: hook.Delta{Audit: []hook.AuditEntry{{Kind: "note"}}}}, nil
		}
		return hook.Verdict{}, nil
	}
	if outer := b.end(slow); outer != 0 || inner != 1 {
		t.Errorf("the slow sweep ended %d calls and the other %d", outer, inner)
	}
	if n := value[int](b, `SELECT (SELECT count(*) FROM stage_events) * 10 + (SELECT count(*) FROM events WHERE kind = 'note')`); n != 40 {
		t.Errorf("stages and entries are %d, want 4 and 0", n)
	}
}

// TestEndStageOfAnotherTake: a sweep writes nothing after another sweep has taken its call, also if that other sweep has not run a stage yet.
func TestEndStageOfAnotherTake(t *testing.T) {
	b := open(t)
	b.swept("call_1")
	take := func() upkeep.Ending {
		t.Helper()
		b.sql(`UPDATE endings SET due_at = now()`)
		taken, ok, err := b.TakeEnding(t.Context(), namespace)
		if err != nil || !ok {
			t.Fatalf("%t, %v", ok, err)
		}
		return taken
	}
	slow, other := take(), take()
	b.sql(`UPDATE endings SET due_at = now()`)
	if taken, ok, err := b.TakeEnding(t.Context(), "another"); ok || err != nil {
		t.Errorf("a sweep of another namespace takes %+v, %v", taken, err)
	}
	end := func(by upkeep.Ending, done int) bool {
		t.Helper()
		ended, err := b.EndStage(t.Context(), upkeep.EndedStage{InvocationID: by.InvocationID, Tries: by.Tries, Done: done, Stage: "onError", Outcome: "ok", At: by.SeenAt})
		if err != nil {
			t.Fatal(err)
		}
		return ended
	}
	stages := func() int {
		return value[int](b, `SELECT count(*)::int FROM stage_events WHERE stage = 'onError'`)
	}
	if end(slow, 1) || stages() != 0 {
		t.Errorf("the slow sweep has recorded %d stages", stages())
	}
	if err := b.DropEnding(t.Context(), slow.InvocationID, slow.Tries); err != nil {
		t.Fatal(err)
	}
	if !end(other, 1) || stages() != 1 {
		t.Errorf("the sweep that has the call has recorded %d stages", stages())
	}
	if end(other, 1) || end(other, 3) || stages() != 1 {
		t.Errorf("a stage out of its order was recorded: %d stages", stages())
	}
	backlog, err := b.EndingBacklog(t.Context(), namespace)
	if err != nil || backlog.Calls != 1 || backlog.Tries != 2 || backlog.Since == nil || !backlog.Since.Equal(slow.SettledAt) {
		t.Errorf("left are %+v, %v", backlog, err)
	}
	if backlog, err := b.EndingBacklog(t.Context(), "another"); err != nil || backlog.Calls != 0 || backlog.Since != nil {
		t.Errorf("in another namespace are left %+v, %v", backlog, err)
	}
}
