package authorization

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestSubject: a subject counts only where a trusted submitter vouches for it and it has delegated to the actor; who is merely permitted may
// not act for anybody. Both where relations and where policy say who may, and never is a subject ignored (ID-02, ID-07).
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

// TestSubmitterRevoked: a key that is removed while a call waits vouches for it no more, whatever engine authorizes; and so does a
// delegation that is taken back.
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
			w.Waiting(call.WorkflowID)
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
