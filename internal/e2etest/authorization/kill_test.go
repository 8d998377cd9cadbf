package authorization

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/policies"
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

func killOn(w *e2etest.World, scope policies.KillScope) policies.KillSwitch {
	w.T.Helper()
	k, err := w.Store.KillOn(w.T.Context(), scope, "the vendor is down", "user:ops")
	if err != nil {
		w.T.Fatal(err)
	}
	return k
}

// postpone makes the second scan of every change due in an hour.
func postpone(w *e2etest.World) {
	w.T.Helper()
	for _, sql := range []string{
		`CREATE FUNCTION postpone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.due_at := now() + interval ''1 hour''; RETURN NEW; END'`,
		`CREATE TRIGGER postpone BEFORE INSERT ON rechecks FOR EACH ROW EXECUTE FUNCTION postpone()`,
	} {
		e2etest.Query[string](w, sql)
	}
}

// TestChangeReachesWaits: a change that denies calls reaches calls in every kind of wait, and they end within seconds. An attempt that runs goes on, and an
// unknown outcome stays unknown.
func TestChangeReachesWaits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*e2etest.World){
		"policy": func(w *e2etest.World) {
			w.Apply(strings.Replace(waysPolicy, `["core__*", "test__*"]`, `["core__*"]`, 1))
		},
		"kill switch": func(w *e2etest.World) { killOn(w, policies.KillScope{TenantID: "acme", Tool: "test__*"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewWorld(t, waysPolicy)
			var effects e2etest.Ledger
			var late atomic.Int64
			place, running := e2etest.NewHung(), e2etest.NewHung()
			defer close(place.Release)
			w.Work(worker.Tools(
				e2etest.Tool("test__asks", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
				e2etest.Tool("test__place", place.Run, e2etest.Within(2*time.Minute)),
				e2etest.Tool("test__token", effects.Counted(e2etest.Echo)),
				e2etest.Tool("test__retries", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
					late.Add(1)
					return e2etest.Out{}, toolspec.RetryAfter(5*time.Minute, "not now")
				}, e2etest.Attempts(3)),
				e2etest.Tool("test__runs", running.Run, e2etest.Once, e2etest.Within(2*time.Minute)),
				e2etest.Tool("test__lost", func(ctx context.Context, _ e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
					<-ctx.Done()
					return e2etest.Out{}, ctx.Err()
				}, e2etest.Once, e2etest.Within(time.Second)),
			))
			begin := func(id, toolID string) *pawl.Call { return w.Start(e2etest.Invocation(id, toolID, `{"text":"hello"}`)) }
			asks := begin("asks", "test__asks")
			w.Waiting(asks.WorkflowID)
			begin("holder", "test__place")
			e2etest.Receive(t, place.Entered)
			queued := begin("queued", "test__place")
			w.Queued(queued)
			e2etest.WantText(t, w.Result(begin("first", "test__token")), "hello")
			tokenless := begin("tokenless", "test__token")
			w.Queued(tokenless)
			retrying := begin("retrying", "test__retries")
			w.Retrying(retrying.WorkflowID)
			runs := begin("runs", "test__runs")
			e2etest.Receive(t, running.Entered)
			lost := begin("lost", "test__lost")
			parked := w.Waiting(lost.WorkflowID)

			// The test is about the immediate rechecks. The second scan must not come in time to replace a missing one.
			postpone(w)
			began := time.Now()
			change(w)
			if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM rechecks`); n == 0 {
				t.Error("no second scan is due")
			}
			for _, call := range []*pawl.Call{asks, queued, tokenless, retrying} {
				e2etest.WantCode(t, w.Result(call), toolspec.CodePolicyDenied)
			}
			t.Logf("all ended %s after the change began", time.Since(began))
			if took := time.Since(began); took > e2etest.WaitTimeout {
				t.Errorf("it took %s: they did not hear of it", took)
			}
			if effects.Of("asks")+effects.Of("tokenless") != 0 || late.Load() != 1 {
				t.Errorf("effects %v, %d attempts of the call that retries", effects.Counts, late.Load())
			}
			for _, call := range []*pawl.Call{asks, queued, tokenless, retrying} {
				w.Replay(call.WorkflowID)
			}

			// The change does not affect a running attempt.
			close(running.Release)
			e2etest.WantText(t, w.Result(runs), "hello")

			// A person still decides whether the lost attempt had an effect. The attempt is not repeated.
			if answer := w.Decide(lost.WorkflowID, toolspec.Decision{ApprovalID: parked.ApprovalID, Decision: toolspec.Retry,
				Approver: e2etest.Ann}); !answer.Counted {
				t.Errorf("the decision did not count: %+v", answer)
			}
			e2etest.WantCode(t, w.Result(lost), toolspec.CodeOutcomeUnknown)
		})
	}
}

// TestKillSwitch: a kill switch denies new calls with its reason, also calls that are approved, and only the calls in its scope. After it is turned off, new
// calls run.
func TestKillSwitch(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(
		e2etest.Tool("test__read", effects.Counted(e2etest.Echo), e2etest.Fast),
		e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Once),
		e2etest.Tool("test__asks", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
	))
	args := `{"text":"hello"}`
	asks := w.Start(e2etest.Invocation("asks", "test__asks", args))
	w.Waiting(asks.WorkflowID)
	k := killOn(w, policies.KillScope{TenantID: "acme", Tool: "test__*", Effect: toolspec.ExternalSideEffect})
	r := w.Result(asks)
	e2etest.WantCode(t, r, toolspec.CodePolicyDenied)
	if r.SafeMessage != "a kill switch stops this call: the vendor is down" || r.Details.Rule != "kill switch" {
		t.Errorf("%q, %+v", r.SafeMessage, r.Details)
	}
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("write", "test__write", args)), toolspec.CodePolicyDenied)
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("read", "test__read", args)), "hello")
	other := e2etest.Invocation("other", "test__write", args)
	other.Context.TenantID = "globex"
	e2etest.WantText(t, w.Invoke(other), "hello")
	if effects.Of("asks")+effects.Of("write") != 0 {
		t.Errorf("effects %v", effects.Counts)
	}
	if !w.Log.Has("a kill switch stopped a call") {
		t.Error("the log does not say so")
	}
	if _, found, err := w.Store.KillOff(t.Context(), k.ID, policies.KillScope{}, "user:ops"); !found || err != nil {
		t.Fatal(found, err)
	}
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("then", "test__write", args)), "hello")
	// A call that the switch has stopped stays denied, because its record is final.
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("write", "test__write", args)), toolspec.CodePolicyDenied)
}

// TestKillSwitchStopsTheDispatch: a kill switch that is turned on after the gate and before the tool stops the call, although the gate is not checked again.
func TestKillSwitchStopsTheDispatch(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Once)),
		worker.Hooks(hook.New("late", hook.WillRedactInput.Do(func(ctx context.Context, _ *hook.Input) error {
			_, err := w.Store.KillOn(ctx, policies.KillScope{Tool: "test__write"}, "now", "user:ops")
			return err
		}))))
	r := w.Invoke(e2etest.Invocation("call", "test__write", `{"text":"hello"}`))
	e2etest.WantCode(t, r, toolspec.CodePolicyDenied)
	if effects.Of("call") != 0 || r.Details.Rule != "kill switch" {
		t.Errorf("%d effects, %+v", effects.Of("call"), r.Details)
	}
	w.Replay("tool:acme:run:call")
}

// TestAdmittedMeanwhile: a kill switch stops a call whose admission has read the state before the switch and commits after it.
func TestAdmittedMeanwhile(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__asks", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	_, release := w.Hold("INSERT ON invocations FOR EACH ROW")
	call := w.Start(e2etest.Invocation("call", "test__asks", `{"text":"hello"}`))
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`) > 0
	}, "the admission has begun")
	killOn(w, policies.KillScope{Tool: "test__asks"})
	release()
	e2etest.WantCode(t, w.Result(call), toolspec.CodePolicyDenied)
	signals := e2etest.CountEvents(w.History(call.WorkflowID, ""), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
	t.Logf("the call was told %d times", signals)
	if len(w.Record(e2etest.Invocation("call", "", "")).Approvals) > 0 && signals == 0 {
		t.Error("the call waited for a person and ended without being told")
	}
	if effects.Of("call") != 0 {
		t.Error("the tool ran")
	}
}
