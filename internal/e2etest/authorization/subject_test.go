package authorization

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestSubject: a subject counts only if a trusted submitter has signed for it and the subject has delegated to the actor. A permission alone lets no actor act
// for a subject. This holds with permissions by relations and by policy, and a subject is never ignored (ID-02, ID-07).
func TestSubject(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{"by policy": e2etest.PlainPolicy, "by relations": e2etest.RelationsPolicy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewWorld(t, rules)
			var effects e2etest.Ledger
			w.Work(worker.Tools(e2etest.Tool("test__read", effects.Counted(e2etest.Echo)),
				e2etest.Tool("test__other", effects.Counted(e2etest.Echo))))
			w.Relate("acme", authz.Relation{Kind: authz.Executes, Subject: e2etest.Actor, Tools: "*"})
			e2etest.WantText(t, w.Invoke(e2etest.Invocation("without", "test__read", `{"text":"x"}`)), "x")
			key, _ := w.Submitter()
			refused := func(inv toolspec.Invocation, message string) {
				t.Helper()
				r := w.Invoke(inv)
				e2etest.WantCode(t, r, toolspec.CodeAuthzDenied)
				if effects.Of(inv.ToolCallID) != 0 || !strings.Contains(r.SafeMessage, message) {
					t.Errorf("%d effects, %q, want %q", effects.Of(inv.ToolCallID), r.SafeMessage, message)
				}
			}
			refused(w.OnBehalf("early", "test__read", key), "the subject has not delegated this to the actor")
			w.Relate("acme", authz.Relation{Kind: authz.Delegates, Subject: e2etest.Actor, Object: e2etest.Sue, Tools: "test__read"})
			refused(w.OnBehalf("unproved", "test__read", nil), "context.subjectId counts only with a submitterProof")
			_, stranger, err := ed25519.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			refused(w.OnBehalf("forged", "test__read", stranger), "no submitter key of this tenant has signed it")
			copied := w.OnBehalf("copied", "test__read", nil)
			copied.SubmitterProof = w.OnBehalf("another", "test__read", key).SubmitterProof
			refused(copied, "it is of another call")
			refused(w.OnBehalf("scope", "test__other", key), "the subject has not delegated this to the actor")
			good := w.OnBehalf("good", "test__read", key)
			e2etest.WantText(t, w.Invoke(good), "hello")
			if record := w.Record(good); record.SubjectID != e2etest.Sue || effects.Of("good") != 1 {
				t.Errorf("recorded for %q, %d effects", record.SubjectID, effects.Of("good"))
			}
			w.Replay(good.Identity().WorkflowID())
		})
	}
}

// TestOutputsOfASubject: a call for a proved subject can read outputs that the subject has made itself and outputs that the same actor has made for it, in any
// run, while the delegation lasts. No other call can read an output of another run (OC-04, OC-05).
func TestOutputsOfASubject(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__large", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
		return e2etest.Out{Text: "found it " + strings.Repeat("x", 100<<10)}, nil
	}, e2etest.Fast, func(d *toolspec.Definition) { d.MaxResultBytes = 1 << 20 })))
	key, _ := w.Submitter()
	if _, _, err := w.Store.AddSubmitter(t.Context(), "globex", "web", key.Public().(ed25519.PublicKey), "user:root"); err != nil {
		t.Fatal(err)
	}
	const two, bob = "agent:two", "user:bob"
	delegation := func(actor, subject string) authz.Relation {
		return authz.Relation{Kind: authz.Delegates, Subject: actor, Object: subject, Tools: "*"}
	}
	for _, r := range []authz.Relation{delegation(e2etest.Actor, e2etest.Sue), delegation(two, e2etest.Sue), delegation(e2etest.Actor, bob), delegation(e2etest.Sue, bob)} {
		w.Relate("acme", r)
	}
	w.Relate("globex", delegation(e2etest.Actor, e2etest.Sue))
	calls := 0
	call := func(tenant, run, actor, subject, toolID, args string, proved bool) toolspec.Result {
		t.Helper()
		calls++
		inv := e2etest.Invocation(fmt.Sprint("call-", calls), toolID, args)
		inv.Context.TenantID, inv.Context.RunID, inv.Context.ActorID, inv.Context.SubjectID = tenant, run, actor, subject
		if proved {
			if err := pawl.Vouch(&inv, key, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		return w.Invoke(inv)
	}
	made := func(actor, subject string) string {
		t.Helper()
		r := call("acme", "made", actor, subject, "test__large", `{}`, subject != "")
		if r.OutputRef == "" {
			t.Fatalf("%+v has no reference", r)
		}
		return r.OutputRef
	}
	forSue, own, byTwo, forBob := made(e2etest.Actor, e2etest.Sue), made(e2etest.Sue, ""), made(two, e2etest.Sue), made(e2etest.Sue, bob)
	read := func(tenant, run, actor, subject, ref string, proved bool) toolspec.Result {
		t.Helper()
		return call(tenant, run, actor, subject, "core__tool_output_cache_grep", fmt.Sprintf(`{"ref_id":%q,"pattern":"found it"}`, ref), proved)
	}
	shows := func(name string, r toolspec.Result) {
		t.Helper()
		if !r.OK || !strings.Contains(string(r.Value), `"matches":1`) {
			t.Errorf("%s: %s, %+v", name, r.Value, r)
		}
	}
	hidden := func(name string, r toolspec.Result, code toolspec.Code) {
		t.Helper()
		if r.OK || r.ErrorCode != code || code == toolspec.CodeExecution && !strings.Contains(r.SafeMessage, "no such output in this run") {
			t.Errorf("%s: %s, %+v", name, r.Value, r)
		}
	}
	shows("the run", read("acme", "made", two, "", forSue, false))
	shows("the same actor and subject", read("acme", "later", e2etest.Actor, e2etest.Sue, forSue, true))
	shows("what the subject made", read("acme", "later", two, e2etest.Sue, own, true))
	hidden("without a subject", read("acme", "later", e2etest.Actor, "", forSue, false), toolspec.CodeExecution)
	hidden("the subject itself", read("acme", "later", e2etest.Sue, "", forSue, false), toolspec.CodeExecution)
	hidden("made by another actor", read("acme", "later", e2etest.Actor, e2etest.Sue, byTwo, true), toolspec.CodeExecution)
	hidden("another subject", read("acme", "later", e2etest.Actor, bob, forSue, true), toolspec.CodeExecution)
	hidden("what the subject made for another subject", read("acme", "later", two, e2etest.Sue, forBob, true), toolspec.CodeExecution)
	hidden("another tenant", read("globex", "made", e2etest.Actor, e2etest.Sue, forSue, true), toolspec.CodeExecution)
	hidden("unproved", read("acme", "later", e2etest.Actor, e2etest.Sue, forSue, false), toolspec.CodeAuthzDenied)
	if _, err := w.Store.AddRelation(t.Context(), "acme", delegation(e2etest.Actor, e2etest.Sue), time.Microsecond, "user:root"); err != nil {
		t.Fatal(err)
	}
	hidden("expired", read("acme", "later", e2etest.Actor, e2etest.Sue, forSue, true), toolspec.CodeAuthzDenied)
	w.Revoke("acme", delegation(two, e2etest.Sue))
	hidden("revoked", read("acme", "later", two, e2etest.Sue, own, true), toolspec.CodeAuthzDenied)
}

// TestSubmitterRevoked: a waiting call for a subject is denied if the key of its submitter is removed, with every authorization engine, and also if the
// delegation is removed.
func TestSubmitterRevoked(t *testing.T) {
	t.Parallel()
	delegation := authz.Relation{Kind: authz.Delegates, Subject: e2etest.Actor, Object: e2etest.Sue, Tools: "*"}
	for name, tc := range map[string]struct {
		options []worker.Option
		revoke  func(w *e2etest.World, keyID string)
		rule    string
	}{
		"the key": {nil, func(w *e2etest.World, keyID string) { untrust(w, keyID) }, "authorization: trust"},
		"the key, with an engine of one's own": {
			[]worker.Option{worker.Authorizer(authztest.AllowAll{})}, func(w *e2etest.World, keyID string) { untrust(w, keyID) },
			"authorization: trust",
		},
		"the delegation": {nil, func(w *e2etest.World, _ string) { w.Revoke("acme", delegation) }, "authorization: delegation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewWorld(t, e2etest.PlainPolicy)
			var effects e2etest.Ledger
			w.Work(append(tc.options, worker.Tools(e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))...)
			key, keyID := w.Submitter()
			w.Relate("acme", delegation)
			call := w.Start(w.OnBehalf("call", "test__write", key))
			if view := w.Waiting(call.WorkflowID); view.OnBehalfOf != e2etest.Sue || !strings.HasPrefix(view.Approvers, "anyone but "+e2etest.Actor+" or "+e2etest.Sue) {
				t.Errorf("the request is %+v", view)
			}
			if out := strings.Join(w.PawlCLI("approvals"), "\n"); !strings.Contains(out, "asked for by "+e2etest.Actor+" for "+e2etest.Sue) {
				t.Errorf("the request is shown as %s", out)
			}
			tc.revoke(w, keyID)
			r := w.Result(call)
			e2etest.WantCode(t, r, toolspec.CodeAuthzDenied)
			if effects.Of("call") != 0 || r.Details.Rule != tc.rule {
				t.Errorf("%d effects and the details %+v", effects.Of("call"), r.Details)
			}
		})
	}
}

func untrust(w *e2etest.World, keyID string) {
	w.T.Helper()
	if err := w.Store.RevokeSubmitter(w.T.Context(), "acme", keyID, "user:root"); err != nil {
		w.T.Fatal(err)
	}
}
