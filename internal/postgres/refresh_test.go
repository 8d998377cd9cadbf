package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres/connections"
)

// renewed adds a connection that can be refreshed. Its sealed secret is not a real one, because no test opens it.
func (b bench) renewed(connectionID string) broker.Binding {
	b.t.Helper()
	at := broker.Binding{TenantID: tenant, ConnectionID: connectionID, Provider: "test", Version: 1}
	p := broker.Provider{ID: "test", Kind: broker.OAuth, Hosts: []string{"api.example.com"}, OAuth2: &broker.OAuth2{Flow: broker.ClientCredentials, TokenURL: "https://a.example/t"}}
	err := b.AddConnection(b.t.Context(), connections.AddRow{
		Provider: p, Hosts: p.Hosts, Sealed: broker.Sealed{Binding: at, KeyID: 1, Bytes: []byte("sealed")}, SignedIn: true,
	}, "test")
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}

func (b bench) wantClaim(at broker.Binding, refresher string, forced bool, want broker.RefreshAnswer) {
	b.t.Helper()
	got, err := b.BeginRefresh(b.t.Context(), broker.RefreshClaim{
		Binding: at, Refresher: refresher, Lasts: time.Hour, Forced: forced, Apart: time.Hour,
	})
	if err != nil || got != want {
		b.t.Errorf("%s gets %s, %v; want %s", refresher, got, err, want)
	}
}

func (b bench) fail(at broker.Binding, refresher string, lost bool, after time.Duration) {
	b.t.Helper()
	if err := b.FailRefresh(b.t.Context(), broker.FailedRefresh{
		Binding: at, Refresher: refresher, Lost: lost, Code: "http_503", After: after, First: 2 * time.Second, Most: 5 * time.Minute,
	}); err != nil {
		b.t.Error(err)
	}
}

func (b bench) stored(at broker.Binding, missing ...string) bool {
	b.t.Helper()
	at.Version++
	stored, err := b.StoreRefreshed(b.t.Context(), broker.Refreshed{
		Sealed: broker.Sealed{Binding: at, KeyID: 1, Bytes: []byte("sealed anew")}, Lasts: time.Hour, Missing: missing, By: "worker",
	})
	if err != nil {
		b.t.Error(err)
	}
	return stored == broker.TokenStored
}

// TestOneRefresher: of many workers that ask at the same moment, one gets the claim to refresh. Another worker gets a claim that has expired, and each version
// is refreshed once.
func TestOneRefresher(t *testing.T) {
	b := open(t)
	at := b.renewed("c1")
	var claimed atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			got, err := b.BeginRefresh(t.Context(), broker.RefreshClaim{Binding: at, Refresher: fmt.Sprint("w", i), Lasts: time.Hour})
			switch {
			case err != nil:
				t.Error(err)
			case got == broker.RefreshClaimed:
				claimed.Add(1)
			case got != broker.RefreshBusy:
				t.Errorf("got %s", got)
			}
		})
	}
	all.Wait()
	if n := claimed.Load(); n != 1 {
		t.Fatalf("%d refresh at once", n)
	}
	value[int](b, `UPDATE connections SET refresh_until = now() - interval '1 second' RETURNING 1`)
	b.wantClaim(at, "second", false, broker.RefreshClaimed)
	// A failure that comes from the worker whose claim has expired changes nothing. A token that it has got still counts.
	b.fail(at, "first", true, 0)
	b.wantClaim(at, "third", false, broker.RefreshBusy)
	if !b.stored(at, "write") || b.stored(at) {
		t.Error("a version is stored other than once")
	}
	b.fail(at, "second", true, 0)
	if got := value[string](b, `SELECT status || ' ' || secret_version || ' ' || generation FROM connections`); got != "active 2 1" {
		t.Errorf("the connection is %s", got)
	}
	if got := value[string](b, `SELECT (detail->>'version') || (detail->>'missingScopes') FROM events WHERE kind = 'connection_refreshed'`); got != `2["write"]` {
		t.Errorf("the record says %s", got)
	}
	if r, _, err := b.ConnectionSecret(t.Context(), tenant, "c1"); err != nil || r.Life != time.Hour || r.Remaining <= 0 || r.Remaining > time.Hour || r.Sealed.ExpiresAt.IsZero() {
		t.Errorf("%v; the token lasts %s of %s, until %s", err, r.Remaining, r.Life, r.Sealed.ExpiresAt)
	}
	b.wantClaim(at, "late", false, broker.RefreshMoved)
	at.Version = 2
	// The token is new, so a refusal of a service is no reason for another refresh.
	b.wantClaim(at, "forced", true, broker.RefreshUseless)
	value[int](b, `UPDATE connections SET refreshed_at = now() - interval '2 hours' RETURNING 1`)
	b.wantClaim(at, "forced", true, broker.RefreshClaimed)
	if _, err := b.RevokeConnection(t.Context(), tenant, "c1", "test"); err != nil {
		t.Fatal(err)
	}
	b.wantClaim(at, "after the end", false, broker.RefreshMoved)
	if b.stored(at) {
		t.Error("a connection that is gone got a secret")
	}
}

// TestRevokedBehindRefresh: a revocation that waits for a refresh also deletes the secret that the refresh has stored. A refresh that waits for a revocation
// stores nothing, and gets the answer that its token is not needed.
func TestRevokedBehindRefresh(t *testing.T) {
	for name, order := range map[string][]string{"the refresh is first": {"refresh", "revoke"}, "the revocation is first": {"revoke", "refresh"}} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			at := b.renewed("c1")
			next := at
			next.Version++
			held := b.holds(`SELECT FROM connections FOR UPDATE`)
			var begun sync.WaitGroup
			var answer broker.StoreAnswer
			var record broker.Record
			errs := make([]error, 2)
			for i, what := range order {
				begun.Go(func() {
					if what == "refresh" {
						answer, errs[i] = b.StoreRefreshed(t.Context(), broker.Refreshed{Sealed: broker.Sealed{Binding: next, KeyID: 7, Bytes: []byte("sealed anew")}, Lasts: time.Hour, By: "worker"})
						return
					}
					record, errs[i] = b.RevokeConnection(t.Context(), tenant, "c1", "user:root")
				})
				until(t, "it waits", func() bool {
					return value[int](b, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == i+1
				})
			}
			if err := held.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			begun.Wait()
			wantAnswer, wantSealed, wantVersion, wantKey := broker.TokenStored, "sealed anew", 2, int64(7)
			if order[0] == "revoke" {
				wantAnswer, wantSealed, wantVersion, wantKey = broker.TokenUnwanted, "sealed", 1, 1
			}
			got := record.Sealed
			if errs[0] != nil || errs[1] != nil || answer != wantAnswer || string(got.Bytes) != wantSealed || got.Version != wantVersion || got.KeyID != wantKey {
				t.Errorf("%v: the refresh is %s, the revocation has %q, version %d of key %d", errs, answer, got.Bytes, got.Version, got.KeyID)
			}
			if record.Provider.OAuth2 == nil || got.ConnectionID != "c1" || got.TenantID != tenant {
				t.Errorf("the revocation has %+v", record)
			}
			if n := value[int](b, `SELECT count(*)::int FROM connection_secrets`); n != 0 {
				t.Errorf("%d secrets stay behind", n)
			}
		})
	}
}

// TestCooldown: after a failure no worker tries for a pause, which doubles with each failure or is the one that the server asks for. A success resets the
// pause. A lost connection stays lost until a person signs in again.
func TestCooldown(t *testing.T) {
	b := open(t)
	at := b.renewed("c1")
	b.sql(`CREATE TABLE pauses (n serial, pause interval)`)
	b.sql(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
		'BEGIN INSERT INTO pauses (pause) VALUES (NEW.refresh_after - now()); RETURN NULL; END'`)
	b.sql(`CREATE TRIGGER note AFTER UPDATE OF refresh_after ON connections FOR EACH ROW WHEN (NEW.refresh_after > now()) EXECUTE FUNCTION note()`)
	// pause returns the length of the last pause at the moment at which it was written.
	pause := func() int {
		return value[int](b, `SELECT round(extract(epoch FROM pause))::int FROM pauses ORDER BY n DESC LIMIT 1`)
	}
	warm := func() {
		value[int](b, `UPDATE connections SET refresh_after = now() - interval '1 second' RETURNING 1`)
	}
	for i, want := range []int{2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		b.wantClaim(at, "w", false, broker.RefreshClaimed)
		b.fail(at, "w", false, 0)
		if got := pause(); got < want-1 || got > want {
			t.Errorf("failure %d: %d seconds, want %d", i+1, got, want)
		}
		// The rest of the test may take longer than the pause of two seconds.
		value[int](b, `UPDATE connections SET refresh_after = refresh_after + interval '1 minute' RETURNING 1`)
		b.wantClaim(at, "w", false, broker.RefreshCooling)
		b.wantClaim(at, "w", true, broker.RefreshCooling)
		warm()
	}
	b.wantClaim(at, "w", false, broker.RefreshClaimed)
	b.fail(at, "w", false, 20*time.Minute)
	if got := pause(); got < 1199 || got > 1200 {
		t.Errorf("%d seconds, want what the server named", got)
	}
	warm()
	b.wantClaim(at, "w", false, broker.RefreshClaimed)
	if !b.stored(at) {
		t.Fatal("not stored")
	}
	at.Version = 2
	b.wantClaim(at, "w", false, broker.RefreshClaimed)
	b.fail(at, "w", false, 0)
	if got := pause(); got > 2 {
		t.Errorf("%d seconds after a success", got)
	}
	warm()
	b.wantClaim(at, "w", false, broker.RefreshClaimed)
	b.fail(at, "w", true, 0)
	b.wantClaim(at, "w", false, broker.RefreshReauth)
	if b.stored(at) {
		t.Error("a token was stored for who has to sign in anew")
	}
	at.Version = 3
	replaced, err := b.ReplaceSecret(t.Context(), broker.Sealed{Binding: at, KeyID: 1, Bytes: []byte("x")}, time.Hour, true, "test")
	if err != nil || !replaced {
		t.Fatal(replaced, err)
	}
	b.wantClaim(at, "w", true, broker.RefreshClaimed)
}
