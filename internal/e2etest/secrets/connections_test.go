package secrets

import (
	"context"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// rotate replaces the first secret of a connection.
func rotate(v *e2etest.Vault, connectionID string, p broker.Provider, token string) {
	v.W.T.Helper()
	if done, err := v.W.Store.ReplaceSecret(v.W.T.Context(), v.Seal(connectionID, 2, p, token), 0, true, "e2etest"); err != nil || !done {
		v.W.T.Fatalf("replaced: %t, %v", done, err)
	}
}

// TestConnection: in both lanes, a tool uses an account whose credential it never sees. It does not run without a connection, without a grant, or if its call
// does not list the connection (CN-01, CN-03, CN-04, CN-09).
func TestConnection(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	v, s := e2etest.NewVault(w), e2etest.NewService(t, string(e2etest.NewCanary()))
	v.Add("c1", s.Provider(), s.Token)
	v.Grant("c1", e2etest.Actor)
	w.WorkWith(v.Config(), worker.Tools(
		e2etest.Tool("test__read", e2etest.Fetch(s), e2etest.Connected, e2etest.Fast),
		e2etest.Tool("test__write", e2etest.Fetch(s), e2etest.Connected, e2etest.Idempotent),
		e2etest.Tool("test__risky", e2etest.Fetch(s), e2etest.Connected, e2etest.Idempotent, e2etest.Risky)))
	for _, id := range []string{"test__read", "test__write"} {
		e2etest.WantText(t, w.Invoke(e2etest.Over(e2etest.Invocation(id, id, `{}`), "c1")), "200 welcome")
	}
	call := w.Start(e2etest.Over(e2etest.Invocation("risky", "test__risky", `{}`), "c1"))
	w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.Result(call), "200 welcome")
	// On a busy machine an attempt of a tool that may be repeated may run again, but not that of every call.
	asked := s.Requests()
	if asked < 3 || asked > 5 {
		t.Errorf("%d requests of 3 calls", asked)
	}
	missing := w.Invoke(e2etest.Invocation("missing", "test__read", `{}`))
	e2etest.WantCode(t, missing, toolspec.CodeValidation)
	if missing.Details == nil || missing.Details.Kind != "missing_connection" {
		t.Errorf("details %+v", missing.Details)
	}
	unasked := e2etest.Over(e2etest.Invocation("unasked", "test__read", `{}`), "c1")
	unasked.AllowedConnectionIDs = nil
	e2etest.WantCode(t, w.Invoke(unasked), toolspec.CodePolicyDenied)
	e2etest.WantCode(t, w.Invoke(e2etest.Over(e2etest.Invocation("unknown", "test__read", `{}`), "c2")), toolspec.CodePolicyDenied)
	if n := s.Requests(); n != asked {
		t.Errorf("%d requests, and %d before the calls that may not ask", n, asked)
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM leases WHERE tenant_id = 'acme' AND kind = 'broker'`); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

// TestRevokedWhileParked: if a grant or a connection is revoked while a call waits for a person, the call is denied, and the credential is not used.
func TestRevokedWhileParked(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	v, s := e2etest.NewVault(w), e2etest.NewService(t, string(e2etest.NewCanary()))
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__risky", e2etest.Fetch(s), e2etest.Connected, e2etest.Once, e2etest.Risky)))
	for what, revoke := range map[string]func(connectionID string) error{
		"the-grant": func(connectionID string) error {
			return w.Store.RevokeConnectionGrant(t.Context(), "acme", connectionID, e2etest.Actor, "e2etest")
		},
		"the-connection": func(connectionID string) error {
			_, err := w.Store.RevokeConnection(t.Context(), "acme", connectionID, "e2etest")
			return err
		},
	} {
		v.Add(what, s.Provider(), s.Token)
		v.Grant(what, e2etest.Actor)
		call := w.Start(e2etest.Over(e2etest.Invocation(what, "test__risky", `{}`), what))
		w.Waiting(call.WorkflowID)
		at := time.Now()
		if err := revoke(what); err != nil {
			t.Fatal(err)
		}
		e2etest.WantCode(t, w.Result(call), toolspec.CodePolicyDenied)
		t.Logf("denied %s after %s was revoked", time.Since(at), what)
	}
	if s.Requests() != 0 {
		t.Errorf("%d requests", s.Requests())
	}
}

// TestRevokedWhileRunning: an attempt whose grant is revoked is cancelled. A call whose tool may be repeated or only reads ends as denied, and every other call
// ends with an unknown outcome (the table of design section 5). If the tool answers in spite of the cancellation, its answer counts, and no other attempt
// follows.
func TestRevokedWhileRunning(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	v, s := e2etest.NewVault(w), e2etest.NewService(t, string(e2etest.NewCanary()))
	s.Hold = make(chan struct{})
	w.WorkWith(v.Config(), worker.Tools(
		e2etest.Tool("test__read", e2etest.Fetch(s), e2etest.Connected),
		e2etest.Tool("test__idempotent", e2etest.Fetch(s), e2etest.Connected, e2etest.Idempotent),
		e2etest.Tool("test__once", e2etest.Fetch(s), e2etest.Connected, e2etest.Once),
		e2etest.Tool("test__busy", func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if _, err := e2etest.Fetch(s)(ctx, in, call); err != nil {
				return e2etest.Out{}, toolspec.RetryAfter(time.Millisecond, "busy")
			}
			return e2etest.Out{}, nil
		}, e2etest.Connected, e2etest.Once, e2etest.Attempts(3))))
	for toolID, want := range map[string]toolspec.Code{
		"test__read": toolspec.CodePolicyDenied, "test__idempotent": toolspec.CodePolicyDenied, "test__once": toolspec.CodeOutcomeUnknown,
		"test__busy": toolspec.CodeRateLimited,
	} {
		v.Add(toolID, s.Provider(), s.Token)
		v.Grant(toolID, e2etest.Actor)
		call := w.Start(e2etest.Over(e2etest.Invocation("run-"+toolID, toolID, `{}`), toolID))
		e2etest.Receive(t, s.Entered)
		at := time.Now()
		v.Revoke(toolID, e2etest.Actor)
		r := w.Result(call)
		t.Logf("%s ended %s after the revocation", toolID, time.Since(at))
		e2etest.WantCode(t, r, want)
		if want == toolspec.CodeOutcomeUnknown && (r.Details == nil || r.Details.Cause != "revoked") {
			t.Errorf("details %+v", r.Details)
		}
	}
	if s.Requests() != 4 {
		t.Errorf("%d requests", s.Requests())
	}
}

// TestBrokerAway: a call whose credential cannot be opened does not begin, and goes on when the key is there (fault 54).
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	v, s := e2etest.NewVault(w), e2etest.NewService(t, string(e2etest.NewCanary()))
	v.Add("c1", s.Provider(), s.Token)
	v.Grant("c1", e2etest.Actor)
	other, err := seal.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := seal.Change(v.File, nil, func(*seal.Ring) (*seal.Ring, error) { return other, nil }); err != nil {
		t.Fatal(err)
	}
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__once", e2etest.Fetch(s), e2etest.Connected, e2etest.Once)))
	call := w.Start(e2etest.Over(e2etest.Invocation("away", "test__once", `{}`), "c1"))
	w.Until(func() bool { return w.Log.Has("the sealed credential does not open") }, "the worker says why")
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM claims WHERE invocation_id = $1::uuid`, call.InvocationID); n != 0 ||
		s.Requests() != 0 {
		t.Errorf("%d claims and %d requests", n, s.Requests())
	}
	if err := seal.Change(v.File, nil, func(*seal.Ring) (*seal.Ring, error) { return v.Ring, nil }); err != nil {
		t.Fatal(err)
	}
	r := w.Result(call)
	e2etest.WantText(t, r, "200 welcome")
	if r.Attempts != 1 || s.Requests() != 1 {
		t.Errorf("%d attempts and %d requests", r.Attempts, s.Requests())
	}
}

// TestLeaseAfterTerminate: a lease ends with its call, also if the call was terminated and so could not give it back (fault 54).
func TestLeaseAfterTerminate(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	v, s := e2etest.NewVault(w), e2etest.NewService(t, string(e2etest.NewCanary()))
	s.Hold = make(chan struct{})
	v.Add("c1", s.Provider(), s.Token)
	v.Grant("c1", e2etest.Actor)
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__once", e2etest.Fetch(s), e2etest.Connected, e2etest.Once)))
	inv := e2etest.Over(e2etest.Invocation("ended", "test__once", `{}`), "c1")
	call := w.Start(inv)
	e2etest.Receive(t, s.Entered)
	leases := func() int {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM leases WHERE invocation_id = $1::uuid AND kind = 'broker'`, call.InvocationID)
	}
	if leases() != 1 {
		t.Errorf("%d leases while it runs", leases())
	}
	w.Terminate(inv)
	w.Closed(inv)
	w.Sweep()
	w.Until(func() bool { return leases() == 0 }, "the lease is gone")
}

// TestChangedConnection: an approval does not count after the secret of the connection was replaced, because the new secret may be of another account (design
// section 7).
func TestChangedConnection(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	v, s := e2etest.NewVault(w), e2etest.NewService(t, string(e2etest.NewCanary()))
	v.Add("c1", s.Provider(), s.Token)
	v.Grant("c1", e2etest.Actor)
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__risky", e2etest.Fetch(s), e2etest.Connected, e2etest.Once, e2etest.Risky)))
	call := w.Start(e2etest.Over(e2etest.Invocation("changed", "test__risky", `{}`), "c1"))
	w.Waiting(call.WorkflowID)
	rotate(v, "c1", s.Provider(), string(e2etest.NewCanary()))
	// The decision comes by a signal, because a recheck may come while the answer to an update is made.
	if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName,
		e2etest.Approving(toolspec.ApprovalID(call.InvocationID, 1), e2etest.Ann)); err != nil {
		t.Fatal(err)
	}
	r := w.Result(call)
	e2etest.WantCode(t, r, toolspec.CodeApprovalStale)
	if r.SafeMessage != "What was approved has changed: its connection" {
		t.Errorf("it says %q", r.SafeMessage)
	}
	if s.Requests() != 0 {
		t.Errorf("%d requests", s.Requests())
	}
}
