package postgres_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

func TestPolicyByDigest(t *testing.T) {
	b := open(t)
	p := development(t)
	if got, err := b.Policy(t.Context(), ""); got.Digest() != "" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := b.Policy(t.Context(), p.Digest()); err == nil || errs.IsTransient(err) {
		t.Errorf("an unknown version: %v", err)
	}
	if _, err := b.ApplyPolicy(t.Context(), p, "ops"); err != nil {
		t.Fatal(err)
	}
	got, err := b.Policy(t.Context(), p.Digest())
	if err != nil || got.Digest() != p.Digest() || string(got.Source()) != string(p.Source()) {
		t.Errorf("%v, %v", got, err)
	}
	b.trips.Store(0)
	again, err := b.Policy(t.Context(), p.Digest())
	if err != nil || again != got || b.trips.Load() != 0 {
		t.Errorf("compiled twice, with %d round trips: %v", b.trips.Load(), err)
	}
}

func TestApplyPolicy(t *testing.T) {
	b := open(t)
	if _, ok, err := b.ActivePolicy(t.Context()); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	one, two := otherPolicy(t, "one"), otherPolicy(t, "two")
	for _, c := range []struct {
		p      *policy.Policy
		change bool
	}{{one, true}, {one, false}, {two, true}, {one, true}} {
		changed, err := b.ApplyPolicy(t.Context(), c.p, "user:ops")
		if err != nil || changed != c.change {
			t.Errorf("changed %v, %v; want %v", changed, err, c.change)
		}
		active, ok, err := b.ActivePolicy(t.Context())
		if err != nil || !ok || active.Digest != c.p.Digest() || active.By != "user:ops" || active.At.IsZero() {
			t.Errorf("%+v, %v", active, err)
		}
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'policy_activated' AND detail->>'by' = 'user:ops'`); n != 3 {
		t.Errorf("%d events", n)
	}
	if _, err := b.ApplyPolicy(t.Context(), nil, "ops"); err == nil {
		t.Error("no policy was applied")
	}
}

// TestPolicyHistory: the history says who made which version active, when, and which version was active before.
func TestPolicyHistory(t *testing.T) {
	b := open(t)
	one, two := otherPolicy(t, "one"), otherPolicy(t, "two")
	for _, a := range []policies.Activation{
		{Policy: one, By: "user:ann"}, {Policy: one, By: "user:nobody"}, {Policy: two, By: "user:bob"}, {Policy: one, By: "user:cid", How: policies.RolledBack},
	} {
		if _, err := b.Activate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.PolicyHistory(t.Context(), 0)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []policies.ActivationRecord{
		{Digest: one.Digest(), Before: two.Digest(), How: policies.RolledBack, By: "user:cid"},
		{Digest: two.Digest(), Before: one.Digest(), How: policies.Applied, By: "user:bob"},
		{Digest: one.Digest(), How: policies.Applied, By: "user:ann"},
	} {
		if got[i].At.IsZero() {
			t.Errorf("%d has no time", i)
		}
		if got[i].At = (time.Time{}); got[i] != want {
			t.Errorf("%d: got %+v, want %+v", i, got[i], want)
		}
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'policy_activated' AND detail->>'how' = 'rollback' AND detail->>'by' = 'user:cid'`); n != 1 {
		t.Errorf("%d events of the rollback", n)
	}
	for prefix, want := range map[string]int{one.Digest()[:12]: 1, "": 2, "x": 0, "%": 0} {
		if found, err := b.PolicyVersions(t.Context(), prefix); err != nil || len(found) != want {
			t.Errorf("%q: %v, %v", prefix, found, err)
		}
	}
}

// TestActivateExpecting: of several people who replace the same version at the same moment, one succeeds, and the others get an error that names the version
// that is active now.
func TestActivateExpecting(t *testing.T) {
	b := open(t)
	none, one := "", otherPolicy(t, "one")
	if _, err := b.ApplyPolicy(t.Context(), one, "ops"); err != nil {
		t.Fatal(err)
	}
	var moved *policies.MovedError
	if changed, err := b.Activate(t.Context(), policies.Activation{Policy: otherPolicy(t, "two"), Expected: &none}); changed || !errors.As(err, &moved) || moved.Active != one.Digest() {
		t.Errorf("changed %v, %v", changed, err)
	}
	expected := one.Digest()
	var applied, refused atomic.Int64
	together(8, func(i int) {
		changed, err := b.Activate(t.Context(), policies.Activation{Policy: otherPolicy(t, "t"+string(rune('0'+i))), By: "ops", Expected: &expected})
		var moved *policies.MovedError
		switch {
		case changed && err == nil:
			applied.Add(1)
		case !changed && errors.As(err, &moved):
			refused.Add(1)
		default:
			t.Errorf("changed %v, %v", changed, err)
		}
	})
	if applied.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d applied, %d refused", applied.Load(), refused.Load())
	}
	// Activating the version that is active already is no error.
	active, _, err := b.ActivePolicy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Policy(t.Context(), active.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := b.Activate(t.Context(), policies.Activation{Policy: p, Expected: &expected}); changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
}

func TestApplyIfNone(t *testing.T) {
	b := open(t)
	var applied atomic.Int64
	together(8, func(i int) {
		changed, err := b.ApplyIfNone(t.Context(), otherPolicy(t, "t"+string(rune('0'+i))), "worker")
		if err != nil {
			t.Error(err)
		}
		if changed {
			applied.Add(1)
		}
	})
	if applied.Load() != 1 {
		t.Errorf("%d applied", applied.Load())
	}
}

// TestPolicyChangeRechecks: a change of the policy sends one recheck to each call that is not settled.
func TestPolicyChangeRechecks(t *testing.T) {
	b := open(t)
	for _, call := range []string{"waits", "decided", "runs", "settled"} {
		b.admit(call)
		if call != "runs" {
			b.request(requestRow(call, 1))
		}
	}
	b.review(reviewRow("decided", 1, 1, decision("decided", 1, toolspec.Deny)))
	b.settle(settleIn("settled", 1))
	for range 2 {
		if _, err := b.ApplyPolicy(t.Context(), development(t), "ops"); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.rechecked(); !slices.Equal(got, []string{"decided", "runs", "waits"}) {
		t.Errorf("told %v", got)
	}
}

// TestRequestUnderAnOldPolicyRechecksItself: a request gets a recheck if the active policy has changed between the judgement and the opening of the request.
func TestRequestUnderAnOldPolicyRechecksItself(t *testing.T) {
	b := open(t)
	p := development(t)
	if _, err := b.ApplyPolicy(t.Context(), p, "ops"); err != nil {
		t.Fatal(err)
	}
	b.admit("call_1")
	b.admit("call_2")
	current := requestRow("call_1", 1)
	current.PolicyID = p.Digest()
	b.request(current)
	if n := value[int](b, `SELECT count(*) FROM outbox`); n != 0 {
		t.Errorf("%d rechecks of the current version", n)
	}
	old := requestRow("call_2", 1)
	old.PolicyID = "older"
	b.request(old)
	if got := value[string](b, `SELECT workflow_id || ' in ' || namespace FROM outbox`); got != admitRow("call_2").WorkflowID+" in "+namespace {
		t.Error(got)
	}
}

// TestRequestWaitsForAPolicyChange: a request waits for a policy change that has already looked for waiting calls and has not committed yet.
func TestRequestWaitsForAPolicyChange(t *testing.T) {
	b := open(t)
	old, fresh := otherPolicy(t, "one"), otherPolicy(t, "two")
	for _, p := range []*policy.Policy{fresh, old} {
		if _, err := b.ApplyPolicy(t.Context(), p, "ops"); err != nil {
			t.Fatal(err)
		}
	}
	b.admit("call_1")
	tx := b.holds(`UPDATE policy_active SET digest = $1`, fresh.Digest())
	done := make(chan error, 1)
	go func() {
		row := requestRow("call_1", 1)
		row.PolicyID = old.Digest()
		_, err := b.Request(own(t), row)
		done <- err
	}()
	until(t, "the request waits, or is through", func() bool { return len(done) == 1 || b.waits() })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := value[int](b, `SELECT count(*) FROM outbox WHERE signal = 'recheck'`); n != 1 {
		t.Errorf("%d rechecks", n)
	}
}

// TestPolicyChangeWaitsForRequests: a policy change waits for a request that is being opened under the old version, and so does not miss it.
func TestPolicyChangeWaitsForRequests(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	tx := b.holds(`SELECT FROM policy_active FOR SHARE`)
	done := make(chan error, 1)
	go func() {
		_, err := b.ApplyPolicy(t.Context(), development(t), "ops")
		done <- err
	}()
	b.waitForLock()
	if got := b.request(requestRow("call_1", 1)); got.Number != 1 {
		t.Errorf("%+v", got)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := value[int](b, `SELECT count(*) FROM outbox WHERE signal = 'recheck'`); n != 1 {
		t.Errorf("%d rechecks", n)
	}
}

func TestWaitingCallIsSeenWaiting(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	if d, err := b.Show(t.Context(), tenant, "call_1"); err != nil || d.Status != toolspec.StatusWaitingApproval || d.Approvals[0].State != contract.RequestOpen {
		t.Errorf("%+v, %v", d, err)
	}
}
