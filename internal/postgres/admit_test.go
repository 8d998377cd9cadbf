package postgres_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

func TestFirstAdmitOpensTheRecord(t *testing.T) {
	b := open(t)
	row := admitRow("call_1")
	record := b.admitted(row)
	want := admit.Record{Digest: "digest-1", Epoch: 1, Plan: row.Plan}
	if !reflect.DeepEqual(record, want) {
		t.Errorf("%+v\nwant %+v", record, want)
	}
	if stored := value[string](b, `SELECT i::text FROM invocations i`); contains(stored, "raw") {
		t.Errorf("arguments are stored: %s", stored)
	}
}

// TestConcurrentFirstAdmits fails unless, of many first admits of one call at the same moment, one inserts the record and every other one raises the
// epoch of that record.
func TestConcurrentFirstAdmits(t *testing.T) {
	b := open(t)
	const n = 50
	var mu sync.Mutex
	epochs := map[int]int{}
	together(n, func(int) {
		record, err := b.Admit(t.Context(), admitRow("call_1"))
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		epochs[record.Epoch]++
	})
	for epoch := 1; epoch <= n; epoch++ {
		if epochs[epoch] != 1 {
			t.Errorf("epoch %d was given %d times", epoch, epochs[epoch])
		}
	}
	if rows, epoch := value[int](b, `SELECT count(*) FROM invocations`), value[int](b, `SELECT max(epoch) FROM invocations`); rows != 1 || epoch != n {
		t.Errorf("%d rows at epoch %d", rows, epoch)
	}
}

// TestManyConcurrentFirstAdmits repeats the race of two inserts of one call many times, because the moment in which it can go wrong is short: with a
// second unique index beside the primary key, about one admit in a hundred fails here.
func TestManyConcurrentFirstAdmits(t *testing.T) {
	b := open(t)
	for i := range 200 {
		call := fmt.Sprint("call_", i)
		together(12, func(int) {
			if _, err := b.Admit(t.Context(), admitRow(call)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAdmitKeepsTheFirstPlanAndTheLastRun(t *testing.T) {
	b := open(t)
	missing := admitRow("call_1") // the plan of a worker that does not have the tool, so that nothing has run by this plan
	b.admitted(missing)
	first := admitRow("call_1")
	first.Plan.ToolDigest = "digest of the tool"
	if got := b.admitted(first); !reflect.DeepEqual(got.Plan, first.Plan) || got.Epoch != 2 {
		t.Errorf("%+v", got)
	}
	if got := b.admitted(missing); !reflect.DeepEqual(got.Plan, first.Plan) {
		t.Errorf("a worker without the tool replaced the plan: %+v", got)
	}
	second := admitRow("call_1")
	second.Plan.MaxAttempts, second.Plan.ToolDigest, second.RunID = 9, "another", "temporal-run-2"
	if got := b.admitted(second); !reflect.DeepEqual(got.Plan, first.Plan) || got.Epoch != 4 {
		t.Errorf("%+v", got)
	}
	if run := value[string](b, `SELECT temporal_run_id FROM invocations`); run != "temporal-run-2" {
		t.Errorf("run %s", run)
	}
}

// TestSettledRecordAnswers fails if an admit after the settle writes the row of the call, with the same input or with another one.
func TestSettledRecordAnswers(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	in := settleIn("call_1", 1)
	b.settle(in)
	version := value[string](b, `SELECT ctid::text || xmin::text || xmax::text FROM invocations`)
	again := admitRow("call_1")
	again.RunID = "temporal-run-2"
	if got := b.admitted(again); got.Result == nil || !reflect.DeepEqual(*got.Result, in.Result) || got.Epoch != 1 {
		t.Errorf("%+v", got)
	}
	again.InputDigest = "digest-2"
	if got := b.admitted(again); got.Digest != "digest-1" {
		t.Errorf("%+v", got)
	}
	if after := value[string](b, `SELECT ctid::text || xmin::text || xmax::text FROM invocations`); after != version {
		t.Errorf("admit touched a settled row: %s, before %s", after, version)
	}
}

// TestAdmitThatLosesARace changes the row of a call while an admit waits for the lock of that row. The snapshot of the admit does not show the change, and
// its answer must.
func TestAdmitThatLosesARace(t *testing.T) {
	for name, finish := range map[string]struct {
		sql  string
		want func(admit.Record) bool
	}{
		"to another input":     {`UPDATE invocations SET input_digest = 'digest-2'`, func(r admit.Record) bool { return r.Digest == "digest-2" }},
		"to another namespace": {`UPDATE invocations SET namespace = 'elsewhere'`, func(r admit.Record) bool { return r.Elsewhere }},
		"to a settled call":    {`UPDATE invocations SET state = 'settled', ok = true, settled_at = now(), result = '{"ok":true}'`, func(r admit.Record) bool { return r.Result != nil && r.Result.OK }},
	} {
		for _, exists := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				b := open(t)
				tx, err := b.pool.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(t.Context())
				insert := `INSERT INTO invocations (invocation_id, tenant_id, run_id, tool_call_id, tool_id, actor_id, workflow_id, temporal_run_id, input_digest, plan, started_at)
					VALUES ($1, $2, 'run_1', 'call_1', 'core__x', 'a', 'w', 'r', 'digest-1', '{}', now())`
				if exists {
					b.sql(insert, id("call_1"), tenant)
				} else if _, err := tx.Exec(t.Context(), insert, id("call_1"), tenant); err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec(t.Context(), finish.sql); err != nil {
					t.Fatal(err)
				}
				got := make(chan admit.Record, 1)
				go func() {
					record, err := b.Admit(t.Context(), admitRow("call_1"))
					if err != nil {
						t.Error(err)
					}
					got <- record
				}()
				b.waitForLock()
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				if record := <-got; !finish.want(record) || record.Epoch != 1 || value[int](b, `SELECT epoch FROM invocations`) != 1 {
					t.Errorf("exists before: %v: %+v", exists, record)
				}
			})
		}
	}
}

func TestAdmitReturnsTheLastRounds(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.claim(claimRow("call_1", 1, 3))
	epoch := b.check("call_1", 1, 4).Epoch
	row := requestRow("call_1", epoch)
	row.Last = 1
	b.request(row)
	look := reviewRow("call_1", epoch, 2, nil)
	look.Gate = 7
	b.review(look)
	if got, want := b.admit("call_1").Rounds, (contract.Rounds{Gate: 7, Dispatch: 4, Request: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestAdmitReturnsTheActivePolicy(t *testing.T) {
	b := open(t)
	p := development(t)
	if _, err := b.ApplyPolicy(t.Context(), p, "ops"); err != nil {
		t.Fatal(err)
	}
	if got := b.admit("call_1").PolicyDigest; got != p.Digest() {
		t.Errorf("%q", got)
	}
	if got := value[string](b, `SELECT policy_digest FROM invocations`); got != p.Digest() {
		t.Errorf("%q was recorded", got)
	}
}

// TestTheIdIsTheIdentity: the database refuses a call whose id is not the one that is derived from its identity.
func TestTheIdIsTheIdentity(t *testing.T) {
	b := open(t)
	row := admitRow("call_1")
	row.InvocationID = id("call_2")
	if _, err := b.Admit(t.Context(), row); err == nil {
		t.Error("a foreign id was accepted")
	}
	for _, call := range []string{"functions.f:0", "ä ö", "~"} {
		b.admit(call)
	}
}

func TestAdmitIsOneRoundTrip(t *testing.T) {
	b := open(t)
	b.admit("warm")
	b.trips.Store(0)
	b.admit("call_1")
	if n := b.trips.Load(); n != 1 {
		t.Errorf("%d round trips", n)
	}
}

func TestRefusedInputIsNotedWithoutARecord(t *testing.T) {
	b := open(t)
	in := admit.Refused{WorkflowID: "tool:acme:run\x00:1", RunID: "r", Code: toolspec.CodeValidation, Reason: "the workflow id is not the derived one", Bytes: 17}
	if err := b.Refuse(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	got := value[string](b, `SELECT workflow_id || ' ' || (detail->>'code') || ' ' || (detail->>'bytes') FROM events WHERE kind = 'refused' AND invocation_id IS NULL`)
	if got != "tool:acme:run\uFFFD:1 validation 17" {
		t.Error(got)
	}
	if n := value[int](b, `SELECT count(*) FROM invocations`); n != 0 {
		t.Errorf("%d records", n)
	}
}

// TestReadsGrants: admit and a look return the live grants of the call's connection to its holder and to roles, and say of which roles the
// relations make the holder a member.
func TestReadsGrants(t *testing.T) {
	b := open(t)
	member := `INSERT INTO relations (tenant_id, subject, kind, object, tools, granted_by) VALUES ($1, $2, 'member', $3, '', 'user:root')`
	last := "user:ann"
	for n := range authz.MaxNesting + 1 {
		next := fmt.Sprintf("role:r%d", n+1)
		b.sql(member, tenant, last, next)
		last = next
	}
	b.sql(member, tenant, "user:bob", "role:of-bob")
	b.sql(member, "globex", "user:ann", "role:of-globex")
	b.sql(`INSERT INTO relations (tenant_id, subject, kind, object, tools, granted_by) VALUES ($1, 'user:ann', 'delegate', 'role:delegated', '*', 'user:root')`, tenant)
	b.sql(`INSERT INTO relations (tenant_id, subject, kind, object, tools, granted_by, expires_at) VALUES ($1, 'user:ann', 'member', 'role:expired', '', 'user:root', now())`, tenant)
	b.sql(`INSERT INTO relations (tenant_id, subject, kind, object, tools, granted_by, expires_at) VALUES ($1, 'user:ann', 'member', 'role:lasting', '', 'user:root', now() + interval '1 hour')`, tenant)
	b.connection(tenant, "c1")
	b.connection(tenant, "c2")
	b.connection("globex", "c1")
	b.granted(tenant, "c2", "role:of-c2")
	b.granted("globex", "c1", "role:of-c1-there")
	for _, grantee := range []string{"user:ann", "user:bob", "role:r1", "role:r8", "role:r9", "role:of-bob", "role:of-globex", "role:delegated", "role:expired", "role:lasting"} {
		b.granted(tenant, "c1", grantee)
	}
	for grantee, rest := range map[string]string{"role:until-now": "0", "role:until-later": "1 hour"} {
		b.granted(tenant, "c1", grantee)
		b.sql(`UPDATE connection_grants SET expires_at = now() + $2::interval WHERE grantee = $1`, grantee, rest)
	}
	b.granted(tenant, "c1", "role:revoked")
	b.sql(`UPDATE connection_grants SET revoked_at = now(), revoked_by = 'user:root' WHERE grantee = 'role:revoked'`)
	want := []string{
		"role:delegated false", "role:expired false", "role:lasting true", "role:of-bob false", "role:of-globex false", "role:r1 true", "role:r8 true", "role:r9 false",
		"role:until-later false", "user:ann true",
	}
	admitted := b.admitted(callOf("one", func(r *admit.Row) { r.Invocation.Context.ConnectionID = "c1" }))
	look := b.review(review{LookRow: approval.LookRow{InvocationID: id("one"), TenantID: tenant, Epoch: 1, Gate: 1}})
	for name, got := range map[string]*hook.Connection{"admit": admitted.Connection, "look": look.Connection} {
		if got == nil {
			t.Fatalf("%s: no connection", name)
		}
		var grants []string
		for _, g := range got.Grants {
			grants = append(grants, fmt.Sprint(g.Grantee, " ", g.Held))
		}
		if slices.Sort(grants); !slices.Equal(grants, want) {
			t.Errorf("%s: %q\nwant %q", name, grants, want)
		}
	}
}

// TestAdmitSeesItsOwnRun: a call counts as watched if a program watches its run. A watch of another run does not count, nor does a watch of the run with
// the same id in another tenant.
func TestAdmitSeesItsOwnRun(t *testing.T) {
	b := open(t)
	watch := `INSERT INTO runs (tenant_id, run_id, watched_until) VALUES ($1, $2, now() + interval '1 hour')`
	b.sql(watch, tenant, "run_2")
	b.sql(watch, "globex", "run_1")
	if b.admit("one").Watched {
		t.Error("watched by others")
	}
	b.sql(`DELETE FROM runs`)
	b.sql(watch, tenant, "run_1")
	if !b.admit("two").Watched {
		t.Error("not watched")
	}
}
