package e2etest

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

const sue = "user:sue"

// submitter registers a key that may vouch in tenant acme.
func (w *world) submitter() (key ed25519.PrivateKey, keyID string) {
	w.t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.secrets.never("the submitter's key", private.Seed())
	keyID, _, err = w.store.AddSubmitter(w.t.Context(), "acme", "web", public, "user:root")
	if err != nil {
		w.t.Fatal(err)
	}
	return private, keyID
}

// behalf is an invocation for sue, with a proof where there is a key.
func (w *world) behalf(id, toolID string, key ed25519.PrivateKey) toolspec.Invocation {
	w.t.Helper()
	inv := invocation(id, toolID, `{"text":"hello"}`)
	inv.Context.SubjectID = sue
	if key != nil {
		if err := pawl.Vouch(&inv, key, time.Hour); err != nil {
			w.t.Fatal(err)
		}
	}
	return inv
}

// TestSubject: a subject counts only where a trusted submitter vouches for it and it has delegated to the actor; who is merely permitted may
// not act for anybody. Both where relations and where policy say who may, and never is a subject ignored (ID-02, ID-07).
func TestSubject(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{"by policy": plainPolicy, "by relations": relationsPolicy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, rules)
			var effects ledger
			w.work(worker.Tools(tool("test__read", effects.counted(echo)), tool("test__other", effects.counted(echo))))
			w.relate("acme", authz.Relation{Kind: authz.Executes, Subject: actor, Tools: "*"})
			wantText(t, w.invoke(invocation("without", "test__read", `{"text":"x"}`)), "x")
			key, _ := w.submitter()
			refused := func(inv toolspec.Invocation, message string) {
				t.Helper()
				r := w.invoke(inv)
				wantCode(t, r, toolspec.CodeAuthzDenied)
				if effects.of(inv.ToolCallID) != 0 || !strings.Contains(r.SafeMessage, message) {
					t.Errorf("%d effects, %q, want %q", effects.of(inv.ToolCallID), r.SafeMessage, message)
				}
			}
			refused(w.behalf("early", "test__read", key), "the subject has not delegated this to the actor")
			w.relate("acme", authz.Relation{Kind: authz.Delegates, Subject: actor, Object: sue, Tools: "test__read"})
			refused(w.behalf("unproved", "test__read", nil), "context.subjectId counts only with a submitterProof")
			_, stranger, err := ed25519.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			refused(w.behalf("forged", "test__read", stranger), "no submitter key of this tenant has signed it")
			copied := w.behalf("copied", "test__read", nil)
			copied.SubmitterProof = w.behalf("another", "test__read", key).SubmitterProof
			refused(copied, "it is of another call")
			refused(w.behalf("scope", "test__other", key), "the subject has not delegated this to the actor")
			good := w.behalf("good", "test__read", key)
			wantText(t, w.invoke(good), "hello")
			if record := w.record(good); record.SubjectID != sue || effects.of("good") != 1 {
				t.Errorf("recorded for %q, %d effects", record.SubjectID, effects.of("good"))
			}
			w.replay(good.Identity().WorkflowID())
		})
	}
}

// TestSubmitterRevoked: a key that is removed while a call waits vouches for it no more, whatever engine authorizes; and so does a
// delegation that is taken back.
func TestSubmitterRevoked(t *testing.T) {
	t.Parallel()
	delegation := authz.Relation{Kind: authz.Delegates, Subject: actor, Object: sue, Tools: "*"}
	for name, tc := range map[string]struct {
		options []worker.Option
		revoke  func(w *world, keyID string)
		rule    string
	}{
		"the key": {nil, func(w *world, keyID string) { w.untrust(keyID) }, "authorization: trust"},
		"the key, with an engine of one's own": {
			[]worker.Option{worker.Authorizer(authztest.AllowAll{})}, func(w *world, keyID string) { w.untrust(keyID) }, "authorization: trust",
		},
		"the delegation": {nil, func(w *world, _ string) { w.revoke("acme", delegation) }, "authorization: delegation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plainPolicy)
			var effects ledger
			w.work(append(tc.options, worker.Tools(tool("test__write", effects.counted(echo), once, risky)))...)
			key, keyID := w.submitter()
			w.relate("acme", delegation)
			call := w.start(w.behalf("call", "test__write", key))
			w.waiting(call.WorkflowID)
			tc.revoke(w, keyID)
			r := w.result(call)
			wantCode(t, r, toolspec.CodeAuthzDenied)
			if effects.of("call") != 0 || r.Details.Rule != tc.rule {
				t.Errorf("%d effects and the details %+v", effects.of("call"), r.Details)
			}
		})
	}
}

func (w *world) untrust(keyID string) {
	w.t.Helper()
	if err := w.store.RevokeSubmitter(w.t.Context(), "acme", keyID, "user:root"); err != nil {
		w.t.Fatal(err)
	}
}
