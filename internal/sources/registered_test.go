package sources

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/client/registry"
	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/internal/postgres/registrations"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec/source"
	"github.com/pawl-run/pawl/toolspec/source/sourcetest"
)

// registeredServerDocument is a file with one MCP server of acme.
const registeredServerDocument = "mcpServers: {tenant-acme_docs: {url: 'https://mcp.example.com/mcp'}}"

// noReviews has no reviews, and never gets any.
type noReviews struct{}

func (noReviews) Review(string, string) (policy.MCPReview, bool) { return policy.MCPReview{}, false }
func (noReviews) Changed() <-chan struct{}                       { return nil }

// registering has a database with registrations, and the parts of a worker that the tests need.
type registering struct {
	t        *testing.T
	url      string
	registry *registry.Registry
	store    *postgres.Store
	serve    func(mcp.Server) (source.Source, error)
	moved    chan struct{}
}

func newRegistering(t *testing.T) *registering {
	t.Helper()
	r := &registering{t: t, url: postgrestest.Database(t), moved: make(chan struct{}, 1)}
	store, err := postgres.Open(t.Context(), r.url, postgres.Options{MaxConns: 2, Application: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	r.store, r.registry = store, registry.Of(store)
	server := sdk.NewServer(&sdk.Implementation{Name: "docs", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "search", Description: "Searches."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
	web := httptest.NewTLSServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{DisableLocalhostProtection: true}))
	t.Cleanup(web.Close)
	r.serve = func(s mcp.Server) (source.Source, error) {
		s.Roots = web.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		s.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, web.Listener.Addr().String())
		}
		return mcp.NewSource(s, mcp.Options{Reviews: noReviews{}, Log: slog.New(slog.DiscardHandler), Lookup: func(string) (string, bool) { return "", false }})
	}
	return r
}

func (r *registering) source() *registeredTools {
	return &registeredTools{store: r.store, moved: r.moved, serve: r.serve, log: slog.New(slog.DiscardHandler), every: time.Hour, pause: time.Millisecond}
}

func (r *registering) register(kind registry.Kind, document string) {
	r.t.Helper()
	if _, err := r.registry.Register(r.t.Context(), registry.Registration{TenantID: "acme", Kind: kind, Document: []byte(document), By: "user:ops"}); err != nil {
		r.t.Fatal(err)
	}
}

// exec changes the database directly, without the checks of registrations.
func (r *registering) exec(sql string, args ...any) {
	r.t.Helper()
	conn, err := pgx.Connect(r.t.Context(), r.url)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close(r.t.Context())
	if _, err := conn.Exec(r.t.Context(), sql, args...); err != nil {
		r.t.Fatal(err)
	}
}

// TestRegisteredToolsAreASource: the source of registered tools keeps the contract of sources.
func TestRegisteredToolsAreASource(t *testing.T) {
	r := newRegistering(t)
	r.register(registry.HTTP, httpDocument("tenant-acme__get"))
	sourcetest.Run(t, func(*testing.T) source.Source { return r.source() })
}

// TestRegisteredToolsFollowTheDatabase: the worker has the tools of the registrations, and a version that has
// ended stays for its open calls. A document that no worker can read, and a server that is away, remove no
// other tool.
func TestRegisteredToolsFollowTheDatabase(t *testing.T) {
	t.Parallel()
	r := newRegistering(t)
	ctx, cancel := context.WithCancel(t.Context())
	offers, done := make(chan source.Offer, 100), make(chan struct{})
	go func() {
		defer close(done)
		_ = r.source().Run(ctx, func(o source.Offer) { offers <- o })
	}()
	defer func() {
		cancel()
		<-done
	}()
	expect := func(step, tools string, earlier int, fault string) {
		t.Helper()
		wake(r.moved)
		limit := time.After(30 * time.Second)
		var last source.Offer
		for {
			select {
			case last = <-offers:
				var have []string
				for _, tool := range last.Tools {
					have = append(have, tool.Definition().ID)
				}
				slices.Sort(have)
				if strings.Join(have, " ") == tools && len(last.Earlier) == earlier && (fault == "") == (last.Fault == "") && strings.Contains(last.Fault, fault) {
					return
				}
			case <-limit:
				t.Fatalf("%s: the last offer has %d tools, %d earlier ones and the fault %q", step, len(last.Tools), len(last.Earlier), last.Fault)
			}
		}
	}
	expect("nothing", "", 0, "")
	r.register(registry.HTTP, httpDocument("tenant-acme__get"))
	expect("a document", "tenant-acme__get", 0, "")
	r.register(registry.HTTP, strings.Replace(httpDocument("tenant-acme__get"), "path: /shop", "path: /shop/2", 1))
	expect("another version", "tenant-acme__get", 1, "")
	r.register(registry.MCP, registeredServerDocument)
	expect("a server", "mcp__tenant-acme_docs__search tenant-acme__get", 1, "")
	r.exec(`INSERT INTO tool_registrations (tenant_id, name, version, kind, digest, address, tools, document, registered_by)
		VALUES ('globex', 'bad', 1, 'http', '', '', '{}', 'format: 1' || chr(10) || 'name: [', ''), ('globex', 'bad2', 1, 'mcp', '', '', '{}', $1, '')`, registeredServerDocument)
	expect("rows that cannot be read", "mcp__tenant-acme_docs__search tenant-acme__get", 1, "bad of tenant globex: line 3")
	r.exec(`UPDATE tool_registrations SET ended_by = '', ended_at = now() - interval '1 hour' WHERE tenant_id = 'globex' OR tenant_id = 'acme' AND version = 1 AND name = 'shop'`)
	expect("the versions that ended long ago", "mcp__tenant-acme_docs__search tenant-acme__get", 0, "")
	for _, name := range []string{"shop", "tenant-acme_docs"} {
		if _, err := r.registry.Unregister(t.Context(), "acme", name, "user:ops"); err != nil {
			t.Fatal(err)
		}
	}
	expect("removed, with calls that may be open", "", 2, "")
}

// TestMemoryOfATenantIsBounded: the versions that a worker keeps for a tenant are bounded. Versions in force
// come before versions that have ended.
func TestMemoryOfATenantIsBounded(t *testing.T) {
	t.Parallel()
	var rows []registrations.InUse
	row := func(tenantID, name string, kind registrations.Kind, inForce bool, size int) {
		rows = append(rows, registrations.InUse{ID: int64(len(rows) + 1), TenantID: tenantID, Name: name, Kind: kind, InForce: inForce, Bytes: size})
	}
	for i := range 300 {
		row("acme", fmt.Sprint("ended", i), registrations.HTTP, false, 1<<20)
	}
	for i := range 30 {
		row("acme", fmt.Sprint("docs", i), registrations.MCP, true, 100)
	}
	for range 50 {
		row("globex", "shop", registrations.HTTP, false, 1)
	}
	row("globex", "shop", registrations.HTTP, true, 1)
	kept, left := versionsToKeep(rows)
	count := map[string]int{}
	for _, r := range kept {
		count[fmt.Sprint(r.TenantID, r.Kind, r.InForce)]++
	}
	for what, want := range map[string]int{"acmemcptrue": registrations.MaxServers, "acmehttpfalse": registrations.MaxBytes>>20 - 1, "globexhttptrue": 1, "globexhttpfalse": maxEarlier} {
		if count[what] != want {
			t.Errorf("%s: %d are kept, want %d", what, count[what], want)
		}
	}
	if left != 30-registrations.MaxServers {
		t.Errorf("%d in force have no room", left)
	}
	for _, batch := range batches(kept, nil) {
		size := 0
		for _, id := range batch {
			size += kept[id].Bytes
		}
		if size > batchBytes {
			t.Errorf("a batch of %d documents has %d bytes", len(batch), size)
		}
	}
}

// TestToolsStayUntilTheNextServerHasOffered: the tools of a server stay while the session of its new version
// begins. A look without a change makes no new offer.
func TestToolsStayUntilTheNextServerHasOffered(t *testing.T) {
	t.Parallel()
	offers := func(has bool, ids ...string) *registeredServer {
		s := &registeredServer{everOffered: has}
		for _, id := range ids {
			s.last.Tools = append(s.last.Tools, tool(id))
		}
		return s
	}
	version := func(id int64, inForce bool, s *registeredServer) *registration {
		return &registration{InUse: registrations.InUse{ID: id, TenantID: "acme", Name: "tenant-acme_docs", Kind: registrations.MCP, InForce: inForce}, server: s}
	}
	next := offers(false)
	read := map[int64]*registration{
		1: version(1, false, offers(true, "mcp__tenant-acme_docs__a")), 2: version(2, false, offers(true, "mcp__tenant-acme_docs__b")), 3: version(3, true, next),
	}
	o, first := offerRegistered(read, "")
	if len(o.Tools) != 1 || o.Tools[0].Definition().ID != "mcp__tenant-acme_docs__b" || len(o.Earlier) != 1 {
		t.Errorf("offered before: %d and %d", len(o.Tools), len(o.Earlier))
	}
	if _, again := offerRegistered(read, ""); again != first {
		t.Error("nothing new is another offer")
	}
	next.last.Tools, next.everOffered, next.offers = append(next.last.Tools, tool("mcp__tenant-acme_docs__c")), true, 1
	o, second := offerRegistered(read, "")
	if len(o.Tools) != 1 || o.Tools[0].Definition().ID != "mcp__tenant-acme_docs__c" || len(o.Earlier) != 2 || second == first {
		t.Errorf("offered then: %d and %d", len(o.Tools), len(o.Earlier))
	}
}
