package e2etest

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/worker"
)

// soonOver is plainPolicy under which calls end that wait for something for twelve seconds.
const soonOver = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    budgets: {deadlineMs: 12000}
`

// TestCopiedSecret: a sealed row that is copied to another tenant, connection, provider or version, or whose connection is made to lead
// elsewhere, does not open there: the call fails, nothing is sent, and nobody is told more than that it is not to be had.
func TestCopiedSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, soonOver)
	v, token := newVault(w), newCanary()
	s := newService(t, string(token))
	// What is done to the rows of acme's connection of that name. From elsewhere they get the token, which no request may have then.
	copied := map[string]string{
		"tenant": `UPDATE connection_secrets s SET sealed = o.sealed, key_id = o.key_id FROM connection_secrets o
			WHERE s.tenant_id = 'acme' AND s.connection_id = 'tenant' AND o.tenant_id = 'globex' AND o.connection_id = 'tenant' RETURNING 1`,
		"connection": `UPDATE connection_secrets s SET sealed = o.sealed, key_id = o.key_id FROM connection_secrets o
			WHERE s.connection_id = 'connection' AND o.connection_id = 'source' RETURNING 1`,
		"version": `WITH moved AS (UPDATE connections SET secret_version = 2 WHERE connection_id = 'version')
			UPDATE connection_secrets SET version = 2 WHERE connection_id = 'version' RETURNING 1`,
		"provider": `UPDATE connections SET settings = jsonb_set(settings::jsonb, '{id}', '"another"') WHERE connection_id = 'provider' RETURNING 1`,
		"settings": `UPDATE connections SET settings = jsonb_set(settings::jsonb, '{kind}', '"basic"') WHERE connection_id = 'settings' RETURNING 1`,
		"hosts":    `UPDATE connections SET hosts = hosts || '{evil.example}' WHERE connection_id = 'hosts' RETURNING 1`,
		"changed": `UPDATE connection_secrets SET sealed = set_byte(sealed, length(sealed) - 1, get_byte(sealed, length(sealed) - 1) # 1)
			WHERE connection_id = 'changed' RETURNING 1`,
	}
	v.add("source", s.provider(), string(token))
	v.grant("source", actor)
	v.addFor("globex", "tenant", s.provider(), string(token))
	for name, sql := range copied {
		v.add(name, s.provider(), string(token))
		v.grant(name, actor)
		if n := query[int](w, sql); len(n) != 1 {
			t.Fatalf("%s: %d rows", name, len(n))
		}
	}
	w.workWith(v.config(), worker.Tools(tool("test__read", fetch(s), connected)))
	wantText(t, w.invoke(over(invocation("source", "test__read", `{}`), "source")), "200 welcome") // the original
	seen := s.requests()
	calls := map[string]toolspec.Invocation{}
	for name := range copied {
		calls[name] = over(invocation(name, "test__read", `{}`), name)
		w.start(calls[name])
	}
	var all []toolspec.Invocation
	for name, inv := range calls {
		r := w.result(w.start(inv))
		if r.OK || r.ErrorCode != toolspec.CodeUnavailable {
			t.Errorf("%s: %+v", name, r)
		}
		all = append(all, inv)
	}
	if n := s.requests() - seen; n != 0 {
		t.Errorf("%d requests", n)
	}
	if where := token.find(w.traces(all...)); len(where) > 0 {
		t.Errorf("the token stands in %q", where)
	}
}

// addFor is add for any tenant.
func (v *vault) addFor(tenantID, connectionID string, p broker.Provider, token string) {
	v.w.t.Helper()
	credential := broker.NewCredential(map[string]broker.Secret{broker.FieldToken: capability.NewSecret([]byte(token))})
	at := broker.At(tenantID, connectionID, p, p.Hosts, 1)
	sealed, err := broker.New(nil, v.ring, broker.Options{}).Seal(credential, at, time.Time{})
	if err != nil {
		v.w.t.Fatal(err)
	}
	query[int](v.w, `INSERT INTO connections (tenant_id, connection_id, provider, settings, hosts, scopes, added_by)
		SELECT $1, $2, provider, settings, hosts, scopes, added_by FROM connections LIMIT 1 RETURNING 1`, tenantID, connectionID)
	query[int](v.w, `INSERT INTO connection_secrets (tenant_id, connection_id, version, key_id, sealed) VALUES ($1, $2, 1, $3, $4) RETURNING 1`,
		tenantID, connectionID, sealed.KeyID, sealed.Bytes)
}

// lived is a world in which the program has added, used, rotated and sealed anew connections whose secrets are the canaries.
func lived(t *testing.T, w *world) (secrets []canary) {
	t.Helper()
	first, second := newCanary(), newCanary()
	v := newVault(w)
	s := newService(t, string(first))
	w.workWith(v.config(), worker.Tools(tool("test__read", fetch(s), connected)))
	providers := filepath.Join(t.TempDir(), "providers.yaml")
	if err := os.WriteFile(providers, []byte("id: test\nkind: bearer\ninsecure: true\nhosts: ["+s.provider().Hosts[0]+"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(secret canary, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := w.child(ctx, childCommand, args...)
		cmd.Stdin = strings.NewReader(string(secret) + "\n")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, text)
		}
		if secret != "" && len(secret.find([]trace{{"output", text}})) > 0 {
			t.Errorf("%q prints the secret", args)
		}
		return string(text)
	}
	run(first, "connections", "add", "c1", "--provider", "test", "--providers", providers, "--secret-stdin", "-")
	run("", "connections", "grant", "c1", "--to", actor)
	if text := run("", "connections", "test", "c1"); text != "the service answered 200 OK\n" {
		t.Errorf("connections test: %s", text)
	}
	wantText(t, w.invoke(over(invocation("one", "test__read", `{}`), "c1")), "200 welcome")
	s.mu.Lock()
	s.token = string(second)
	s.mu.Unlock()
	run(second, "connections", "rotate", "c1", "--secret-stdin", "-")
	wantText(t, w.invoke(over(invocation("two", "test__read", `{}`), "c1")), "200 welcome")
	run("", "keyring", "add", v.file)
	ring, err := seal.Load(v.file, nil)
	if err != nil {
		t.Fatal(err)
	}
	run("", "keyring", "promote", v.file, fmt.Sprint(ring.Keys()[1].ID))
	run("", "keyring", "rotate", v.file)
	wantText(t, w.invoke(over(invocation("three", "test__read", `{}`), "c1")), "200 welcome")
	return []canary{first, second}
}

// TestDatabaseDump: who has a copy of the database has no secret, in no form.
func TestDatabaseDump(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	secrets := lived(t, w)
	// The search must find what is there.
	plain, encoded, binary := newCanary(), newCanary(), newCanary()
	query[int](w, `INSERT INTO events (kind, tenant_id, detail) VALUES ('planted', 'acme', json_build_object('a', $1::text, 'b', $2::text)) RETURNING 1`,
		string(plain), base64.StdEncoding.EncodeToString([]byte("x"+encoded)))
	query[int](w, `UPDATE connection_secrets SET sealed = sealed || $1::bytea RETURNING 1`, []byte(binary))
	dump := []trace{{"the dump", w.dump()}}
	for _, c := range []canary{plain, encoded, binary} {
		if len(c.find(dump)) == 0 {
			t.Fatal("the search does not find what was planted")
		}
	}
	for _, c := range secrets {
		if len(c.find(dump)) > 0 {
			t.Error("a secret stands in the dump")
		}
	}
}

// dump is what pg_dump makes of the database, or where there is none, all rows of all tables.
func (w *world) dump() []byte {
	w.t.Helper()
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	slices.Reverse(programs)
	if path, err := exec.LookPath("pg_dump"); err == nil {
		programs = append(programs, path)
	}
	for _, program := range programs {
		cmd := exec.CommandContext(w.t.Context(), program, "--dbname", w.database)
		if text, err := cmd.Output(); err == nil {
			return text
		}
	}
	w.t.Log("there is no pg_dump for this server: all rows are read instead")
	var all []byte
	for _, row := range w.rows() {
		all = append(all, row.text...)
	}
	return all
}

// TestLoggedStatements: a database that logs every statement with its parameters logs no secret, for it is sealed before it becomes one
// (faults, case 37).
func TestLoggedStatements(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnPostgres(t)
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{
		`ALTER SYSTEM SET log_statement = 'all'`, `ALTER SYSTEM SET log_min_duration_statement = 0`, `ALTER SYSTEM SET log_parameter_max_length = -1`,
		`ALTER SYSTEM SET log_parameter_max_length_on_error = -1`, `SELECT pg_reload_conf()`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	var data string
	if err := conn.QueryRow(t.Context(), `SHOW data_directory`).Scan(&data); err != nil {
		t.Fatal(err)
	}
	log := func() []trace {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(data), "server.log"))
		if err != nil {
			t.Fatal(err)
		}
		return []trace{{"the log", text}}
	}
	w := newWorldOn(t, devstacktest.Temporal(t), server.URL(), plainPolicy)
	logged := newCanary()
	w.until(func() bool {
		query[string](w, `SELECT $1::text`, string(logged))
		return len(logged.find(log())) > 0
	}, "the database logs parameters")
	secrets := lived(t, w)
	sealed := hex.EncodeToString(scalar[[]byte](w, `SELECT sealed FROM connection_secrets`))
	text := string(log()[0].text)
	if !strings.Contains(text, "INSERT INTO connection_secrets") || !strings.Contains(strings.ToLower(text), sealed) {
		t.Error("what is sealed is not logged: the test looks at nothing")
	}
	for _, c := range secrets {
		if len(c.find(log())) > 0 {
			t.Error("a secret stands in the log of the database")
		}
	}
}
