package secrets

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
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/worker"
)

// soonOver is a policy with a deadline of twelve seconds for each call.
const soonOver = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    budgets: {deadlineMs: 12000}
`

// TestCopiedSecret: a sealed secret does not open if its row is copied to another tenant, connection, provider or version, or if the hosts of its connection
// are changed. The call fails, no request is sent, and the error says only that the call is unavailable.
func TestCopiedSecret(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, soonOver)
	v, token := e2etest.NewVault(w), e2etest.NewCanary()
	s := e2etest.NewService(t, string(token))
	// copied has, for each connection of acme, the statement that changes its row. Some statements copy the sealed token of another row, and no request may have
	// that token.
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
	v.Add("source", s.Provider(), string(token))
	v.Grant("source", e2etest.Actor)
	addFor(v, "globex", "tenant", s.Provider(), string(token))
	for name, sql := range copied {
		v.Add(name, s.Provider(), string(token))
		v.Grant(name, e2etest.Actor)
		if n := e2etest.Query[int](w, sql); len(n) != 1 {
			t.Fatalf("%s: %d rows", name, len(n))
		}
	}
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.Fetch(s), e2etest.Connected)))
	e2etest.WantText(t, w.Invoke(e2etest.Over(e2etest.Invocation("source", "test__read", `{}`), "source")), "200 welcome") // the copied row itself opens
	seen := s.Requests()
	calls := map[string]toolspec.Invocation{}
	for name := range copied {
		calls[name] = e2etest.Over(e2etest.Invocation(name, "test__read", `{}`), name)
		w.Start(calls[name])
	}
	var all []toolspec.Invocation
	for name, inv := range calls {
		r := w.Result(w.Start(inv))
		if r.OK || r.ErrorCode != toolspec.CodeUnavailable {
			t.Errorf("%s: %+v", name, r)
		}
		all = append(all, inv)
	}
	if n := s.Requests() - seen; n != 0 {
		t.Errorf("%d requests", n)
	}
	if where := token.Find(w.Traces(all...)); len(where) > 0 {
		t.Errorf("the token stands in %q", where)
	}
}

// addFor adds a connection of any tenant.
func addFor(v *e2etest.Vault, tenantID, connectionID string, p broker.Provider, token string) {
	v.W.T.Helper()
	credential := broker.NewCredential(map[string]broker.Secret{broker.FieldToken: capability.NewSecret([]byte(token))})
	at := broker.At(tenantID, connectionID, p, p.Hosts, 1)
	sealed, err := broker.New(nil, v.Ring, broker.Options{}).Seal(credential, at, time.Time{})
	if err != nil {
		v.W.T.Fatal(err)
	}
	e2etest.Query[int](v.W, `INSERT INTO connections (tenant_id, connection_id, provider, settings, hosts, scopes, added_by)
		SELECT $1, $2, provider, settings, hosts, scopes, added_by FROM connections LIMIT 1 RETURNING 1`, tenantID, connectionID)
	e2etest.Query[int](v.W, `INSERT INTO connection_secrets (tenant_id, connection_id, version, key_id, sealed) VALUES ($1, $2, 1, $3, $4) RETURNING 1`,
		tenantID, connectionID, sealed.KeyID, sealed.Bytes)
}

// lived lets the program add, use and rotate connections of a world and seal them with a new key, and returns the canaries that are their secrets.
func lived(t *testing.T, w *e2etest.World) (secrets []e2etest.Canary) {
	t.Helper()
	first, second := e2etest.NewCanary(), e2etest.NewCanary()
	v := e2etest.NewVault(w)
	s := e2etest.NewService(t, string(first))
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.Fetch(s), e2etest.Connected)))
	providers := filepath.Join(t.TempDir(), "providers.yaml")
	if err := os.WriteFile(providers, []byte("id: test\nkind: bearer\ninsecure: true\nhosts: ["+s.Provider().Hosts[0]+"]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	run := func(secret e2etest.Canary, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), e2etest.WaitTimeout)
		defer cancel()
		cmd := w.Child(ctx, e2etest.ChildCommand, args...)
		cmd.Stdin = strings.NewReader(string(secret) + "\n")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, text)
		}
		if secret != "" && len(secret.Find([]e2etest.Trace{{Where: "output", Text: text}})) > 0 {
			t.Errorf("%q prints the secret", args)
		}
		return string(text)
	}
	run(first, "connections", "add", "c1", "--provider", "test", "--providers", providers, "--secret-stdin", "-")
	run("", "connections", "grant", "c1", "--to", e2etest.Actor)
	if text := run("", "connections", "test", "c1"); text != "the service answered 200 OK\n" {
		t.Errorf("connections test: %s", text)
	}
	e2etest.WantText(t, w.Invoke(e2etest.Over(e2etest.Invocation("one", "test__read", `{}`), "c1")), "200 welcome")
	s.Mu.Lock()
	s.Token = string(second)
	s.Mu.Unlock()
	run(second, "connections", "rotate", "c1", "--secret-stdin", "-")
	e2etest.WantText(t, w.Invoke(e2etest.Over(e2etest.Invocation("two", "test__read", `{}`), "c1")), "200 welcome")
	run("", "keyring", "add", v.File)
	ring, err := seal.Load(v.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	run("", "keyring", "promote", v.File, fmt.Sprint(ring.Keys()[1].ID))
	run("", "keyring", "rotate", v.File)
	e2etest.WantText(t, w.Invoke(e2etest.Over(e2etest.Invocation("three", "test__read", `{}`), "c1")), "200 welcome")
	return []e2etest.Canary{first, second}
}

// TestDatabaseDump: a copy of the database has no secret in any form.
func TestDatabaseDump(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	secrets := lived(t, w)
	// Check that the search finds texts where they are stored.
	plain, encoded, binary := e2etest.NewCanary(), e2etest.NewCanary(), e2etest.NewCanary()
	e2etest.Query[int](w, `INSERT INTO events (kind, tenant_id, detail) VALUES ('planted', 'acme', json_build_object('a', $1::text, 'b', $2::text)) RETURNING 1`,
		string(plain), base64.StdEncoding.EncodeToString([]byte("x"+encoded)))
	e2etest.Query[int](w, `UPDATE connection_secrets SET sealed = sealed || $1::bytea RETURNING 1`, []byte(binary))
	dump := []e2etest.Trace{{Where: "the dump", Text: dump(w)}}
	for _, c := range []e2etest.Canary{plain, encoded, binary} {
		if len(c.Find(dump)) == 0 {
			t.Fatal("the search does not find what was planted")
		}
	}
	for _, c := range secrets {
		if len(c.Find(dump)) > 0 {
			t.Error("a secret stands in the dump")
		}
	}
}

// dump returns a dump of the database by pg_dump. If pg_dump is not installed, it returns all rows of all tables.
func dump(w *e2etest.World) []byte {
	w.T.Helper()
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	slices.Reverse(programs)
	if path, err := exec.LookPath("pg_dump"); err == nil {
		programs = append(programs, path)
	}
	for _, program := range programs {
		cmd := exec.CommandContext(w.T.Context(), program, "--dbname", w.Database)
		if text, err := cmd.Output(); err == nil {
			return text
		}
	}
	w.T.Log("there is no pg_dump for this server: all rows are read instead")
	var all []byte
	for _, row := range w.Rows() {
		all = append(all, row.Text...)
	}
	return all
}

// TestLoggedStatements: a database that logs every statement with its parameters logs no secret, because a secret is sealed before it becomes a parameter
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
	log := func() []e2etest.Trace {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(data), "server.log"))
		if err != nil {
			t.Fatal(err)
		}
		return []e2etest.Trace{{Where: "the log", Text: text}}
	}
	w := e2etest.NewWorldOn(t, devstacktest.Temporal(t), server.URL(), e2etest.PlainPolicy)
	logged := e2etest.NewCanary()
	w.Until(func() bool {
		e2etest.Query[string](w, `SELECT $1::text`, string(logged))
		return len(logged.Find(log())) > 0
	}, "the database logs parameters")
	secrets := lived(t, w)
	sealed := hex.EncodeToString(e2etest.Scalar[[]byte](w, `SELECT sealed FROM connection_secrets`))
	text := string(log()[0].Text)
	if !strings.Contains(text, "INSERT INTO connection_secrets") || !strings.Contains(strings.ToLower(text), sealed) {
		t.Error("what is sealed is not logged: the test looks at nothing")
	}
	for _, c := range secrets {
		if len(c.Find(log())) > 0 {
			t.Error("a secret stands in the log of the database")
		}
	}
}
