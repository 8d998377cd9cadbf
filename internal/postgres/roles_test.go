package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
)

// login creates a user with these roles until the test ends, and returns the address of the database for this user.
func (b bench) login(name string, roles ...string) string {
	b.t.Helper()
	u, err := url.Parse(b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	user := name + "_" + strings.TrimPrefix(u.Path, "/")
	b.sql(`CREATE ROLE ` + user + ` LOGIN PASSWORD 'test'`)
	for _, role := range roles {
		b.sql(`GRANT ` + role + ` TO ` + user)
	}
	b.t.Cleanup(func() {
		for _, sql := range []string{`DROP OWNED BY ` + user, `DROP ROLE ` + user} {
			if _, err := b.pool.Exec(context.WithoutCancel(b.t.Context()), sql); err != nil {
				b.t.Error(err)
			}
		}
	})
	u.User = url.UserPassword(user, "test")
	return u.String()
}

// session is a connection of a user.
type session struct {
	t    testing.TB
	user string
	conn *pgx.Conn
}

func (b bench) session(address string) session {
	b.t.Helper()
	conn, err := pgx.Connect(b.t.Context(), address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(b.t.Context())) })
	return session{b.t, conn.Config().User, conn}
}

// state runs a statement, and returns the SQLSTATE of its error, or "".
func (s session) state(sql string) string {
	s.t.Helper()
	_, err := s.conn.Exec(s.t.Context(), sql)
	var refused *pgconn.PgError
	if err != nil && !errors.As(err, &refused) {
		s.t.Fatal(err)
	}
	if refused == nil {
		return ""
	}
	return refused.Code
}

func (s session) count(from string) (n int) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), `SELECT count(*) FROM `+from).Scan(&n); err != nil {
		s.t.Errorf("%s: %v", from, err)
	}
	return n
}

// TestRolesAreWalls checks that members of the roles cannot do what their role does not allow, and that a reader and a client see only the rows of their
// tenants. The other tests run as the role pawl_worker.
func TestRolesAreWalls(t *testing.T) {
	b := open(t)
	for _, of := range []string{tenant, "globex", "globex.with-a-long-name"} {
		id := toolspec.Identity{TenantID: of, RunID: "run", ToolCallID: "one"}
		b.sql(`INSERT INTO invocations (invocation_id, tenant_id, run_id, tool_call_id, tool_id, actor_id, workflow_id, temporal_run_id, input_digest, plan, started_at)
			VALUES ($1, $2, 'run', 'one', 'core__ls', 'agent:x', 'w', '', '', '{}', now())`, id.InvocationID(), of)
		b.sql(`UPDATE invocations SET begun_at = now() WHERE invocation_id = $1`, id.InvocationID())
		b.sql(`INSERT INTO claims (invocation_id, dispatch, kind, epoch) VALUES ($1, 1, 'claim', 1)`, id.InvocationID())
		b.sql(`INSERT INTO stage_events (month, invocation_id, seq, stage, round, attempt, outcome, by_hook, rule, at, duration_us)
			VALUES ('2020-01-01', $1, 1, '', 1, 1, '', '', '', now(), 1)`, id.InvocationID())
		b.sql(`INSERT INTO payloads (month, ref, invocation_id, tenant_id, dispatch, value) VALUES ('2020-01-01', $2, $1, $2, 1, '{}')`, id.InvocationID(), of)
		b.sql(`INSERT INTO relations (tenant_id, subject, kind, object, tools, graph_id, granted_by) VALUES ($1, 'a', 'member', 'b', '', '', '')`, of)
		b.sql(`INSERT INTO tool_specs (digest, tool_id, spec) VALUES ('d', $1, '{}')`, toolspec.TenantNamespace(of)+"__t")
	}
	b.sql(`INSERT INTO tool_specs (digest, tool_id, spec) VALUES ('d', 'core__ls', '{}')`)
	seen := []string{"invocations", "claims", "stage_events", "payloads", "runs", "run_events"}
	secrets := []string{"connection_secrets", "connections", "approver_keys", "submitter_keys", "worker_keys", "memories", "result_cache", "session_bindings",
		"tool_registrations", "triggers", "notices", "stage_events_default", "run_events_default"}

	for _, role := range []string{"pawl_reader", "pawl_client"} {
		s := b.session(b.login(role+"_x", role))
		tables := seen
		if role == "pawl_client" {
			tables = append([]string{"relations"}, seen...)
		}
		for _, table := range tables {
			if n := s.count(table); n != 0 {
				t.Errorf("%s of no tenant sees %d rows of %s", role, n, table)
			}
		}
		b.sql(`INSERT INTO role_tenants VALUES ($1, $2)`, s.user, tenant)
		for _, table := range tables {
			if n := s.count(table); n != 1 {
				t.Errorf("%s sees %d rows of %s", role, n, table)
			}
		}
		// No setting of a session changes the rows that it sees.
		if s.state(`SET pawl.tenant = 'globex'`) != "" || s.state(`SET ROLE `+role) != "" || s.count("invocations") != 0 || s.state(`RESET ROLE`) != "" {
			t.Errorf("%s has another tenant after SET ROLE", role)
		}
		if n := s.count(`invocations WHERE tenant_id = 'globex'`); n != 0 || s.state(`SET row_security = off`) != "" || s.state(`SELECT FROM invocations`) != "42501" {
			t.Errorf("%s sees another tenant", role)
		}
		s.state(`RESET row_security`)
		for _, table := range secrets {
			if state := s.state(`SELECT FROM ` + table); state != "42501" {
				t.Errorf("%s reads %s: %q", role, table, state)
			}
		}
		for _, sql := range []string{
			`INSERT INTO role_tenants VALUES (current_user, 'globex')`, `UPDATE invocations SET state = 'open'`, `DELETE FROM approvals`, `DELETE FROM runs`,
			`INSERT INTO claims (invocation_id, dispatch, kind, epoch) SELECT invocation_id, 9, 'claim', 1 FROM invocations`, `TRUNCATE claims`,
			`UPDATE policy_active SET digest = NULL`, `SELECT drop_partition('x')`, `SELECT ensure_partitions('events', 1)`, `CREATE TABLE x ()`,
			`SELECT FROM memory_usage`, `SELECT answer FROM claims`, `SELECT subject FROM claims`, `SELECT input FROM agent_runs`,
		} {
			if state := s.state(sql); state != "42501" {
				t.Errorf("%s: %s: %q", role, sql, state)
			}
		}
		if state := s.state(`SELECT tenant_id, shown, answer, result FROM agent_runs`); state != "" {
			t.Errorf("%s does not read the runs of agents: %q", role, state)
		}
		// A user must not execute a function that has the rights of its owner: the user could make it the trigger of an own table.
		if n := s.count(`pg_proc WHERE prosecdef AND pronamespace = current_schema()::regnamespace AND has_function_privilege(oid, 'EXECUTE')`); n != 0 {
			t.Errorf("%s executes %d functions with the rights of their owner", role, n)
		}
		if own := s.state(`INSERT INTO runs (tenant_id, run_id) VALUES ('acme', 'own')`); (own == "") != (role == "pawl_client") {
			t.Errorf("%s: %q", role, own)
		}
		if state := s.state(`INSERT INTO runs (tenant_id, run_id) VALUES ('globex', 'other')`); state != "42501" {
			t.Errorf("%s writes a run of another tenant: %q", role, state)
		}
		if role == "pawl_reader" {
			if state := s.state(`SELECT plan FROM agent_rounds`); state != "42501" || s.state(`SELECT tenant_id, model FROM agent_rounds`) != "" {
				t.Errorf("a reader reads arguments that nobody has masked: %q", state)
			}
			continue
		}
		// A client can write texts into runs, and no event that looks like a result or that would stop retention.
		for _, values := range []string{
			`('-infinity', 'acme', 'own', 9, now(), 'text_delta')`, `('2200-01-01', 'acme', 'own', 9, now(), 'text_delta')`,
			`(date_trunc('month', now() AT TIME ZONE 'UTC'), 'acme', 'own', 9, now(), 'tool_call_result')`,
		} {
			if state := s.state(`INSERT INTO run_events (month, tenant_id, run_id, seq, at, kind) VALUES ` + values); state != "42501" {
				t.Errorf("a client writes the event %s: %q", values, state)
			}
		}
		// The tools of other tenants are hidden, also those of a tenant whose prefix is a hash.
		if n := s.count("tool_specs"); n != 2 {
			t.Errorf("%d tools", n)
		}
		b.sql(`UPDATE role_tenants SET tenant_id = 'globex.with-a-long-name' WHERE role_name = $1`, s.user)
		if n := s.count(`tool_specs WHERE tool_id IN ('core__ls', '` + toolspec.TenantNamespace("globex.with-a-long-name") + `__t')`); n != 2 || s.count("tool_specs") != 2 {
			t.Errorf("%d tools", n)
		}
		b.sql(`UPDATE role_tenants SET tenant_id = '*' WHERE role_name = $1`, s.user)
		if s.count("invocations") != 3 || s.count("tool_specs") != 4 || s.count("claims") != 3 {
			t.Error("* is not every tenant")
		}
	}

	w := b.session(b.login("pawl_worker_x", "pawl_worker"))
	if n := w.count("invocations"); n != 3 {
		t.Errorf("a worker sees %d calls", n)
	}
	for _, sql := range []string{
		`CREATE TABLE x ()`, `DROP TABLE claims`, `ALTER TABLE claims DISABLE ROW LEVEL SECURITY`, `TRUNCATE claims`, `DELETE FROM claims`, `UPDATE claims SET epoch = 2`,
		`DELETE FROM events`, `UPDATE events SET kind = ''`, `UPDATE decisions SET counted = true`, `DROP POLICY pawl_tenants ON invocations`, `CREATE ROLE x`,
		`INSERT INTO role_tenants VALUES ('x', '*')`, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`, `CREATE FUNCTION x() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
	} {
		if state := w.state(sql); state != "42501" {
			t.Errorf("a worker: %s: %q", sql, state)
		}
	}
	for sql, want := range map[string]string{`SELECT ensure_partitions('claims', 1)`: "22023", `SELECT drop_partition('claims')`: "", `SELECT drop_partition('events_default')`: "55006"} {
		if state := w.state(sql); state != want {
			t.Errorf("a worker: %s: %q", sql, state)
		}
	}
	if w.count("claims") != 3 {
		t.Error("a worker dropped a table")
	}
}

// TestWorkerNeedsItsPrivileges checks that some statement needs each privilege of pawl_worker.
func TestWorkerNeedsItsPrivileges(t *testing.T) {
	b := openAsOwner(t)
	s := b.session(b.url)
	files, err := filepath.Glob("*/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	explain := map[string]string{}
	of := map[string]string{}
	for _, dir := range files {
		statements, err := db.Statements(os.DirFS(filepath.Dir(dir)))
		if err != nil {
			t.Fatal(err)
		}
		for name, sql := range statements {
			name = filepath.Dir(dir) + name
			if of[name] != "" || strings.HasPrefix(sql, "LISTEN") {
				continue
			}
			p, err := s.conn.Prepare(t.Context(), name, sql)
			if err != nil {
				t.Fatal(err)
			}
			values := "(" + strings.TrimSuffix(strings.Repeat("NULL, ", len(p.ParamOIDs)), ", ") + ")"
			explain[name], of[name] = strings.TrimSuffix(`EXPLAIN EXECUTE "`+name+`"`+values, "()"), sql
		}
	}
	rows, err := s.conn.Query(t.Context(), `SELECT table_name::text, privilege_type::text FROM information_schema.role_table_grants
		WHERE grantee = 'pawl_worker' AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(table_name) AND privilege_type = 'SELECT')`)
	if err != nil {
		t.Fatal(err)
	}
	type grant struct{ Table, Privilege string }
	grants, err := pgx.CollectRows(rows, pgx.RowToStructByPos[grant])
	if err != nil || len(grants) < 100 {
		t.Fatal(len(grants), err)
	}
	// No statement of these files needs the following privileges. Functions need them that append events of runs and queue events for their seals and run as
	// their caller, and the search for secrets needs them, which reads all tables.
	elsewhere := map[grant]bool{{"run_events", "INSERT"}: true, {"audit_pending", "INSERT"}: true, {"role_tenants", "SELECT"}: true}
	for _, g := range grants {
		if elsewhere[g] {
			continue
		}
		needed := false
		if state := s.state(`BEGIN; REVOKE ` + g.Privilege + ` ON ` + g.Table + ` FROM pawl_worker; SET ROLE pawl_worker; SAVEPOINT try`); state != "" {
			t.Fatal(state)
		}
		for name, sql := range of {
			if !strings.Contains(sql, g.Table) {
				continue
			}
			if state := s.state(explain[name]); state == "42501" {
				needed = true
				break
			}
			s.state(`ROLLBACK TO try`)
		}
		s.state(`ROLLBACK`)
		if !needed {
			t.Errorf("no statement needs %s on %s", g.Privilege, g.Table)
		}
	}
}

// TestMigrateAsMember checks that a member of pawl_migrator migrates and that the role owns the tables.
func TestMigrateAsMember(t *testing.T) {
	b := empty(t)
	if missing, err := b.CreateRoles(t.Context()); err != nil || len(missing) != 0 {
		t.Fatal(missing, err)
	}
	b.sql(`CREATE TABLE of_somebody_else (n integer)`)
	s, err := postgres.Open(t.Context(), b.login("deploy", "pawl_migrator"), postgres.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if missing, err := s.CreateRoles(t.Context()); err != nil || len(missing) != 0 {
		t.Fatal(missing, err)
	}
	for range 2 {
		if _, err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.GrantRoles(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := value[int](b, `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'of_somebody_else' AND relowner <> 'pawl_migrator'::regrole`); n != 0 {
		t.Errorf("%d tables have another owner", n)
	}
	if n := value[int](b, `SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef AND proowner <> 'pawl_migrator'::regrole`); n != 0 {
		t.Errorf("%d functions have another owner", n)
	}
	w, err := postgres.Open(t.Context(), b.login("app", "pawl_worker"), postgres.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if err := errors.Join(w.CheckSchema(t.Context()), w.EnsurePartitions(t.Context(), 1)); err != nil {
		t.Error(err)
	}
	b.sql(`DROP TABLE of_somebody_else`)
	if err := w.EachRow(t.Context(), func(string, []string, []byte) error { return nil }); err != nil {
		t.Errorf("the search for secrets: %v", err)
	}
}

// TestGrantRolesOfAnotherRelease checks that a row policy with another text, and row security that is turned off, are restored, and that an earlier release
// does not change the grants of a later one.
func TestGrantRolesOfAnotherRelease(t *testing.T) {
	b := open(t)
	owner, err := postgres.Open(t.Context(), b.login("deploy", "pawl_migrator"), postgres.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(owner.Close)
	holes := []string{
		`ALTER POLICY pawl_tenants ON invocations USING (true)`, `COMMENT ON POLICY pawl_tenants ON invocations IS 'an earlier text'`,
		`DROP POLICY pawl_everybody ON claims`, `ALTER TABLE payloads DISABLE ROW LEVEL SECURITY`, `GRANT DELETE ON policies TO pawl_client`,
	}
	// state returns one line for each row policy and one for each table with its privileges.
	state := func() []string {
		return strings.Split(value[string](b, `SELECT string_agg(regexp_replace(line, '\s+', ' ', 'g'), E'\n' ORDER BY line) FROM (
			SELECT concat_ws(' ', polrelid::regclass, polname, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) FROM pg_policy UNION ALL
			SELECT concat_ws(' ', relname, relrowsecurity, (SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(relacl) a))
			FROM pg_class WHERE relnamespace = 'public'::regnamespace) lines (line)`), "\n")
	}
	before := state()
	for _, hole := range holes {
		b.sql(hole)
	}
	holed := state()
	b.sql(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`)
	if err := owner.GrantRoles(t.Context(), 0); err != nil || !slices.Equal(state(), holed) {
		t.Errorf("a newer schema changed (%v)", err)
	}
	b.sql(`DELETE FROM goose_db_version WHERE version_id = 9999`)
	if err := owner.GrantRoles(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	after := state()
	for _, line := range before {
		if !slices.Contains(after, line) {
			t.Errorf("no longer: %s", line)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d lines, not %d", len(after), len(before))
	}
}

// TestMigrateWaitsForLocks checks that a migration that cannot get a lock says so and applies nothing, and that it succeeds later.
func TestMigrateWaitsForLocks(t *testing.T) {
	b := empty(t)
	if _, err := b.MigrationStatus(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := b.holds(`LOCK TABLE goose_db_version IN ACCESS EXCLUSIVE MODE`)
	_, err := b.MigrateWithin(t.Context(), 0)
	var stopped *postgres.MigrationStopped
	if !errors.As(err, &stopped) || stopped.State != "55P03" || !contains(err.Error(), "pg_stat_activity") || !contains(err.Error(), "run `pawl migrate up` again") {
		t.Errorf("%v", err)
	}
	if n := value[int](b, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`); n != 1 {
		t.Errorf("%d tables", n)
	}
	// The next call tries again until it has the lock.
	done := make(chan error, 1)
	go func() {
		_, err := b.Migrate(t.Context())
		done <- err
	}()
	b.waitForLock()
	if err := other.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
