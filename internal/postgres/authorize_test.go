package postgres_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/postgres"
	stored "github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

func (b bench) relate(tenantID string, r authz.Relation, lasts time.Duration) {
	b.t.Helper()
	if _, err := b.AddRelation(b.t.Context(), tenantID, r, lasts, "user:root"); err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) asks(r authz.Request) authz.Decision {
	b.t.Helper()
	d, err := b.Authorizer().Check(own(b.t), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// submitter registers a submitter of the tenant acme, and returns the id of its key.
func (b bench) submitter() string {
	b.t.Helper()
	keyID, _, err := b.AddSubmitter(b.t.Context(), "acme", "web", bytes.Repeat([]byte{7}, 32), "user:root")
	if err != nil {
		b.t.Fatal(err)
	}
	return keyID
}

func asks(actor, toolID string) authz.Request {
	return authz.Request{TenantID: "acme", ActorID: actor, ToolID: toolID, Permission: authz.Execute, Basis: authz.ByRelations}
}

// TestAuthorizerContract runs the tests for every authorization engine with the engine that is built in.
func TestAuthorizerContract(t *testing.T) {
	b := open(t)
	for _, f := range authztest.Facts() {
		b.relate(f.TenantID, f.Relation, 0)
	}
	authztest.Contract(t, b.Authorizer(), b.submitter())
}

// TestAuthorizerByPolicy: if policy alone decides who may run a tool, the engine reads no relation. The exception is the delegation to act for a subject.
func TestAuthorizerByPolicy(t *testing.T) {
	b := open(t)
	r := asks("anybody", "core__read")
	r.Basis = authz.ByPolicy
	before := b.trips.Load()
	if d := b.asks(r); d != authz.Allow() || b.trips.Load() != before {
		t.Errorf("%+v after %d round trips, want a yes after none", d, b.trips.Load()-before)
	}
	r.SubjectID = "user:sue"
	if d := b.asks(r); d != authz.Deny(authz.Trust) {
		t.Errorf("nobody vouches: %+v", d)
	}
	r.Submitter = b.submitter()
	if d := b.asks(r); d != authz.Deny(authz.Delegation) || b.trips.Load() == before {
		t.Errorf("not delegated: %+v", d)
	}
	r.ActorID = "agent:one"
	b.relate("acme", authz.Relation{Kind: authz.Delegates, Subject: "agent:one", Object: "user:sue", Tools: "core__*"}, 0)
	if d := b.asks(r); d != authz.Allow() {
		t.Errorf("delegated: %+v", d)
	}
	r.SubjectID, r.Basis = "", ""
	if d := b.asks(r); d.Allowed {
		t.Errorf("a basis that nobody knows: %+v", d)
	}
}

// TestRelationsExpire: a relation of each kind stops counting when it expires by the clock of the database.
func TestRelationsExpire(t *testing.T) {
	b := open(t)
	for _, tc := range []struct {
		name  string
		ends  authz.Relation
		other authz.Relation
		r     authz.Request
	}{
		{"a permission", authz.Relation{Kind: authz.Executes, Subject: "agent:p", Tools: "core__*"}, authz.Relation{}, asks("agent:p", "core__read")},
		{
			"a membership", authz.Relation{Kind: authz.Member, Subject: "agent:m", Object: "role:ops"},
			authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "core__*"}, asks("agent:m", "core__read"),
		},
		{
			"a delegation", authz.Relation{Kind: authz.Delegates, Subject: "agent:d", Object: "user:sue", Tools: "*"},
			authz.Relation{Kind: authz.Executes, Subject: "agent:d", Tools: "core__*"}, asks("agent:d", "core__read"),
		},
	} {
		if tc.ends.Kind == authz.Delegates {
			tc.r.SubjectID, tc.r.Submitter = tc.ends.Object, b.submitter()
		}
		if tc.other.Kind != "" {
			b.relate("acme", tc.other, 0)
		}
		b.relate("acme", tc.ends, time.Hour)
		if d := b.asks(tc.r); !d.Allowed {
			t.Errorf("%s within its time: %+v", tc.name, d)
		}
		b.sql(`UPDATE relations SET expires_at = now() WHERE expires_at IS NOT NULL`)
		if d := b.asks(tc.r); d.Allowed {
			t.Errorf("%s counts after its time", tc.name)
		}
		b.relate("acme", tc.ends, 0)
		if d := b.asks(tc.r); !d.Allowed {
			t.Errorf("%s without an end: %+v", tc.name, d)
		}
	}
}

// TestNesting: a membership through too many groups does not count, and the list of the roles of an actor has the same roles as a check uses.
func TestNesting(t *testing.T) {
	b := open(t)
	member := func(subject, object string) {
		b.relate("acme", authz.Relation{Kind: authz.Member, Subject: subject, Object: object}, 0)
	}
	member("user:near", "group:1")
	for _, g := range []string{"1 2", "2 3", "3 4", "4 5", "5 6", "6 7"} {
		member("group:"+g[:1], "group:"+g[2:])
	}
	member("group:7", "role:ops")
	member("user:far", "group:0")
	member("group:0", "group:1")
	member("user:near", "role:dev")
	b.relate("acme", authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "core__*"}, 0)
	for who, want := range map[string][]string{"user:near": {"role:dev", "role:ops"}, "user:far": {}, "user:nobody": {}} {
		roles, err := b.Roles(t.Context(), "acme", who)
		if err != nil || len(roles)+len(want) > 0 && !reflect.DeepEqual(roles, want) {
			t.Errorf("%s holds %v, %v, want %v", who, roles, err, want)
		}
		if d := b.asks(asks(who, "core__read")); d.Allowed != (who == "user:near") {
			t.Errorf("%s: %+v", who, d)
		}
	}
	if roles, err := b.Roles(t.Context(), "globex", "user:near"); err != nil || len(roles) > 0 {
		t.Errorf("%v are held in another tenant, %v", roles, err)
	}
}

// TestRelationsLife: every change of a relation is an event that names who made it. A tenant sees only its own relations. The removal of a relation that does
// not exist is an error. A change that may take away a right sends a recheck to the waiting calls of the tenant.
func TestRelationsLife(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	rechecks := func() int { return value[int](b, `SELECT count(*) FROM outbox WHERE signal = 'recheck'`) }
	r := authz.Relation{Kind: authz.Member, Subject: "user:ann", Object: "role:ops"}
	b.relate(tenant, r, 0)
	if rechecks() != 0 {
		t.Error("a right more is no reason to look again")
	}
	b.relate(tenant, r, time.Hour)
	if rechecks() != 1 {
		t.Errorf("%d calls were told of an end that may come sooner, want 1", rechecks())
	}
	list, err := b.Relations(t.Context(), tenant, "")
	if err != nil || len(list) != 1 || list[0].Relation != r || list[0].ExpiresAt == nil || list[0].Expired || list[0].GrantedBy != "user:root" {
		t.Errorf("the relations are %+v, %v", list, err)
	}
	for who, want := range map[string]int{"user:ann": 1, "role:ops": 1, "user:ben": 0} {
		if of, err := b.Relations(t.Context(), tenant, who); err != nil || len(of) != want {
			t.Errorf("of %s there are %+v, %v", who, of, err)
		}
	}
	if err := b.RemoveRelation(t.Context(), "elsewhere", r, "user:root"); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("another tenant removes it: %v", err)
	}
	if err := b.RemoveRelation(t.Context(), tenant, r, "user:root"); err != nil {
		t.Fatal(err)
	}
	if rechecks() != 2 {
		t.Errorf("%d calls were told of the removal, want 1 more", rechecks()-1)
	}
	if err := b.RemoveRelation(t.Context(), tenant, r, "user:root"); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE tenant_id = '`+tenant+`' AND kind IN ('relation_added', 'relation_removed') AND detail->>'by' = 'user:root'`); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
	if _, err := b.AddRelation(t.Context(), tenant, authz.Relation{Kind: authz.Member, Subject: "ann", Object: "role:ops"}, 0, "user:root"); err == nil {
		t.Error("a member of no kind was written down")
	}
}

// TestCatalogByRelations: an actor sees the tools that a relation lets it run, of those that policy does not deny.
func TestCatalogByRelations(t *testing.T) {
	b := open(t)
	p, err := policy.Parse("p", []byte("version: 1\ntenants: {acme: {allowedTools: [core__*], mode: yolo, permissions: relations}, globex: {allowedTools: [core__*], mode: yolo}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.ApplyPolicy(t.Context(), p, "test"); err != nil {
		t.Fatal(err)
	}
	var specs []toolspec.Spec
	for _, name := range []string{"core__ls", "core__read", "mail__send"} {
		specs = append(specs, toolspec.Spec{Name: name, Digest: name, Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk})
	}
	if err := b.PublishSpecs(t.Context(), stored.Worker{ID: "w1", Namespace: "ns"}, specs); err != nil {
		t.Fatal(err)
	}
	b.relate("acme", authz.Relation{Kind: authz.Member, Subject: "user:ann", Object: "role:ops"}, 0)
	b.relate("acme", authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "core__l*"}, 0)
	b.relate("acme", authz.Relation{Kind: authz.Executes, Subject: "role:ops", Tools: "mail__send"}, 0)
	for _, tc := range []struct{ tenant, actor, want string }{
		{"acme", "user:ann", "core__ls"}, {"acme", "user:ben", ""}, {"acme", "role:ops", ""}, {"acme", "", "core__ls core__read"},
		{"globex", "user:ben", "core__ls core__read"},
	} {
		seen, err := b.Catalog(t.Context(), catalog.Viewer{TenantID: tc.tenant, ActorID: tc.actor})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range seen.List() {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("%s of %s sees %q, want %q", tc.actor, tc.tenant, got, tc.want)
		}
	}
	// The definitions of tools that a run may not use are not read: one of them is broken here.
	b.sql(`UPDATE tool_specs SET spec = '[]' WHERE tool_id = 'core__read'`)
	by := catalog.Viewer{TenantID: "globex", ToolIDs: []string{"core__ls", "mail__send", "none\x00\xff"}}
	if seen, err := b.Catalog(t.Context(), by); err != nil || len(seen.List()) != 1 || seen.List()[0].Name != "core__ls" {
		t.Errorf("a run with its own tools sees %v, %v", seen.List(), err)
	}
	if seen, err := b.Catalog(t.Context(), catalog.Viewer{TenantID: "globex"}); err == nil {
		t.Errorf("with a broken definition, a catalog has %v", seen.List())
	}
}
