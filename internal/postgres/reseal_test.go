package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres/connections"
)

// resealed returns the secrets as if they were sealed again with key 2.
func resealed(secrets []broker.Sealed) (all []upkeep.Resealed) {
	for _, s := range secrets {
		anew := s
		anew.KeyID, anew.Bytes = 2, []byte("anew")
		all = append(all, upkeep.Resealed{Sealed: anew, Was: s.KeyID})
	}
	return all
}

func (b bench) toReseal(after broker.Binding, limit int) []broker.Sealed {
	b.t.Helper()
	secrets, err := b.SecretsToReseal(b.t.Context(), 2, after, limit)
	if err != nil {
		b.t.Fatal(err)
	}
	return secrets
}

func (b bench) uses() []connections.KeyUse {
	b.t.Helper()
	uses, err := b.SecretsByKey(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return uses
}

// TestReseal: every secret of all tenants is sealed again once, page by page. Its version and generation and the approvals of calls stay, and no call gets a
// recheck.
func TestReseal(t *testing.T) {
	b := open(t)
	for i := range 7 {
		b.connection([]string{tenant, "globex"}[i%2], fmt.Sprint("c", i))
	}
	b.calls("uses", "c0")
	b.sql(`UPDATE connection_secrets SET sealed_at = '2026-01-01Z'`)
	if got := b.uses(); !slices.Equal(got, []connections.KeyUse{{KeyID: 1, Secrets: 7}}) {
		t.Errorf("%+v", got)
	}
	var after broker.Binding
	var seen []string
	for range 3 {
		page := b.toReseal(after, 3)
		for _, s := range page {
			seen = append(seen, s.TenantID+"/"+s.ConnectionID)
			if s.Provider != "test" || s.Version != 1 || s.KeyID != 1 || string(s.Bytes) != "sealed 1" {
				t.Errorf("%+v", s)
			}
		}
		after = page[len(page)-1].Binding
		if n, err := b.ResealSecrets(t.Context(), 2, resealed(page)); err != nil || n != len(page) {
			t.Errorf("%d of %d, %v", n, len(page), err)
		}
	}
	if want := []string{"acme/c0", "acme/c2", "acme/c4", "acme/c6", "globex/c1", "globex/c3", "globex/c5"}; !slices.Equal(seen, want) {
		t.Errorf("%v", seen)
	}
	if got := b.uses(); !slices.Equal(got, []connections.KeyUse{{KeyID: 2, Secrets: 7}}) || len(b.toReseal(broker.Binding{}, 10)) != 0 {
		t.Errorf("%+v", got)
	}
	if n := value[int](b, `SELECT count(*)::int FROM connection_secrets WHERE sealed_at = '2026-01-01Z'`); n != 7 {
		t.Errorf("%d tokens of 7 are as old as they were", n)
	}
	if c := b.shown("c0"); c.SecretVersion != 1 || c.Generation != 1 || c.KeyID != 2 || len(b.rechecked()) != 0 {
		t.Errorf("%+v", c)
	}
}

// TestResealIsGuarded: a secret that was replaced, sealed again or deleted meanwhile is not changed.
func TestResealIsGuarded(t *testing.T) {
	b := open(t)
	for _, c := range []string{"refreshed", "resealed", "revoked", "same"} {
		b.connection(tenant, c)
	}
	old := resealed(b.toReseal(broker.Binding{}, 10))
	if _, err := b.ReplaceSecret(t.Context(), sealedAs(tenant, "refreshed", 2, 1, "newer"), 0, false, "x"); err != nil {
		t.Fatal(err)
	}
	b.sql(`UPDATE connection_secrets SET key_id = 3, sealed = 'by another' WHERE connection_id = 'resealed'`)
	if _, err := b.RevokeConnection(t.Context(), tenant, "revoked", "x"); err != nil {
		t.Fatal(err)
	}
	if n, err := b.ResealSecrets(t.Context(), 2, old); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	got := value[string](b, `SELECT string_agg(connection_id || ' ' || version || ' ' || key_id || ' ' || convert_from(sealed, 'UTF8'), ', ' ORDER BY connection_id) FROM connection_secrets`)
	if want := "refreshed 2 1 newer, resealed 1 3 by another, same 1 2 anew"; got != want {
		t.Errorf("%s", got)
	}
	events := value[string](b, `SELECT string_agg(tenant_id || ' ' || detail, ', ') FROM events WHERE kind = 'connection_resealed'`)
	if want := tenant + ` {"connectionId" : "same", "version" : 1, "keyId" : 2, "wasKeyId" : 1}`; compact(events) != compact(want) {
		t.Errorf("the record says %s", events)
	}
}

// TestResealMeetsRefresh: if a transaction replaces a secret while it is sealed again, the new secret stays.
func TestResealMeetsRefresh(t *testing.T) {
	b := open(t)
	b.connection(tenant, "c1")
	old := resealed(b.toReseal(broker.Binding{}, 10))
	tx := b.holds(`DELETE FROM connection_secrets WHERE connection_id = 'c1'`)
	if _, err := tx.Exec(t.Context(), `INSERT INTO connection_secrets (tenant_id, connection_id, version, key_id, sealed) VALUES ($1, 'c1', 2, 1, 'newer')`, tenant); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		n, err := b.ResealSecrets(t.Context(), 2, old)
		if n != 0 {
			err = fmt.Errorf("%d were sealed anew", n)
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
	if n := value[int](b, `SELECT count(*)::int FROM connection_secrets WHERE version = 2 AND key_id = 1`); n != 1 {
		t.Errorf("%d secrets", n)
	}
}

// TestResealsAtOnce: two reseals that work in opposite orders do not deadlock, and each secret is sealed again by one of them.
func TestResealsAtOnce(t *testing.T) {
	b := open(t)
	for i := range 60 {
		b.connection(tenant, fmt.Sprintf("c%02d", i))
	}
	there := resealed(b.toReseal(broker.Binding{}, 100))
	back := slices.Clone(there)
	slices.Reverse(back)
	var mu sync.Mutex
	var all sync.WaitGroup
	sum := 0
	for i := range 6 {
		all.Go(func() {
			n, err := b.ResealSecrets(t.Context(), 2, [][]upkeep.Resealed{there, back}[i%2])
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			sum += n
			mu.Unlock()
		})
	}
	all.Wait()
	if sum != 60 {
		t.Errorf("%d were sealed anew", sum)
	}
}

func compact(text string) string { return strings.ReplaceAll(text, " ", "") }
