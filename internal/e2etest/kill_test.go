package e2etest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

const waysPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*", "test__*"]
    mode: auto
    limits:
      - {tool: test__place, concurrent: 1, then: wait}
      - {tool: test__token, quota: {tokens: 1, every: 10m}, then: wait}
    approvals: {enabled: true, expiresAfter: 1h, parkUnknown: 1h, allowUnsigned: true}
`

func (w *world) killOn(scope postgres.KillScope) postgres.KillSwitch {
	w.t.Helper()
	k, err := w.store.KillOn(w.t.Context(), scope, "the vendor is down", "user:ops")
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

// postpone makes the second scan of every change due in an hour.
func (w *world) postpone() {
	w.t.Helper()
	for _, sql := range []string{
		`CREATE FUNCTION postpone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.due_at := now() + interval ''1 hour''; RETURN NEW; END'`,
		`CREATE TRIGGER postpone BEFORE INSERT ON rechecks FOR EACH ROW EXECUTE FUNCTION postpone()`,
	} {
		query[string](w, sql)
	}
}

// TestChangeReachesWaits: calls that wait in every way hear of a change that denies them, and end by it within seconds; what runs goes on,
// and what may have happened stays unknown.
func TestChangeReachesWaits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"policy": func(w *world) {
			w.apply(strings.Replace(waysPolicy, `["core__*", "test__*"]`, `["core__*"]`, 1))
		},
		"kill switch": func(w *world) { w.killOn(postgres.KillScope{TenantID: "acme", Tool: "test__*"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, waysPolicy)
			var effects ledger
			var late atomic.Int64
			place, running := newHung(), newHung()
			defer close(place.release)
			w.work(worker.Tools(
				tool("test__asks", effects.counted(echo), once, risky),
				tool("test__place", place.run, within(2*time.Minute)),
				tool("test__token", effects.counted(echo)),
				tool("test__retries", func(context.Context, in, toolspec.Call) (out, error) {
					late.Add(1)
					return out{}, toolspec.RetryAfter(5*time.Minute, "not now")
				}, attempts(3)),
				tool("test__runs", running.run, once, within(2*time.Minute)),
				tool("test__lost", func(ctx context.Context, _ in, _ toolspec.Call) (out, error) {
					<-ctx.Done()
					return out{}, ctx.Err()
				}, once, within(time.Second)),
			))
			begin := func(id, toolID string) *pawl.Call { return w.start(invocation(id, toolID, `{"text":"hello"}`)) }
			asks := begin("asks", "test__asks")
			w.waiting(asks.WorkflowID)
			begin("holder", "test__place")
			receive(t, place.entered)
			queued := begin("queued", "test__place")
			w.queued(queued)
			wantText(t, w.result(begin("first", "test__token")), "hello")
			tokenless := begin("tokenless", "test__token")
			w.queued(tokenless)
			retrying := begin("retrying", "test__retries")
			w.retrying(retrying.WorkflowID)
			runs := begin("runs", "test__runs")
			receive(t, running.entered)
			lost := begin("lost", "test__lost")
			parked := w.waiting(lost.WorkflowID)

			// The second scan is for others, and must not hide that these were told at once.
			w.postpone()
			began := time.Now()
			change(w)
			if n := scalar[int](w, `SELECT count(*)::int FROM rechecks`); n == 0 {
				t.Error("no second scan is due")
			}
			for _, call := range []*pawl.Call{asks, queued, tokenless, retrying} {
				wantCode(t, w.result(call), toolspec.CodePolicyDenied)
			}
			t.Logf("all ended %s after the change began", time.Since(began))
			if took := time.Since(began); took > patience {
				t.Errorf("it took %s: they did not hear of it", took)
			}
			if effects.of("asks")+effects.of("tokenless") != 0 || late.Load() != 1 {
				t.Errorf("effects %v, %d attempts of the call that retries", effects.counts, late.Load())
			}
			for _, call := range []*pawl.Call{asks, queued, tokenless, retrying} {
				w.replay(call.WorkflowID)
			}

			// An attempt under way ends as it ends.
			close(running.release)
			wantText(t, w.result(runs), "hello")

			// Whether it took effect is still for a person to say; it is not repeated.
			if answer := w.decide(lost.WorkflowID, toolspec.Decision{ApprovalID: parked.ApprovalID, Decision: toolspec.Retry, Approver: ann}); !answer.Counted {
				t.Errorf("the decision did not count: %+v", answer)
			}
			wantCode(t, w.result(lost), toolspec.CodeOutcomeUnknown)
		})
	}
}

// TestKillSwitch: it stops new calls with its reason, outranks an approval, covers what it says, and lets go once it is off.
func TestKillSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(
		tool("test__read", effects.counted(echo), fast), tool("test__write", effects.counted(echo), once), tool("test__asks", effects.counted(echo), once, risky),
	))
	args := `{"text":"hello"}`
	asks := w.start(invocation("asks", "test__asks", args))
	w.waiting(asks.WorkflowID)
	k := w.killOn(postgres.KillScope{TenantID: "acme", Tool: "test__*", Effect: toolspec.ExternalSideEffect})
	r := w.result(asks)
	wantCode(t, r, toolspec.CodePolicyDenied)
	if r.SafeMessage != "a kill switch stops this call: the vendor is down" || r.Details.Rule != "kill switch" {
		t.Errorf("%q, %+v", r.SafeMessage, r.Details)
	}
	wantCode(t, w.invoke(invocation("write", "test__write", args)), toolspec.CodePolicyDenied)
	wantText(t, w.invoke(invocation("read", "test__read", args)), "hello")
	other := invocation("other", "test__write", args)
	other.Context.TenantID = "globex"
	wantText(t, w.invoke(other), "hello")
	if effects.of("asks")+effects.of("write") != 0 {
		t.Errorf("effects %v", effects.counts)
	}
	if !w.log.has("a kill switch stopped a call") {
		t.Error("the log does not say so")
	}
	if _, found, err := w.store.KillOff(t.Context(), k.ID, postgres.KillScope{}, "user:ops"); !found || err != nil {
		t.Fatal(found, err)
	}
	wantText(t, w.invoke(invocation("then", "test__write", args)), "hello")
	// What was stopped stays so: the record is final.
	wantCode(t, w.invoke(invocation("write", "test__write", args)), toolspec.CodePolicyDenied)
}

// TestKillSwitchStopsTheDispatch: it comes after the gate and before the tool, where nobody asks the gate again.
func TestKillSwitchStopsTheDispatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__write", effects.counted(echo), once)),
		worker.Hooks(hook.New("late", hook.WillRedactInput.Do(func(ctx context.Context, _ *hook.Input) error {
			_, err := w.store.KillOn(ctx, postgres.KillScope{Tool: "test__write"}, "now", "user:ops")
			return err
		}))))
	r := w.invoke(invocation("call", "test__write", `{"text":"hello"}`))
	wantCode(t, r, toolspec.CodePolicyDenied)
	if effects.of("call") != 0 || r.Details.Rule != "kill switch" {
		t.Errorf("%d effects, %+v", effects.of("call"), r.Details)
	}
	w.replay("tool:acme:run:call")
}

// TestAdmittedMeanwhile: a call whose admission had read the old state when a switch was turned on, and was committed after it.
func TestAdmittedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__asks", effects.counted(echo), once, risky)))
	release := w.holdInserts()
	call := w.start(invocation("call", "test__asks", `{"text":"hello"}`))
	w.until(func() bool {
		return scalar[int](w, `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`) > 0
	}, "the admission has begun")
	w.killOn(postgres.KillScope{Tool: "test__asks"})
	release()
	wantCode(t, w.result(call), toolspec.CodePolicyDenied)
	told := count(w.history(call.WorkflowID, ""), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
	t.Logf("the call was told %d times", told)
	if len(w.record(invocation("call", "", "")).Approvals) > 0 && told == 0 {
		t.Error("the call waited for a person and ended without being told")
	}
	if effects.of("call") != 0 {
		t.Error("the tool ran")
	}
}
