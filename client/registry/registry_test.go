package registry_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/registry"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/internal/postgres/registrations"
)

const shop = `format: 1
name: shop
tools:
  - id: tenant-acme__get
    description: Reads the shop.
    version: "1"
    effect: read_only
    risk: low
    connection: none
    host: api.example.com
    redaction: {allow: [/name]}
    input: {type: object, properties: {}}
    request: {method: GET, path: /shop}
    response: {type: json}
`

const server = "mcpServers: {tenant-acme_docs: {url: 'https://mcp.example.com/mcp'}}"

func open(t *testing.T) (*registry.Registry, *postgres.Store) {
	t.Helper()
	r, store, _ := openAt(t)
	return r, store
}

// openAt also returns a connection to the database, for changes beside the code that checks registrations.
func openAt(t *testing.T) (*registry.Registry, *postgres.Store, *pgx.Conn) {
	t.Helper()
	url := postgrestest.Database(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	store, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 4, Application: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return registry.Of(store), store, conn
}

func of(tenantID string, kind registry.Kind, text string) registry.Registration {
	return registry.Registration{TenantID: tenantID, Kind: kind, File: "shop.yaml", Document: []byte(text), By: "user:ops"}
}

// TestDocumentsAreCheckedAtOnce: what no worker would run is refused with its reason and its position, and nothing is stored.
func TestDocumentsAreCheckedAtOnce(t *testing.T) {
	t.Parallel()
	r, _ := open(t)
	for name, tc := range map[string]struct {
		r    registry.Registration
		want string
	}{
		"no YAML":                {of("acme", registry.HTTP, "format: 1\nname: ["), "shop.yaml:"},
		"an unknown key":         {of("acme", registry.HTTP, strings.Replace(shop, "risk: low", "risk: low\n    url: x", 1)), "shop.yaml:9:5: tools[0].url"},
		"a bad schema":           {of("acme", registry.HTTP, strings.Replace(shop, "properties: {}", "properties: 3", 1)), "shop.yaml:4:5: tools[0]"},
		"another namespace":      {of("acme", registry.HTTP, strings.Replace(shop, "tenant-acme__", "shop__", 1)), "begins with tenant-acme__"},
		"another tenant's":       {of("acme", registry.HTTP, strings.Replace(shop, "tenant-acme__", "tenant-globex__", 1)), "begins with tenant-acme__"},
		"an MCP id":              {of("acme", registry.HTTP, strings.Replace(shop, "tenant-acme__get", "mcp__tenant-acme_docs__get", 1)), "begins with tenant-acme__"},
		"a name with a slash":    {of("acme", registry.HTTP, strings.Replace(shop, "name: shop", "name: a/b", 1)), "a-z"},
		"no tools":               {of("acme", registry.HTTP, "format: 1\nname: shop\ntools: []"), "1 to 256"},
		"too large":              {of("acme", registry.HTTP, strings.Repeat("#", registry.MaxDocument+1)), "bytes"},
		"a type without slash":   {of("acme", registry.HTTP, withBody("json")), `shop.yaml:4:5: tools[0]: request.body.mediaType is no media type, such as application/json`},
		"a body in parts":        {of("acme", registry.HTTP, withBody("multipart/form-data; boundary=x")), "request.body.mediaType: a body of multipart/form-data is not supported"},
		"another kind":           {of("acme", "openapi", shop), "http or mcp"},
		"a tenant of no name":    {of("", registry.HTTP, shop), "tenantId"},
		"nobody":                 {registry.Registration{TenantID: "acme", Kind: registry.HTTP, Document: []byte(shop)}, "is missing"},
		"a server with commands": {of("acme", registry.MCP, "mcpServers: {tenant-acme_docs: {command: sh}}"), "shop.yaml:1:32: mcpServers.tenant-acme_docs: only a server over streamable HTTP"},
		"a server with SSE":      {of("acme", registry.MCP, "mcpServers: {tenant-acme_docs: {type: sse, url: 'https://mcp.example.com'}}"), "only a server over streamable HTTP"},
		"a server on localhost":  {of("acme", registry.MCP, "mcpServers: {tenant-acme_docs: {url: 'http://localhost:1'}}"), "https://"},
		"two servers":            {of("acme", registry.MCP, "mcpServers: {tenant-acme_a: {url: 'https://a.example'}, tenant-acme_b: {url: 'https://b.example'}}"), "one server"},
		"another server":         {of("acme", registry.MCP, "mcpServers: {github: {url: 'https://a.example'}}"), "begins with tenant-acme_"},
		"a worker's secret":      {of("acme", registry.MCP, "mcpServers: {tenant-acme_a: {url: 'https://a.example', tokenFrom: PAWL_TEST_TOKEN}}"), "no connection, scopes and tokenFrom"},
		"a connection":           {of("acme", registry.MCP, "mcpServers: {tenant-acme_a: {url: 'https://a.example', connection: required}}"), "no connection, scopes and tokenFrom"},
		"globex's server":        {of("acme", registry.MCP, "mcpServers: {tenant-globex_a: {url: 'https://a.example'}}"), "begins with tenant-acme_"},
	} {
		if done, err := r.Register(t.Context(), tc.r); !errors.Is(err, client.ErrToolsInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
	if all, err := r.List(t.Context(), "acme"); err != nil || len(all) > 0 {
		t.Errorf("stored are %+v, %v", all, err)
	}
}

// withBody is shop with a body of a media type.
func withBody(mediaType string) string {
	return strings.NewReplacer(
		"read_only", "state_change", "properties: {}", "properties: {body: {type: object}}",
		"{method: GET, path: /shop}", "{method: POST, path: /shop, body: {arg: body, type: form, mediaType: "+mediaType+"}}",
	).Replace(shop)
}

// TestEarlierDocuments: a document that an earlier release has registered can be made the version in force again.
func TestEarlierDocuments(t *testing.T) {
	t.Parallel()
	for _, mediaType := range []string{"json", "multipart/form-data"} {
		r, store := open(t)
		document := withBody(mediaType)
		if _, _, err := store.RegisterTools(t.Context(), registrations.Registration{
			TenantID: "acme", Name: "shop", Kind: registry.HTTP, Digest: "earlier", Tools: []string{"tenant-acme__get"}, Document: document, By: "user:ops",
		}); err != nil {
			t.Fatal(err)
		}
		if done, err := r.Register(t.Context(), of("acme", registry.HTTP, withBody("application/json"))); err != nil || done.Version != 2 {
			t.Fatalf("%+v, %v", done, err)
		}
		if done, err := r.Rollback(t.Context(), "acme", "shop", 1, "user:ops"); err != nil || done.Version != 3 {
			t.Errorf("%s: %+v, %v", mediaType, done, err)
		}
	}
}

// TestVersions: a registration has versions, of which one is in force. The same document is no new version, and a name keeps its kind and its
// URL for ever, because reviews are by the name.
func TestVersions(t *testing.T) {
	t.Parallel()
	r, _ := open(t)
	register := func(reg registry.Registration, version int, changed bool) {
		t.Helper()
		done, err := r.Register(t.Context(), reg)
		if err != nil || done.Version != version || done.Changed != changed {
			t.Fatalf("%+v, %v; want version %d, changed %t", done, err, version, changed)
		}
	}
	refused := func(reg registry.Registration, why string) {
		t.Helper()
		if _, err := r.Register(t.Context(), reg); !errors.Is(err, client.ErrToolsRefused) || !strings.Contains(err.Error(), why) {
			t.Fatalf("got %v, want %s", err, why)
		}
	}
	next := strings.Replace(shop, "path: /shop", "path: /shop/2", 1)
	register(of("acme", registry.HTTP, shop), 1, true)
	register(of("acme", registry.HTTP, "# the same, in another layout\n"+shop), 1, false)
	register(of("acme", registry.HTTP, next), 2, true)
	register(of("globex", registry.HTTP, strings.Replace(shop, "tenant-acme", "tenant-globex", 1)), 1, true)
	refused(of("acme", registry.HTTP, strings.Replace(shop, "name: shop", "name: other", 1)), "the registration shop has a tool")
	if done, err := r.Rollback(t.Context(), "acme", "shop", 1, "user:ops"); err != nil || done.Version != 3 || !done.Changed {
		t.Fatalf("%+v, %v", done, err)
	}
	if text, err := r.Document(t.Context(), "acme", "shop", 3); err != nil || text != shop {
		t.Errorf("%q, %v", text, err)
	}
	versions, err := r.Versions(t.Context(), "acme", "shop")
	if err != nil || len(versions) != 3 || versions[0].EndedAt != nil || versions[1].EndedAt == nil || versions[0].Digest != versions[2].Digest || !slices.Equal(versions[0].Tools, []string{"tenant-acme__get"}) {
		t.Errorf("%+v, %v", versions, err)
	}
	for range 2 {
		version, err := r.Unregister(t.Context(), "acme", "shop", "user:ops")
		if (err != nil || version != 3) && !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%d, %v", version, err)
		}
	}
	if _, err := r.Rollback(t.Context(), "acme", "shop", 9, "user:ops"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a version that never was: %v", err)
	}
	if _, err := r.Versions(t.Context(), "globex", "tenant-acme_docs"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a registration of another tenant: %v", err)
	}
	register(of("acme", registry.HTTP, shop), 4, true) // removed and registered again
	register(of("acme", registry.MCP, server), 1, true)
	refused(of("acme", registry.MCP, strings.Replace(server, "mcp.example.com", "evil.example.com", 1)), "another URL")
	if _, err := r.Unregister(t.Context(), "acme", "tenant-acme_docs", "user:ops"); err != nil {
		t.Fatal(err)
	}
	refused(of("acme", registry.MCP, strings.Replace(server, "mcp.example.com", "evil.example.com", 1)), "another URL")
	refused(of("acme", registry.HTTP, strings.Replace(strings.Replace(shop, "name: shop", "name: tenant-acme_docs", 1), "__get", "__x", 1)), "another kind")
	if all, err := r.List(t.Context(), "acme"); err != nil || len(all) != 1 || all[0].Version != 4 {
		t.Errorf("in force are %+v, %v", all, err)
	}
}

// TestRegisteringAtTheSameTime: one version is in force, whoever registers at the same time.
func TestRegisteringAtTheSameTime(t *testing.T) {
	t.Parallel()
	r, _ := open(t)
	errs := make(chan error)
	for i := range 8 {
		go func() {
			_, err := r.Register(t.Context(), of("acme", registry.HTTP, strings.Replace(shop, "/shop", "/shop/"+string(rune('a'+i)), 1)))
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	versions, err := r.Versions(t.Context(), "acme", "shop")
	if err != nil || len(versions) != 8 || versions[0].EndedAt != nil || slices.ContainsFunc(versions[1:], func(v registry.Version) bool { return v.EndedAt == nil }) {
		t.Errorf("%+v, %v", versions, err)
	}
}

// TestATenantHasALimit: all workers have what a tenant registers, so a tenant that registers and removes all the time is refused, and no other
// tenant is.
func TestATenantHasALimit(t *testing.T) {
	t.Parallel()
	r, _, conn := openAt(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	full := func(sql, says string, document registry.Registration) {
		t.Helper()
		exec("DELETE FROM tool_registrations")
		exec(sql)
		if _, err := r.Register(t.Context(), document); !errors.Is(err, client.ErrToolsRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
		if done, err := r.Register(t.Context(), of("globex", registry.HTTP, strings.ReplaceAll(shop, "acme", "globex"))); err != nil || !done.Changed {
			t.Errorf("another tenant: %v", err)
		}
		exec("UPDATE tool_registrations SET ended_at = now() - interval '61 minutes' WHERE ended_at IS NOT NULL")
		if done, err := r.Register(t.Context(), document); err != nil || !done.Changed {
			t.Errorf("%s, an hour later: %v", says, err)
		}
	}
	const rows = `INSERT INTO tool_registrations (tenant_id, name, version, kind, digest, address, tools, document, registered_by, ended_by, ended_at)
		SELECT 'acme', 'n' || n, 1, '%kind', '', '', '{}', repeat('x', %bytes), '', '', now() FROM generate_series(1, %n) n`
	fill := func(kind, bytes, n string) string {
		return strings.NewReplacer("%kind", kind, "%bytes", bytes, "%n", n).Replace(rows)
	}
	full(fill("http", "1", "200"), "200 versions", of("acme", registry.HTTP, shop))
	full(fill("http", "1048576", "32"), "32 MiB", of("acme", registry.HTTP, shop))
	full(fill("mcp", "1", "20"), "20 versions of MCP servers", of("acme", registry.MCP, server))
}

// TestRemovingWhileAnotherRegisters: the version that another transaction makes at this moment is removed, and not overlooked.
func TestRemovingWhileAnotherRegisters(t *testing.T) {
	t.Parallel()
	r, _, conn := openAt(t)
	if _, err := r.Register(t.Context(), of("acme", registry.HTTP, shop)); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`SELECT pg_advisory_xact_lock(hashtextextended('tool_registrations acme', 0))`,
		`UPDATE tool_registrations SET ended_at = now(), ended_by = ''`,
		`INSERT INTO tool_registrations (tenant_id, name, version, kind, digest, address, tools, document, registered_by) VALUES ('acme', 'shop', 2, 'http', '', '', '{}', '', '')`,
	} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	type removed struct {
		version int
		err     error
	}
	done := make(chan removed, 1)
	go func() {
		version, err := r.Unregister(t.Context(), "acme", "shop", "user:ops")
		done <- removed{version, err}
	}()
	for waits := false; !waits; {
		if err := tx.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity, pg_sleep(0.01) WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid)))`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.err != nil || got.version != 2 {
		t.Errorf("%+v", got)
	}
}
