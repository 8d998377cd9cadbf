package postgres_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// rechecked returns the calls to which a recheck is queued for workers of their namespace, sorted, and empties the outbox.
func (b bench) rechecked() []string {
	b.t.Helper()
	calls := value[[]string](b, `SELECT coalesce(array_agg(substring(workflow_id FROM '[^:]*$')), '{}')
		FROM outbox JOIN invocations USING (workflow_id, namespace) WHERE signal = 'recheck'`)
	b.sql(`DELETE FROM outbox`)
	slices.Sort(calls)
	return calls
}

// callOf returns the row of an admission, changed by a function of the test.
func callOf(name string, change func(*admit.Row)) admit.Row {
	row := admitRow(name)
	row.Plan.Effect = toolspec.StateChange
	if change != nil {
		change(&row)
	}
	return row
}

func TestRecheck(t *testing.T) {
	b := open(t)
	identity := toolspec.Identity{TenantID: "other", RunID: "run_1", ToolCallID: "tenant"}
	for _, row := range []admit.Row{
		callOf("plain", nil),
		callOf("tool", func(r *admit.Row) { r.Invocation.ToolID = "core__write" }),
		callOf("effect", func(r *admit.Row) { r.Plan.Effect = toolspec.ReadOnly }),
		callOf("actor", func(r *admit.Row) { r.Invocation.Context.ActorID = "user:bob" }),
		callOf("subject", func(r *admit.Row) { r.Invocation.Context.SubjectID = "user:bob" }),
		callOf("connection", func(r *admit.Row) { r.Invocation.Context.ConnectionID = "conn_1" }),
		callOf("tenant", func(r *admit.Row) {
			r.InvocationID, r.WorkflowID, r.Invocation.Context.TenantID = identity.InvocationID(), identity.WorkflowID(), "other"
		}),
		callOf("settled", nil),
	} {
		b.admitted(row)
	}
	b.settle(settleIn("settled", 1))
	everybody := []string{"actor", "connection", "effect", "plain", "subject", "tenant", "tool"}
	but := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(everybody), func(n string) bool { return slices.Contains(names, n) })
	}
	for name, c := range map[string]struct {
		f    recheck.Filter
		want []string
	}{
		"everybody":     {recheck.Filter{}, everybody},
		"tenant":        {recheck.Filter{TenantID: tenant}, but("tenant")},
		"tool":          {recheck.Filter{Tool: "core__write_file"}, but("tool")},
		"no glob":       {recheck.Filter{Tool: "core__write"}, []string{"tool"}},
		"tools":         {recheck.Filter{Tool: "core__write_*"}, but("tool")},
		"no wildcard":   {recheck.Filter{Tool: "core%"}, nil},
		"no underscore": {recheck.Filter{Tool: "coreX_write*"}, nil},
		"all tools":     {recheck.Filter{Tool: "*"}, everybody},
		"effect":        {recheck.Filter{Effect: toolspec.ReadOnly}, []string{"effect"}},
		"actor":         {recheck.Filter{ActorID: "user:bob"}, []string{"actor", "subject"}},
		"connection":    {recheck.Filter{ConnectionID: "conn_1"}, []string{"connection"}},
		"nobody":        {recheck.Filter{TenantID: "other", ConnectionID: "conn_1"}, nil},
	} {
		rechecked, err := b.Recheck(t.Context(), c.f)
		if got := b.rechecked(); err != nil || int(rechecked) != len(c.want) || !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%s: %d were told, %v; want %v (%v)", name, rechecked, got, c.want, err)
		}
	}
	if plan := b.plan(`SET enable_seqscan = off; EXPLAIN (FORMAT JSON) SELECT workflow_id FROM invocations WHERE state = 'open'`); !strings.Contains(plan, "invocations_open") {
		t.Errorf("settled calls are read too: %s", plan)
	}
}

// TestChangeRechecks: a change sends rechecks to the affected calls, immediately and by the second scan. A write that changes nothing sends none.
func TestChangeRechecks(t *testing.T) {
	b := open(t)
	for _, row := range []admit.Row{
		callOf("plain", nil),
		callOf("bob", func(r *admit.Row) { r.Invocation.Context.ActorID = "user:bob" }),
		callOf("subject", func(r *admit.Row) { r.Invocation.Context.SubjectID = "user:sue" }),
	} {
		b.admitted(row)
	}
	signer, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	keyID, _, err := b.AddSubmitter(t.Context(), tenant, "web", signer.Key().Bytes(), "user:root")
	if err != nil {
		t.Fatal(err)
	}
	p := development(t)
	member := authz.Relation{Kind: authz.Member, Subject: "user:bob", Object: "role:ops"}
	own := authz.Relation{Kind: authz.Executes, Subject: "user:bob", Tools: "core__*"}
	add := func(r authz.Relation) func() error {
		return func() error {
			_, err := b.AddRelation(t.Context(), tenant, r, 0, "user:root")
			return err
		}
	}
	remove := func(r authz.Relation) func() error {
		return func() error { return b.RemoveRelation(t.Context(), tenant, r, "user:root") }
	}
	revoke := func() error { return b.RevokeSubmitter(t.Context(), tenant, keyID, "user:root") }
	apply := func() error {
		_, err := b.ApplyPolicy(t.Context(), p, "ops")
		return err
	}
	everybody, ofTenant := []string{"bob", "plain", "subject"}, tenant+"  "
	for _, c := range []struct {
		name   string
		change func() error
		want   []string
		again  string
	}{
		{"a member more", add(member), nil, ""},
		{"a member's other end", add(member), everybody, ofTenant},
		{"a member less", remove(member), everybody, ofTenant},
		{"no such member", func() error { _ = remove(member)(); return nil }, nil, ""},
		{"a right more", add(own), nil, ""},
		{"a right less", remove(own), []string{"bob"}, tenant + " user:bob "},
		{"a submitter less", revoke, []string{"subject"}, ofTenant},
		{"no such submitter", func() error { _ = revoke(); return nil }, nil, ""},
		{"a policy", apply, everybody, "  " + p.Digest()},
		{"the same policy", apply, nil, ""},
	} {
		if err := c.change(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := b.rechecked(); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%s: %v were told, want %v", c.name, got, c.want)
		}
		again := value[string](b, `SELECT coalesce(string_agg(tenant_id || ' ' || actor_id || ' ' || policy_digest, '; '), '') FROM rechecks`)
		if b.sql(`DELETE FROM rechecks`); again != c.again {
			t.Errorf("%s: the second scan is for %s, want %s", c.name, again, c.again)
		}
	}
}

// TestChangeAndRechecksAreOne: if the rechecks of a change cannot be written, the change is not written either.
func TestChangeAndRechecksAreOne(t *testing.T) {
	b := open(t)
	r := authz.Relation{Kind: authz.Member, Subject: "user:bob", Object: "role:ops"}
	b.relate(tenant, r, 0)
	b.sql(`ALTER TABLE rechecks RENAME TO elsewhere`)
	if err := b.RemoveRelation(t.Context(), tenant, r, "user:root"); err == nil {
		t.Error("nobody was told, and there is no error")
	}
	if list, err := b.Relations(t.Context(), tenant, ""); err != nil || len(list) != 1 {
		t.Errorf("the relations are %+v, %v", list, err)
	}
}

// plan returns the plan of the server for the second of two statements.
func (b bench) plan(sql string) string {
	b.t.Helper()
	conn, err := b.pool.Acquire(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Release()
	first, last, _ := strings.Cut(sql, ";")
	if _, err := conn.Exec(b.t.Context(), first); err != nil {
		b.t.Fatal(err)
	}
	var plan json.RawMessage
	if err := conn.QueryRow(b.t.Context(), last).Scan(&plan); err != nil {
		b.t.Fatal(err)
	}
	return string(plan)
}

// TestRecheckAgain: the second scan finds a call whose admission read the state before a change and committed after the change.
func TestRecheckAgain(t *testing.T) {
	b := open(t)
	old, fresh := otherPolicy(t, "one"), otherPolicy(t, "two")
	if _, err := b.ApplyPolicy(t.Context(), old, "ops"); err != nil {
		t.Fatal(err)
	}
	b.sql(`DELETE FROM rechecks`)
	b.admit("before")
	// The trigger holds the admission after its statement has taken its snapshot.
	b.sql(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END'`)
	b.sql(`CREATE TRIGGER hold BEFORE INSERT ON invocations FOR EACH ROW EXECUTE FUNCTION hold()`)
	tx := b.holds(`SELECT pg_advisory_xact_lock(4711)`)
	admitted := make(chan admit.Record, 1)
	go func() {
		record, err := b.Admit(t.Context(), admitRow("meanwhile"))
		if err != nil {
			t.Error(err)
		}
		admitted <- record
	}()
	b.waitForLock()
	if _, err := b.ApplyPolicy(t.Context(), fresh, "ops"); err != nil {
		t.Fatal(err)
	}
	if got := b.rechecked(); !slices.Equal(got, []string{"before"}) {
		t.Errorf("at once %v were told", got)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if record := <-admitted; record.PolicyDigest != old.Digest() {
		t.Errorf("admitted under %s; the test wants the old version", record.PolicyDigest)
	}
	// Both calls count as begun shortly before the change, however slow the test is, and the second scan is not due yet.
	b.sql(`UPDATE invocations SET created_at = greatest(created_at, (SELECT asked_at - interval '5 seconds' FROM rechecks))`)
	if soon := value[bool](b, `SELECT due_at > asked_at FROM rechecks`); !soon {
		t.Error("the second scan is due at once")
	}
	b.sql(`UPDATE rechecks SET due_at = due_at + interval '1 hour'`)
	b.admit("after") // under the new version

	again := func() []string {
		t.Helper()
		if more, err := b.RecheckAgain(t.Context()); more || err != nil {
			t.Fatal(more, err)
		}
		return b.rechecked()
	}
	if got := again(); len(got) > 0 {
		t.Errorf("too early %v were told", got)
	}
	b.sql(`UPDATE rechecks SET due_at = now()`)
	// A call that began shortly before the change gets two rechecks.
	if got := again(); !slices.Equal(got, []string{"before", "meanwhile"}) {
		t.Errorf("the second scan told %v", got)
	}
	b.sql(`UPDATE rechecks SET due_at = now()`)
	if got := again(); len(got) > 0 {
		t.Errorf("a third scan told %v", got)
	}
}
