package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/policy/authz"
)

var someProvider = broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{"api.test"}}

func sealedAs(tenantID, connectionID string, version int, keyID int64, bytes string) broker.Sealed {
	return broker.Sealed{
		Binding: broker.At(tenantID, connectionID, someProvider, someProvider.Hosts, version), KeyID: keyID, Bytes: []byte(bytes),
	}
}

// connection adds a connection with two scopes.
func (b bench) connection(tenantID, connectionID string) {
	b.t.Helper()
	err := b.AddConnection(b.t.Context(), connections.AddRow{
		Provider: someProvider, Hosts: someProvider.Hosts, Scopes: []string{"read", "write"},
		Sealed: sealedAs(tenantID, connectionID, 1, 1, "sealed 1"), SignedIn: true,
	}, "user:root")
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) granted(tenantID, connectionID, grantee string, scopes ...string) {
	b.t.Helper()
	if _, err := b.GrantConnection(b.t.Context(), tenantID, connectionID, grantee, scopes, 0, "user:root"); err != nil {
		b.t.Fatal(err)
	}
}

// calls admits a call that names the connection.
func (b bench) calls(name, connectionID string) {
	b.t.Helper()
	b.admitted(callOf(name, func(r *admit.Row) { r.Invocation.Context.ConnectionID = connectionID }))
}

func (b bench) shown(connectionID string) connections.Record {
	b.t.Helper()
	found, err := b.Connections(b.t.Context(), tenant, connectionID)
	if err != nil || len(found) != 1 {
		b.t.Fatalf("%+v, %v", found, err)
	}
	return found[0]
}

// TestConnections: a connection belongs to one tenant, and its id is never used again. A change that takes rights away sends a recheck to the calls that use
// the connection, and to no other calls. Every change is an event without the secret.
func TestConnections(t *testing.T) {
	b := open(t)
	b.connection(tenant, "c1")
	b.connection("globex", "c1")
	b.calls("uses", "c1")
	b.calls("other", "c2")
	err := b.AddConnection(t.Context(), connections.AddRow{
		Provider: broker.Provider{ID: "other"}, Hosts: []string{"evil.test"}, Sealed: sealedAs(tenant, "c1", 1, 1, "another"),
	}, "user:mallory")
	if !errors.Is(err, connections.ErrTaken) || b.shown("c1").Provider != "test" {
		t.Errorf("the id is used twice: %v, %+v", err, b.shown("c1"))
	}
	if c := b.shown("c1"); c.Status != "active" || c.Generation != 1 || c.SecretVersion != 1 || c.KeyID != 1 || c.Grants != 0 || c.AddedBy != "user:root" {
		t.Errorf("%+v", c)
	}

	// Grants.
	if _, err := b.GrantConnection(t.Context(), tenant, "c9", actor, nil, 0, "user:root"); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("a grant of nothing: %v", err)
	}
	b.granted(tenant, "c1", actor, "read")
	if got := b.rechecked(); len(got) != 0 {
		t.Errorf("a first grant tells %v", got)
	}
	g, err := b.GrantConnection(t.Context(), tenant, "c1", actor, []string{"*"}, time.Hour, "user:root")
	if left := time.Until(value[time.Time](b, `SELECT now()`).Add(time.Hour)); err != nil || g.ExpiresAt == nil || left < 59*time.Minute {
		t.Errorf("%+v, %v", g, err)
	}
	if got := b.rechecked(); !slices.Equal(got, []string{"uses"}) {
		t.Errorf("a grant that replaces another tells %v", got)
	}
	grants, err := b.ConnectionGrants(t.Context(), tenant, "c1")
	if err != nil || len(grants) != 2 || grants[0].ID != g.ID || grants[0].RevokedAt != nil || grants[1].RevokedAt == nil || b.shown("c1").Grants != 1 {
		t.Errorf("%+v, %v", grants, err)
	}
	for name, err := range map[string]error{
		"another tenant's": b.RevokeConnectionGrant(t.Context(), "globex", "c1", actor, "x"), "nobody's": b.RevokeConnectionGrant(t.Context(), tenant, "c1", "user:bob", "x"),
	} {
		if !errors.Is(err, postgres.ErrNotFound) {
			t.Errorf("%s grant: %v", name, err)
		}
	}
	if err := b.RevokeConnectionGrant(t.Context(), tenant, "c1", actor, "user:root"); err != nil {
		t.Error(err)
	}
	if got := b.rechecked(); !slices.Equal(got, []string{"uses"}) {
		t.Errorf("a grant that is taken back tells %v", got)
	}

	// A refresh keeps the account of a connection. A rotation may change the account.
	for _, step := range []struct {
		anew                bool
		version, generation int
		rechecked           []string
	}{{false, 2, 1, []string{}}, {true, 3, 2, []string{"uses"}}} {
		replaced, err := b.ReplaceSecret(t.Context(), sealedAs(tenant, "c1", step.version, 1, fmt.Sprint("sealed ", step.version)), 0, step.anew, "user:root")
		if c := b.shown("c1"); err != nil || !replaced || c.SecretVersion != step.version || c.Generation != step.generation {
			t.Errorf("%+v: %t, %v, %+v", step, replaced, err, c)
		}
		if got := b.rechecked(); !slices.Equal(got, step.rechecked) {
			t.Errorf("%+v tells %v", step, got)
		}
	}
	if n := value[int](b, `SELECT count(*)::int FROM connection_secrets WHERE tenant_id = $1`, tenant); n != 1 {
		t.Errorf("%d secrets are kept", n)
	}
	r, status, err := b.ConnectionSecret(t.Context(), tenant, "c1")
	if err != nil || status != "active" || string(r.Sealed.Bytes) != "sealed 3" || r.Sealed.Binding != sealedAs(tenant, "c1", 3, 1, "").Binding || r.Generation != 2 {
		t.Errorf("%+v, %s, %v", r, status, err)
	}

	// Revoke the connection.
	if _, err := b.RevokeConnection(t.Context(), tenant, "c1", "user:root"); err != nil {
		t.Fatal(err)
	}
	if got := b.rechecked(); !slices.Equal(got, []string{"uses"}) {
		t.Errorf("a connection that is taken away tells %v", got)
	}
	if c := b.shown("c1"); c.Status != "revoked" || c.RevokedBy != "user:root" || c.Generation != 3 || c.KeyID != 0 {
		t.Errorf("%+v", c)
	}
	if n := value[int](b, `SELECT count(*)::int FROM connection_secrets`); n != 1 { // the secret of globex
		t.Errorf("%d secrets are kept", n)
	}
	_, _, none := b.ConnectionSecret(t.Context(), tenant, "c1")
	replaced, err := b.ReplaceSecret(t.Context(), sealedAs(tenant, "c1", 4, 1, "late"), 0, true, "user:root")
	_, late := b.GrantConnection(t.Context(), tenant, "c1", actor, nil, 0, "user:root")
	_, again := b.RevokeConnection(t.Context(), tenant, "c1", "x")
	if !errors.Is(none, postgres.ErrNotFound) || replaced || err != nil || !errors.Is(late, postgres.ErrNotFound) || !errors.Is(again, postgres.ErrNotFound) {
		t.Errorf("it lives on: %v; %t, %v; %v", none, replaced, err, late)
	}

	events := value[string](b, `SELECT string_agg(kind || ' ' || detail, ' ' ORDER BY at) FROM events WHERE tenant_id = $1 AND kind LIKE 'connection%'`, tenant)
	for _, kind := range []string{"connection_added", "connection_granted", "connection_grant_revoked", "connection_refreshed", "connection_rotated", "connection_revoked"} {
		if !strings.Contains(events, kind+" ") {
			t.Errorf("no event %s in %s", kind, events)
		}
	}
	if strings.Contains(events, "sealed") {
		t.Errorf("a secret stands in an event: %s", events)
	}
}

const actor = "user:ann"

// TestLeaseConnection: the statement that reads the secret checks again every condition that the gate has checked before.
func TestLeaseConnection(t *testing.T) {
	b := open(t)
	b.connection(tenant, "c1")
	b.calls("call", "c1")
	b.calls("settled", "c1")
	b.settle(settleIn("settled", 1))
	b.granted(tenant, "c1", actor, "read")
	b.granted(tenant, "c1", "role:ops", "*")
	b.granted(tenant, "c1", "user:late", "*")
	b.sql(`UPDATE connection_grants SET expires_at = now() - interval '1 second' WHERE grantee = 'user:late'`)
	b.relate(tenant, authz.Relation{Kind: authz.Member, Subject: "user:member", Object: "role:ops"}, 0)
	request := broker.Request{InvocationID: id("call"), TenantID: tenant, ConnectionID: "c1", Holder: actor, Epoch: 1, Round: 1, Lasts: time.Minute}
	for _, tc := range []struct {
		name   string
		change func(r *broker.Request)
		want   broker.Answer
	}{
		{"granted", func(*broker.Request) {}, broker.Leased},
		{"a scope that is granted", func(r *broker.Request) { r.Scopes = []string{"read"} }, broker.Leased},
		{"a scope that is not", func(r *broker.Request) { r.Scopes = []string{"read", "write"} }, broker.Denied},
		{"a scope that the connection lacks", func(r *broker.Request) {
			r.Holder, r.Roles, r.Scopes = "user:x", []string{"role:ops"}, []string{"admin"}
		}, broker.Denied},
		{"a role by policy", func(r *broker.Request) {
			r.Holder, r.Roles, r.Scopes = "user:x", []string{"role:ops"}, []string{"write"}
		}, broker.Leased},
		{"a role by relation", func(r *broker.Request) { r.Holder = "user:member" }, broker.Leased},
		{"nobody", func(r *broker.Request) { r.Holder = "user:x" }, broker.Denied},
		{"a grant that is over", func(r *broker.Request) { r.Holder = "user:late" }, broker.Denied},
		{"a connection that is not the call's", func(r *broker.Request) { r.ConnectionID = "c2" }, broker.Superseded},
		{"another tenant", func(r *broker.Request) { r.TenantID = "globex" }, broker.Superseded},
		{"an older epoch", func(r *broker.Request) { r.Epoch = 0 }, broker.Superseded},
		{"a call that is over", func(r *broker.Request) { r.InvocationID = id("settled") }, broker.Superseded},
		{"the generation that was approved", func(r *broker.Request) { r.Generation = 1 }, broker.Leased},
		{"another generation", func(r *broker.Request) { r.Generation = 2 }, broker.Changed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b.sql(`DELETE FROM leases`)
			r := request
			tc.change(&r)
			got, err := b.LeaseConnection(own(t), r)
			leased := tc.want == broker.Leased
			if err != nil || got.Answer != tc.want || (len(got.Sealed.Bytes) > 0) != leased || (len(got.Hosts) > 0) != leased {
				t.Errorf("%+v, %v; want %s", got, err, tc.want)
			}
			if n := value[int](b, `SELECT count(*)::int FROM leases WHERE kind = 'broker' AND key = 'c1'`); (n == 1) != leased {
				t.Errorf("%d leases", n)
			}
		})
	}
	b.sql(`UPDATE connections SET status = 'needs_reauth'`)
	if got, err := b.LeaseConnection(own(t), request); err != nil || got.Answer != broker.NeedsReauth || got.Sealed.Bytes != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if replaced, err := b.ReplaceSecret(t.Context(), sealedAs(tenant, "c1", 2, 1, "refreshed"), 0, false, "x"); err != nil || replaced {
		t.Errorf("a refresh signs in: %t, %v", replaced, err)
	}
	if replaced, err := b.ReplaceSecret(t.Context(), sealedAs(tenant, "c1", 2, 1, "anew"), time.Hour, true, "x"); err != nil || !replaced || b.shown("c1").Status != "active" {
		t.Errorf("a rotation does not: %t, %v", replaced, err)
	}
	used := value[json.RawMessage](b, `SELECT detail FROM events WHERE kind = 'connection_used' ORDER BY at LIMIT 1`)
	if string(used) != `{"connectionId" : "c1", "version" : 1, "generation" : 1, "attempt" : 1}` {
		t.Errorf("the use is written down as %s", used)
	}
}

// TestRotationsAtOnce: of several workers that replace one secret at the same moment, exactly one succeeds, and its secret is stored whole.
func TestRotationsAtOnce(t *testing.T) {
	b := open(t)
	b.connection(tenant, "c1")
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			replaced, err := b.ReplaceSecret(t.Context(), sealedAs(tenant, "c1", 2, int64(i+1), fmt.Sprint("by ", i)), 0, i%2 == 0, "user:root")
			if err != nil {
				t.Error(err)
			}
			if replaced {
				won.Add(int64(100 + i))
			}
		})
	}
	all.Wait()
	winner := won.Load() - 100
	c := b.shown("c1")
	r, _, err := b.ConnectionSecret(t.Context(), tenant, "c1")
	if err != nil || winner < 0 || winner > 7 || string(r.Sealed.Bytes) != fmt.Sprint("by ", winner) || r.Sealed.KeyID != winner+1 || c.SecretVersion != 2 {
		t.Errorf("%d won; %+v, %v", winner, c, err)
	}
}

// TestRevokedMeanwhile: a new secret or a new grant is refused if the connection is revoked while the statement waits.
func TestRevokedMeanwhile(t *testing.T) {
	b := open(t)
	b.connection(tenant, "c1")
	tx := b.holds(`UPDATE connections SET status = 'revoked', revoked_at = now(), revoked_by = 'x' WHERE connection_id = 'c1'`)
	done := make(chan error, 1)
	go func() {
		replaced, err := b.ReplaceSecret(t.Context(), sealedAs(tenant, "c1", 2, 1, "late"), 0, true, "user:root")
		if replaced {
			err = errors.New("replaced")
		}
		done <- err
	}()
	b.waitForLock()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := value[int](b, `SELECT count(*)::int FROM connection_secrets WHERE sealed = 'late'::bytea`); n != 0 {
		t.Error("a secret was left behind")
	}
}
