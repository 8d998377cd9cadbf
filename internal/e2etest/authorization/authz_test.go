package authorization

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// TestDenyAllEngine: with an engine that denies everything, no tool runs on any path: in both lanes, for reads and effects, with a cached value, with an
// approval that came before the request, in another run, or with hooks that would answer in the place of the tool (ID-01).
func TestDenyAllEngine(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.ReplaceAll(e2etest.PlainPolicy, "    mode: auto\n",
		"    mode: auto\n    cache: [{tool: test__fast, for: 1h}]\n"))
	var effects e2etest.Ledger
	engine := authztest.New(func(context.Context, authz.Request) (authz.Decision, error) { return authz.Allow(), nil })
	w.Work(worker.Authorizer(engine), worker.Tools(
		e2etest.Tool("test__fast", effects.Counted(e2etest.Echo), e2etest.Fast), e2etest.Tool("test__read", effects.Counted(e2etest.Echo)),
		e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Idempotent),
		e2etest.Tool("test__once", effects.Counted(e2etest.Echo), e2etest.Once),
		e2etest.Tool("test__asks", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
	), worker.ToolHooks("test__read", hook.New("answers", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
		return v.Respond(e2etest.Out{Text: "answered"})
	}))))
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("kept", "test__fast", `{"text":"kept"}`)), "kept")
	engine.Answer(func(context.Context, authz.Request) (authz.Decision, error) { return authz.Deny(authz.Permission), nil })
	for _, id := range []string{"test__fast", "test__read", "test__write", "test__once", "test__asks"} {
		inv := e2etest.Invocation("denied-"+id, id, `{"text":"kept"}`)
		if id == "test__asks" {
			identity := inv.Identity()
			run, err := w.Pawl.Start(t.Context(), inv)
			if err != nil {
				t.Fatal(err)
			}
			_ = w.Temporal.SignalWorkflow(t.Context(), run.WorkflowID, "", toolspec.DecideName,
				e2etest.Approving(toolspec.ApprovalID(identity.InvocationID(), 1), e2etest.Ann))
		}
		r := w.Invoke(inv)
		e2etest.WantCode(t, r, toolspec.CodeAuthzDenied)
		if n := effects.Of("denied-" + id); n != 0 || r.Value != nil {
			t.Errorf("%s: %d effects and the value %s", id, n, r.Value)
		}
		if record := w.Record(inv); len(record.Approvals) != 0 || record.Outcome != string(toolspec.CodeAuthzDenied) {
			t.Errorf("%s: recorded %q with approvals %+v", id, record.Outcome, record.Approvals)
		}
	}
}

// TestBothDeny: policy is checked first, and if it denies a call, the engine is not asked (ID-03, PO-10).
func TestBothDeny(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicyWith(t, `["core__*", "test__*"]`, `["core__*"]`))
	engine := authztest.DenyAll()
	w.Work(worker.Authorizer(engine), worker.Tools(e2etest.Tool("test__read", e2etest.Echo)))
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("both", "test__read", `{"text":"x"}`)), toolspec.CodePolicyDenied)
	if asked := engine.Asked(); len(asked) != 0 {
		t.Errorf("the engine was asked %+v", asked)
	}
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("one", "core__ls", `{}`)), toolspec.CodeAuthzDenied)
	if asked := engine.Asked(); len(asked) != 1 || asked[0].ToolID != "core__ls" || asked[0].ActorID != e2etest.Actor ||
		asked[0].TenantID != "acme" {
		t.Errorf("the engine was asked %+v", asked)
	}
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("arguments", "core__ls", `{"path":7}`)),
		toolspec.CodeAuthzDenied) // the arguments are not checked, so the result does not reveal the schema
}

// TestRoleRevoked: a call that waits for a person loses a role that is removed meanwhile. It does so immediately, and also if the approval comes before the
// recheck.
func TestRoleRevoked(t *testing.T) {
	t.Parallel()
	member := authz.Relation{Kind: authz.Member, Subject: e2etest.Actor, Object: "role:ops"}
	waiting := func(t *testing.T) (*e2etest.World, *e2etest.Ledger, func() toolspec.Result, string) {
		t.Helper()
		w, effects := e2etest.NewWorld(t, e2etest.RelationsPolicy), &e2etest.Ledger{}
		w.Relate("acme", member)
		w.Relate("acme", authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "test__*"})
		w.Work(worker.Tools(e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
		call := w.Start(e2etest.Invocation("call", "test__write", `{"text":"hello"}`))
		w.Waiting(call.WorkflowID)
		return w, effects, func() toolspec.Result { return w.Result(call) }, call.WorkflowID
	}
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		w, effects, result, id := waiting(t)
		w.Revoke("acme", member)
		e2etest.WantCode(t, result(), toolspec.CodeAuthzDenied)
		if effects.Of("call") != 0 {
			t.Error("the tool ran")
		}
		w.Replay(id)
	})
	t.Run("approved", func(t *testing.T) {
		t.Parallel()
		w, effects, result, id := waiting(t)
		e2etest.Query[string](w, `DELETE FROM relations WHERE kind = 'member' RETURNING subject`) // this sends no recheck
		w.Approve(id)
		r := result()
		e2etest.WantCode(t, r, toolspec.CodeAuthzDenied)
		if effects.Of("call") != 0 || r.Details.Rule != "authorization: permission" {
			t.Errorf("%d effects and the details %+v", effects.Of("call"), r.Details)
		}
	})
	t.Run("kept", func(t *testing.T) {
		t.Parallel()
		w, effects, result, id := waiting(t)
		w.Relate("acme", authz.Relation{Kind: authz.Executes, Subject: e2etest.Actor, Tools: "test__write"})
		w.Revoke("acme", member)
		w.Approve(id)
		e2etest.WantText(t, result(), "hello")
		if effects.Of("call") != 1 {
			t.Error("the tool did not run")
		}
	})
}

// TestTenantsApart: a right in one tenant gives no right in another tenant, even for the same name and the same role (ID-08, fault 48).
func TestTenantsApart(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.RelationsPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo)))
	w.Relate("acme", authz.Relation{Kind: authz.Member, Subject: e2etest.Actor, Object: "role:ops"})
	w.Relate("acme", authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "*"})
	w.Relate("globex", authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "*"})
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("mine", "test__read", `{"text":"x"}`)), "x")
	theirs := e2etest.Invocation("theirs", "test__read", `{"text":"x"}`)
	theirs.Context.TenantID = "globex"
	e2etest.WantCode(t, w.Invoke(theirs), toolspec.CodeAuthzDenied)
}

// TestEngineAway (fault 46): while the engine is down, is slow or panics, no tool runs and no call fails. When it answers again, the calls go on.
func TestEngineAway(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(context.Context, authz.Request) (authz.Decision, error){
		"down": func(context.Context, authz.Request) (authz.Decision, error) { return authz.Allow(), errors.New("down") },
		"slow": func(ctx context.Context, _ authz.Request) (authz.Decision, error) {
			<-ctx.Done()
			return authz.Allow(), nil
		},
		"panics": func(context.Context, authz.Request) (authz.Decision, error) { panic("engine") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewWorld(t, e2etest.PlainPolicy)
			var effects e2etest.Ledger
			var asked atomic.Int64
			back := make(chan struct{})
			engine := authztest.New(func(ctx context.Context, r authz.Request) (authz.Decision, error) {
				asked.Add(1)
				select {
				case <-back:
					return authz.Allow(), nil
				default:
					return away(ctx, r)
				}
			})
			w.Work(worker.Authorizer(engine), worker.Tools(e2etest.Tool("test__fast", effects.Counted(e2etest.Echo), e2etest.Fast)))
			call := w.Start(e2etest.Invocation("call", "test__fast", `{"text":"hello"}`))
			w.Until(func() bool { return asked.Load() >= 3 }, "the engine is asked again and again")
			if effects.Of("call") != 0 {
				t.Error("the tool ran without an answer")
			}
			close(back)
			e2etest.WantText(t, w.Result(call), "hello")
			w.Replay(call.WorkflowID)
		})
	}
}
