package e2etest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// relationsPolicy is the plain policy, where relations say who may.
var relationsPolicy = strings.ReplaceAll(plainPolicy, "    mode: auto\n", "    mode: auto\n    permissions: relations\n")

// relate writes a relation of a tenant down.
func (w *world) relate(tenantID string, r authz.Relation) {
	w.t.Helper()
	if _, err := w.store.AddRelation(w.t.Context(), tenantID, r, 0, "user:root"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) revoke(tenantID string, r authz.Relation) {
	w.t.Helper()
	if err := w.store.RemoveRelation(w.t.Context(), tenantID, r, "user:root"); err != nil {
		w.t.Fatal(err)
	}
}

// TestDenyAllEngine: with an engine that says no, no tool runs on any path: in either lane, for reads and effects, cached, approved before
// it was asked, as another run, or where hooks would answer in the tool's place (ID-01).
func TestDenyAllEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.ReplaceAll(plainPolicy, "    mode: auto\n", "    mode: auto\n    cache: [{tool: test__fast, for: 1h}]\n"))
	var effects ledger
	engine := authztest.New(func(context.Context, authz.Request) (authz.Decision, error) { return authz.Allow(), nil })
	w.work(worker.Authorizer(engine), worker.Tools(
		tool("test__fast", effects.counted(echo), fast), tool("test__read", effects.counted(echo)),
		tool("test__write", effects.counted(echo), idempotent), tool("test__once", effects.counted(echo), once),
		tool("test__asks", effects.counted(echo), once, risky),
	), worker.ToolHooks("test__read", hook.New("answers", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
		return v.Respond(out{Text: "answered"})
	}))))
	wantText(t, w.invoke(invocation("kept", "test__fast", `{"text":"kept"}`)), "kept")
	engine.Answer(func(context.Context, authz.Request) (authz.Decision, error) { return authz.Deny(authz.Permission), nil })
	for _, id := range []string{"test__fast", "test__read", "test__write", "test__once", "test__asks"} {
		inv := invocation("denied-"+id, id, `{"text":"kept"}`)
		if id == "test__asks" {
			identity := inv.Identity()
			run, err := w.pawl.Start(t.Context(), inv)
			if err != nil {
				t.Fatal(err)
			}
			_ = w.temporal.SignalWorkflow(t.Context(), run.WorkflowID, "", toolspec.DecideName, approval(toolspec.ApprovalID(identity.InvocationID(), 1), ann))
		}
		r := w.invoke(inv)
		wantCode(t, r, toolspec.CodeAuthzDenied)
		if n := effects.of("denied-" + id); n != 0 || r.Value != nil {
			t.Errorf("%s: %d effects and the value %s", id, n, r.Value)
		}
		if record := w.record(inv); len(record.Approvals) != 0 || record.Outcome != string(toolspec.CodeAuthzDenied) {
			t.Errorf("%s: recorded %q with approvals %+v", id, record.Outcome, record.Approvals)
		}
	}
}

// TestBothDeny: policy's word comes first, and the engine is not asked (ID-03, PO-10).
func TestBothDeny(t *testing.T) {
	t.Parallel()
	w := newWorld(t, changed(t, `["core__*", "test__*"]`, `["core__*"]`))
	engine := authztest.DenyAll()
	w.work(worker.Authorizer(engine), worker.Tools(tool("test__read", echo)))
	wantCode(t, w.invoke(invocation("both", "test__read", `{"text":"x"}`)), toolspec.CodePolicyDenied)
	if asked := engine.Asked(); len(asked) != 0 {
		t.Errorf("the engine was asked %+v", asked)
	}
	wantCode(t, w.invoke(invocation("one", "core__ls", `{}`)), toolspec.CodeAuthzDenied)
	if asked := engine.Asked(); len(asked) != 1 || asked[0].ToolID != "core__ls" || asked[0].ActorID != actor || asked[0].TenantID != "acme" {
		t.Errorf("the engine was asked %+v", asked)
	}
	wantCode(t, w.invoke(invocation("arguments", "core__ls", `{"path":7}`)), toolspec.CodeAuthzDenied) // and says nothing of the schema
}

// TestRoleRevoked: a role that is taken away while a call waits for a person is gone for that call: at once, and also where the approval is
// quicker than the word of it.
func TestRoleRevoked(t *testing.T) {
	t.Parallel()
	member := authz.Relation{Kind: authz.Member, Subject: actor, Object: "role:ops"}
	waiting := func(t *testing.T) (*world, *ledger, func() toolspec.Result, string) {
		t.Helper()
		w, effects := newWorld(t, relationsPolicy), &ledger{}
		w.relate("acme", member)
		w.relate("acme", authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "test__*"})
		w.work(worker.Tools(tool("test__write", effects.counted(echo), once, risky)))
		call := w.start(invocation("call", "test__write", `{"text":"hello"}`))
		w.waiting(call.WorkflowID)
		return w, effects, func() toolspec.Result { return w.result(call) }, call.WorkflowID
	}
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		w, effects, result, id := waiting(t)
		w.revoke("acme", member)
		wantCode(t, result(), toolspec.CodeAuthzDenied)
		if effects.of("call") != 0 {
			t.Error("the tool ran")
		}
		w.replay(id)
	})
	t.Run("approved", func(t *testing.T) {
		t.Parallel()
		w, effects, result, id := waiting(t)
		query[string](w, `DELETE FROM relations WHERE kind = 'member' RETURNING subject`) // and nobody is told
		w.approve(id)
		r := result()
		wantCode(t, r, toolspec.CodeAuthzDenied)
		if effects.of("call") != 0 || r.Details.Rule != "authorization: permission" {
			t.Errorf("%d effects and the details %+v", effects.of("call"), r.Details)
		}
	})
	t.Run("kept", func(t *testing.T) {
		t.Parallel()
		w, effects, result, id := waiting(t)
		w.relate("acme", authz.Relation{Kind: authz.Executes, Subject: actor, Tools: "test__write"})
		w.revoke("acme", member)
		w.approve(id)
		wantText(t, result(), "hello")
		if effects.of("call") != 1 {
			t.Error("the tool did not run")
		}
	})
}

// TestTenantsApart: who may in one tenant may nothing in another, also under the same name and by the same role (ID-08, fault 48).
func TestTenantsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, relationsPolicy)
	w.work(worker.Tools(tool("test__read", echo)))
	w.relate("acme", authz.Relation{Kind: authz.Member, Subject: actor, Object: "role:ops"})
	w.relate("acme", authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "*"})
	w.relate("globex", authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "*"})
	wantText(t, w.invoke(invocation("mine", "test__read", `{"text":"x"}`)), "x")
	theirs := invocation("theirs", "test__read", `{"text":"x"}`)
	theirs.Context.TenantID = "globex"
	wantCode(t, w.invoke(theirs), toolspec.CodeAuthzDenied)
}

// TestEngineAway (fault 46): while the engine is down, slow or panics no tool runs and no call fails; when it is back they go on. Where it
// stays away until the deadline they are not to be had.
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
			w := newWorld(t, plainPolicy)
			var effects ledger
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
			w.work(worker.Authorizer(engine), worker.Tools(tool("test__fast", effects.counted(echo), fast)))
			call := w.start(invocation("call", "test__fast", `{"text":"hello"}`))
			w.until(func() bool { return asked.Load() >= 3 }, "the engine is asked again and again")
			if effects.of("call") != 0 {
				t.Error("the tool ran without an answer")
			}
			close(back)
			wantText(t, w.result(call), "hello")
			w.replay(call.WorkflowID)
		})
	}
}
