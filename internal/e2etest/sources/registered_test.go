package sources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/registry"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// shop is a service. Its answer to POST /VERSION/ID is VERSION.
type shop struct {
	*httptest.Server

	mu sync.Mutex
	// ran has the versions that ran for each id.
	ran map[string][]string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{ran: map[string][]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		s.mu.Lock()
		s.ran[id] = append(s.ran[id], version)
		s.mu.Unlock()
		_, _ = fmt.Fprint(w, version)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shop) of(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ran[id])
}

// shopDocument returns a version of a document with two tools of a tenant: ship, and ask, whose calls need an approval.
func shopDocument(tenantID, version string) string {
	tool := func(name, risk string) string {
		return `
  - id: ` + toolspec.TenantNamespace(tenantID) + "__" + name + `
    description: Ships an item.
    version: "` + version + `"
    effect: external_side_effect
    risk: ` + risk + `
    connection: required
    redaction: {allow: ['']}
    input: {type: object, properties: {id: {type: string}}, required: [id], additionalProperties: false}
    request: {method: POST, path: '/` + version + `/{id}'}
    response: {type: text}
`
	}
	return "format: 1\nname: shop\ntools:" + tool("ship", "low") + tool("ask", "medium")
}

// registering is a world whose tenant acme may call its registered tools, with a connection to a shop.
type registering struct {
	*e2etest.World

	vault    *e2etest.Vault
	shop     *shop
	registry *registry.Registry
}

func newRegistering(t *testing.T) *registering {
	t.Helper()
	w := e2etest.NewWorld(t, strings.ReplaceAll(e2etest.PlainPolicy, `"test__*"]`, `"test__*", "tenant-*", "*"]`))
	r := &registering{World: w, vault: e2etest.NewVault(w), shop: newShop(t), registry: registry.Of(w.Store)}
	u, err := url.Parse(r.shop.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.vault.Add("c1", broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{u.Host}, Insecure: true}, string(e2etest.NewCanary()))
	r.vault.Grant("c1", e2etest.Actor)
	return r
}

func (r *registering) register(tenantID, version string) {
	r.T.Helper()
	if _, err := r.registry.Register(r.T.Context(), registry.Registration{TenantID: tenantID, Kind: registry.HTTP, Document: []byte(shopDocument(tenantID, version)), By: "user:ops"}); err != nil {
		r.T.Fatal(err)
	}
}

func (r *registering) call(id, tool string) toolspec.Invocation {
	return e2etest.Over(e2etest.Invocation(id, "tenant-acme__"+tool, fmt.Sprintf(`{"id":%q}`, id)), "c1")
}

// inForce waits until exactly this many live workers have the tool, all in this version.
func (r *registering) inForce(workers int, version string) {
	r.T.Helper()
	r.Until(func() bool {
		return e2etest.Scalar[bool](r.World, `SELECT count(*) = $1 AND coalesce(bool_and(s.spec ->> 'version' LIKE $2 || '%'), true)
			FROM worker_tools t JOIN workers w USING (worker_id) JOIN tool_specs s USING (tool_id, digest)
			WHERE t.tool_id = 'tenant-acme__ship' AND w.seen_at > now() - interval '2 minutes'`, workers, version)
	}, fmt.Sprintf("%d workers have the version %s", workers, version))
}

// ask starts calls, and waits until they need an approval.
func (r *registering) ask(of string, calls int) (all []*pawl.Call) {
	r.T.Helper()
	for i := range calls {
		all = append(all, r.Start(r.call(fmt.Sprint(of, i), "ask")))
	}
	for _, call := range all {
		r.Waiting(call.WorkflowID)
	}
	return all
}

func (r *registering) approve(version string, calls ...*pawl.Call) {
	r.T.Helper()
	for _, call := range calls {
		r.Approve(call.WorkflowID)
		if got := r.Result(call); !got.OK || string(got.Value) != fmt.Sprintf("%q", version) {
			r.T.Errorf("%s ended with %+v and %s, want %s", call.WorkflowID, got, got.Value, version)
		}
	}
}

// TestRegisteringUnderLoad (RG-04, RG-08): tools are registered, changed, removed and registered again while calls run on two workers, and while other calls
// wait for an approval, also on a worker that starts after the definition of a call was removed. No call is lost or runs twice, and each runs with the
// definition that its record names.
func TestRegisteringUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRegistering(t)
	first := r.WorkWith(r.vault.Config())
	r.WorkWith(r.vault.Config())
	r.register("acme", "v1")
	r.inForce(2, "v1")

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var mu sync.Mutex
	ended := map[string]toolspec.Result{}
	for n := range 4 {
		load.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("load-%d-%d", n, i)
				result, err := r.Pawl.Invoke(context.WithoutCancel(ctx), r.call(id, "ship"))
				var failed *pawl.CallError
				if err != nil && !errors.As(err, &failed) {
					t.Errorf("%s: %v", id, err)
					return
				}
				if failed != nil {
					result = failed.Result
				}
				mu.Lock()
				ended[id] = result
				mu.Unlock()
			}
		})
	}
	of1 := r.ask("one-", 3)
	r.register("acme", "v2")
	r.inForce(2, "v2")
	r.approve("v1", of1[0])
	of2 := r.ask("two-", 2)
	if _, err := r.registry.Unregister(t.Context(), "acme", "shop", "user:ops"); err != nil {
		t.Fatal(err)
	}
	r.inForce(0, "")
	e2etest.WantCode(t, r.Invoke(r.call("removed", "ship")), toolspec.CodeUnavailable)
	e2etest.Query[int](r.World, `UPDATE tool_registrations SET ended_at = ended_at - interval '1 hour' RETURNING version`)
	e2etest.Query[int](r.World, `UPDATE invocations SET created_at = created_at - interval '1 hour' WHERE state = 'open' RETURNING 1`)
	r.WorkWith(r.vault.Config()) // a new worker, which has not had these definitions before
	first()
	r.approve("v1", of1[1])
	r.approve("v2", of2[0])
	r.register("acme", "v3")
	r.inForce(2, "v3")
	r.approve("v1", of1[2])
	r.approve("v2", of2[1])
	if got := r.Invoke(r.call("new", "ship")); string(got.Value) != `"v3"` {
		t.Errorf("a new call ended with %+v and %s", got, got.Value)
	}
	stop()
	load.Wait()

	// The record of a call names the definition with which it was admitted. Its value names the definition that ran.
	digests := map[string]map[string]bool{}
	for _, row := range e2etest.Query[string](r.World, `SELECT tool_call_id || ' ' || coalesce(plan ->> 'toolDigest', '') FROM invocations WHERE tool_id = 'tenant-acme__ship'`) {
		id, digest, _ := strings.Cut(row, " ")
		result, counts := ended[id]
		ran := r.shop.of(id)
		if !counts {
			continue
		}
		switch {
		case digest == "" && result.ErrorCode == toolspec.CodeUnavailable && len(ran) == 0: // the tool was not registered at that moment
		case !result.OK || len(ran) != 1 || string(result.Value) != fmt.Sprintf("%q", ran[0]):
			t.Errorf("%s, admitted with %q, ended with %+v and %s after %v", id, digest, result, result.Value, ran)
		default:
			if digests[digest] == nil {
				digests[digest] = map[string]bool{}
			}
			digests[digest][ran[0]] = true
		}
	}
	versions := map[string]bool{}
	for digest, ran := range digests {
		if len(ran) != 1 {
			t.Errorf("calls of the definition %s ran as %v", digest, slices.Collect(maps.Keys(ran)))
		}
		maps.Copy(versions, ran)
	}
	if len(versions) != 3 {
		t.Errorf("the load ran %v of %d calls, want three versions", slices.Collect(maps.Keys(versions)), len(ended))
	}
}

// TestRegisteredToolsAreOfOneTenant (RG-22): two tenants register the same document. Each sees and calls only its own tools, and learns nothing of the tools of
// the other tenant, whatever its policy allows.
func TestRegisteredToolsAreOfOneTenant(t *testing.T) {
	t.Parallel()
	r := newRegistering(t)
	r.WorkWith(r.vault.Config())
	r.register("acme", "v1")
	r.register("globex", "v1")
	r.inForce(1, "v1")
	listed(r.World, "tenant-acme__ask registered shop, tenant-acme__ship registered shop, tenant-globex__ask registered shop, tenant-globex__ship registered shop")
	for tenantID, want := range map[string]string{"acme": "tenant-acme__", "globex": "tenant-globex__"} {
		seen, err := r.Store.Catalog(t.Context(), catalog.Viewer{TenantID: tenantID, ActorID: e2etest.Actor})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range seen.List() {
			if toolspec.TenantOfTool(e.Name) == "" {
				continue
			}
			if n++; !strings.HasPrefix(e.Name, want) {
				t.Errorf("%s sees %s", tenantID, e.Name)
			}
		}
		if n != 2 {
			t.Errorf("%s sees %d of its tools", tenantID, n)
		}
	}
	if got := r.Invoke(r.call("own", "ship")); !got.OK {
		t.Errorf("its own tool ended with %+v", got)
	}
	// The answer for a tool of another tenant is the same as for a tool that does not exist.
	other, unknown := e2etest.Invocation("other", "tenant-globex__ship", `{"id":"x"}`), e2etest.Invocation("unknown", "tenant-globex__nothing", `{"id":"x"}`)
	a, b := r.Invoke(other), r.Invoke(unknown)
	e2etest.WantCode(t, a, toolspec.CodeUnavailable)
	if a.ErrorCode != b.ErrorCode || a.SafeMessage != b.SafeMessage {
		t.Errorf("the tool of another tenant ends with %+v, an unknown one with %+v", a, b)
	}
	if ran := r.shop.of("x"); len(ran) > 0 {
		t.Errorf("it ran: %v", ran)
	}
}

// TestARegistrationEnablesNothing (RG-08): a registered tool is denied until policy names it, even if policy allows *. A kill switch also stops waiting calls
// whose definition was removed.
func TestARegistrationEnablesNothing(t *testing.T) {
	t.Parallel()
	r := newRegistering(t)
	r.WorkWith(r.vault.Config())
	r.register("acme", "v1")
	r.inForce(1, "v1")
	waits := r.ask("waits", 1)[0]
	if _, err := r.registry.Unregister(t.Context(), "acme", "shop", "user:ops"); err != nil {
		t.Fatal(err)
	}
	r.inForce(0, "")
	if _, err := r.Store.KillOn(t.Context(), policies.KillScope{TenantID: "acme", Tool: "tenant-acme__ask"}, "why not", "user:ops"); err != nil {
		t.Fatal(err)
	}
	e2etest.WantCode(t, r.Result(waits), toolspec.CodePolicyDenied)
	r.Apply(strings.ReplaceAll(e2etest.PlainPolicy, `"test__*"]`, `"test__*", "*"]`))
	r.register("acme", "v2")
	r.inForce(1, "v2")
	e2etest.WantCode(t, r.Invoke(r.call("denied", "ship")), toolspec.CodePolicyDenied)
	if n := e2etest.Scalar[int](r.World, `SELECT count(*)::int FROM events WHERE kind IN ('tools_registered', 'tools_unregistered') AND tenant_id = 'acme' AND detail ->> 'by' = 'user:ops'`); n != 3 {
		t.Errorf("the audit trail has %d entries", n)
	}
	began := time.Now()
	r.register("acme", "v3")
	r.Until(func() bool {
		return e2etest.Scalar[int](r.World, `SELECT count(*)::int FROM tool_specs WHERE tool_id = 'tenant-acme__ship'`) == 3
	}, "the change is published")
	t.Logf("published after %s", time.Since(began))
}
