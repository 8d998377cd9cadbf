package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/audit"
	"github.com/pawl-run/pawl/internal/postgres"
	postgresaudit "github.com/pawl-run/pawl/internal/postgres/audit"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// auditKey returns a new key with which the workers of a test sign.
func auditKey(t testing.TB) *proof.Signer {
	t.Helper()
	s, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func (b bench) seals(key *proof.Signer) int {
	b.t.Helper()
	n, err := postgres.NewSealer(b.Store, key, retentionDays, slog.New(slog.DiscardHandler)).Seal(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// verifies verifies the chain of a tenant, and returns the report.
func (b bench) verifies(tenantID string, terms audit.Terms) (found audit.Report) {
	b.t.Helper()
	reports := 0
	if err := b.VerifyAudit(b.t.Context(), terms, func(r audit.Report) { found, reports = r, reports+1 }, tenantID); err != nil {
		b.t.Fatal(err)
	}
	if reports != 1 || found.TenantID != tenantID {
		b.t.Fatalf("%d reports, the last of %q", reports, found.TenantID)
	}
	return found
}

// happens inserts n events of a tenant.
func (b bench) happens(tenantID string, n int) {
	b.t.Helper()
	b.sql(`INSERT INTO events (kind, tenant_id, workflow_id, detail)
		SELECT 'decision', $1, 'w' || i, json_build_object('by', 'user:ann', 'n', i) FROM generate_series(1, $2) AS i`, tenantID, n)
}

// TestAuditAttacks changes sealed rows as an attacker does who can write to the database and does not have the key. Each change must be found.
func TestAuditAttacks(t *testing.T) {
	t.Parallel()
	b := open(t)
	key, other := auditKey(t), auditKey(t)
	attacks := []struct {
		name, sql string
		n         int64
		text      string
	}{
		{"update", `UPDATE events SET detail = '{"by": "user:eve", "n": 7}' WHERE id = (SELECT event_id FROM audit_seals WHERE tenant_id = $1 AND n = 7)`, 7, "row 7 (event "},
		{"time", `UPDATE events SET at = 'infinity' WHERE id = (SELECT event_id FROM audit_seals WHERE tenant_id = $1 AND n = 7)`, 7, "decision of infinity) was changed"},
		{"delete", `DELETE FROM events WHERE id = (SELECT event_id FROM audit_seals WHERE tenant_id = $1 AND n = 7)`, 7, ") was deleted: the retention of 400 days keeps it"},
		{"delete-sealed", `WITH s AS (DELETE FROM audit_seals WHERE tenant_id = $1 AND n = 7 RETURNING event_id) DELETE FROM events WHERE id = (SELECT event_id FROM s)`, 7, "the seals of rows 7 to 7 are gone"},
		{"cut", `WITH s AS (DELETE FROM audit_seals WHERE tenant_id = $1 AND n > 8 RETURNING event_id), h AS (DELETE FROM audit_heads WHERE tenant_id = $1 AND n > 8)
			DELETE FROM events WHERE id IN (SELECT event_id FROM s)`, 9, "rows 9 to 16 were cut off: the exported head of "},
		{"cut-all", `WITH s AS (DELETE FROM audit_seals WHERE tenant_id = $1), h AS (DELETE FROM audit_heads WHERE tenant_id = $1) DELETE FROM events WHERE tenant_id = $1`, 1, "rows 1 to 16 were cut off"},
		{"cut-beginning", `WITH s AS (DELETE FROM audit_seals WHERE tenant_id = $1 AND n <= 8 RETURNING event_id) DELETE FROM events WHERE id IN (SELECT event_id FROM s)`, 1, "the seals of rows 1 to 8 were deleted before the 400 days"},
		{"swap", `UPDATE events e SET detail = o.detail, at = o.at, workflow_id = o.workflow_id FROM events o
			WHERE (e.id, o.id) IN (SELECT a.event_id, b.event_id FROM audit_seals a, audit_seals b WHERE a.tenant_id = $1 AND b.tenant_id = $1 AND (a.n, b.n) IN ((7, 8), (8, 7)))`, 7, "row 7 (event "},
		{"swap-seals", `UPDATE audit_seals s SET event_id = o.event_id, leaf = o.leaf, month = o.month FROM audit_seals o
			WHERE s.tenant_id = $1 AND o.tenant_id = $1 AND (s.n, o.n) IN ((7, 8), (8, 7))`, 7, "the chain is broken at row 7 (event "},
		{"insert", `INSERT INTO audit_seals (tenant_id, n, month, event_id, leaf, link) SELECT tenant_id, 17, month, event_id, leaf, link FROM audit_seals WHERE tenant_id = $1 AND n = 7`, 17, "the chain is broken at row 17 (event "},
		{"insert-unsealed", `WITH e AS (SELECT pg_advisory_xact_lock(1)) UPDATE events SET tenant_id = $1 WHERE tenant_id = 'bystander'`, 0, "1 rows were never sealed and do not wait for it, such as event "},
		{"steal", `UPDATE events SET tenant_id = 'elsewhere' WHERE id = (SELECT event_id FROM audit_seals WHERE tenant_id = $1 AND n = 7)`, 7, "row 7 (event "},
		{"cut-heads", `WITH h AS (DELETE FROM audit_heads WHERE tenant_id = $1) UPDATE events SET detail = '{"by": "user:eve"}' WHERE tenant_id = $1`, 1, "rows 1 to 16 have seals and no head"},
		{"unsigned", `UPDATE audit_heads SET key_id = '', signature = '' WHERE tenant_id = $1`, 1, "the heads of rows 1 to 16 are not signed"},
		{"signed-by-another", ``, 1, "which is not among the given ones"},
		{"nothing", ``, 0, ""},
	}
	b.happens("bystander", 1)
	for range 2 {
		for _, a := range attacks {
			b.happens(a.name, 8)
		}
		b.seals(key)
	}
	exported, err := b.AuditHeads(t.Context())
	if err != nil || len(exported) != len(attacks)+1 {
		t.Fatalf("%d heads, %v", len(exported), err)
	}
	for _, a := range attacks {
		if a.sql != "" {
			b.sql(a.sql, a.name)
		}
		if a.name == "signed-by-another" {
			// The attacker changes an event and lets a worker with another key seal the whole chain again.
			b.sql(`UPDATE events SET detail = '{"by": "user:eve"}' WHERE tenant_id = $1`, a.name)
			b.sql(`DELETE FROM audit_heads WHERE tenant_id = $1`, a.name)
			b.sql(`WITH s AS (DELETE FROM audit_seals WHERE tenant_id = $1 RETURNING month, event_id) INSERT INTO audit_pending SELECT * FROM s`, a.name)
			b.seals(other)
		}
		r := b.verifies(a.name, audit.Terms{Keys: []proof.Key{key.Key()}, Exported: exported})
		if a.text == "" {
			if r.Found != 0 || r.Rows != 16 || r.Signed != 2 || len(r.Notes) != 0 {
				t.Errorf("nothing was changed: %+v", r)
			}
			continue
		}
		if !slices.ContainsFunc(r.Findings, func(f audit.Finding) bool { return f.N == a.n && strings.Contains(f.Text, a.text) }) {
			t.Errorf("%s: found %+v, not %q of row %d", a.name, r.Findings, a.text, a.n)
		}
	}
	// Without exported heads and without a given tenant, each tenant that has rows is verified.
	found := map[string]int64{}
	if err := b.VerifyAudit(t.Context(), audit.Terms{Keys: []proof.Key{key.Key()}}, func(r audit.Report) { found[r.TenantID] = r.Found }); err != nil {
		t.Fatal(err)
	}
	if n, ok := found["nothing"]; !ok || n != 0 || found["cut-heads"] == 0 || found["update"] == 0 {
		t.Errorf("of all tenants: %v", found)
	}
}

// TestAuditSealing: every committed event gets one seal, whatever the order in which the transactions commit.
func TestAuditSealing(t *testing.T) {
	t.Parallel()
	b := open(t)
	key := auditKey(t)
	late := b.holds(`INSERT INTO events (kind, tenant_id) VALUES ('late', 'acme')`)
	b.happens("acme", 3)
	b.sql(`INSERT INTO events (kind) VALUES ('policy_activated')`)
	if n := b.seals(key); n != 4 {
		t.Fatalf("%d events were sealed, not 4", n)
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.seals(key); n != 1 {
		t.Fatalf("%d late events were sealed, not 1", n)
	}
	var exported []postgresaudit.Sealed
	last, err := b.ExportAudit(t.Context(), "acme", 2, func(s postgresaudit.Sealed) error { exported = append(exported, s); return nil })
	if err != nil || last != 4 || len(exported) != 2 || exported[1].N != 4 || exported[1].Row.Kind != "late" {
		t.Errorf("exported %+v up to %d, %v", exported, last, err)
	}
	if r := b.verifies("", audit.Terms{Keys: []proof.Key{key.Key()}}); r.Found != 0 || r.Rows != 1 || r.Signed != 1 {
		t.Errorf("the chain of no tenant: %+v", r)
	}

	// A worker without a key does not continue chains that other workers have signed.
	b.happens("acme", 1)
	if n, err := postgres.NewSealer(b.Store, nil, retentionDays, slog.New(slog.DiscardHandler)).Seal(t.Context()); n != 0 || !contains(errs.Reason(err), "has no key") {
		t.Errorf("a worker without a key sealed %d events, %v", n, err)
	}
	if r := b.verifies("acme", audit.Terms{Keys: []proof.Key{key.Key()}}); r.Found != 0 || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "1 newer rows wait for a seal") {
		t.Errorf("with an event that waits: %+v", r)
	}
	b.sql(`DELETE FROM audit_pending`)
	if r := b.verifies("acme", audit.Terms{}); r.Found != 1 || !strings.HasPrefix(r.Findings[0].Text, "1 rows were never sealed") {
		t.Errorf("with an emptied queue: %+v", r)
	}

	// Large events are sealed a few at a time.
	b.sql(`INSERT INTO events (kind, tenant_id, detail) SELECT 'large', 'large', json_build_object('x', repeat('y', 5000000)) FROM generate_series(1, 3)`)
	if n := b.seals(key); n != 3 {
		t.Errorf("%d large events were sealed, not 3", n)
	}
	if r := b.verifies("large", audit.Terms{Keys: []proof.Key{key.Key()}}); r.Found != 0 || r.Rows != 3 || r.Heads != 2 {
		t.Errorf("large events: %+v", r)
	}

	// Several sealers work on one database at the same moment, with many events.
	const many = 10_000
	b.happens("many", many)
	began := time.Now()
	counts := make([]int, 4)
	together(len(counts), func(i int) { counts[i] = b.seals(key) })
	counts[0] += b.seals(key) // a sealer that finds another one at work returns, so some events can be left
	t.Logf("%d events were sealed in %s, by %v", many, time.Since(began), counts)
	began = time.Now()
	r := b.verifies("many", audit.Terms{Keys: []proof.Key{key.Key()}})
	t.Logf("and verified in %s", time.Since(began))
	if r.Found != 0 || r.Rows != many || r.To != many || r.Signed != r.Heads || r.Heads < many/1000 {
		t.Errorf("many events: %+v", r)
	}
}

// TestAuditRetention: the verification distinguishes events that retention deleted from events that an attacker deleted, and a chain stays valid after
// retention has deleted its beginning.
func TestAuditRetention(t *testing.T) {
	t.Parallel()
	b := open(t)
	key := auditKey(t)
	terms := audit.Terms{Keys: []proof.Key{key.Key()}}
	b.sql(`INSERT INTO events (kind, tenant_id, month) SELECT 'old', 'acme', '2020-01-01' FROM generate_series(1, 4)`)
	// Only an attacker writes such a month. It must not stop sealing or retention.
	b.sql(`INSERT INTO events (kind, tenant_id, month) VALUES ('odd', 'odd', '-infinity')`)
	b.seals(key)
	b.happens("acme", 2)
	b.sql(`INSERT INTO events (kind, tenant_id, month) VALUES ('old', 'acme', '2020-02-01')`)
	b.seals(key)
	b.expire()
	if r := b.verifies("acme", terms); r.Found != 0 || r.Removed != 5 || r.Rows != 2 || r.From != 1 {
		t.Fatalf("after retention: %+v", r)
	}

	// Make the first head as old as its seals.
	heads := b.age(key, "acme")
	b.expire()
	if n := value[int](b, `SELECT count(*) FROM audit_seals WHERE tenant_id = 'acme'`); n != 3 {
		t.Errorf("%d seals are kept, not 3", n)
	}
	if r := b.verifies("acme", audit.Terms{Keys: terms.Keys, Exported: heads}); r.Found != 0 || r.Removed != 5 || r.Rows != 2 || r.From != 5 || r.To != 7 {
		t.Errorf("after the retention of seals: %+v", r)
	}
	b.sql(`UPDATE events SET kind = 'x' WHERE tenant_id = 'acme'`)
	if r := b.verifies("acme", terms); r.Found != 2 {
		t.Errorf("what is kept was changed: %+v", r.Findings)
	}

	// A head without any seal up to its number cannot be verified. Such a head must not excuse deleted events.
	b.sql(`INSERT INTO events (kind, tenant_id, month) VALUES ('recent', 'acme', date_trunc('month', now() - interval '40 days'))`)
	b.seals(key)
	b.sql(`INSERT INTO audit_heads (tenant_id, n, link, at, retention_days, after, key_id, signature) VALUES ('acme', 2, '', now(), 0, 1, '', '')`)
	b.sql(`DELETE FROM events WHERE kind = 'recent'`)
	if r := b.verifies("acme", terms); r.Found != 3 {
		t.Errorf("a recent event was deleted: %+v", r.Findings)
	}
}

// age makes the first head of a tenant older than the retention, with the signature that its worker would have written, and returns the heads.
func (b bench) age(key *proof.Signer, tenantID string) []audit.Head {
	b.t.Helper()
	h := audit.Head{
		TenantID: tenantID, N: value[int64](b, `SELECT min(n) FROM audit_heads WHERE tenant_id = $1`, tenantID), RetentionDays: retentionDays,
		Link: value[[]byte](b, `SELECT link FROM audit_heads WHERE tenant_id = $1 ORDER BY n LIMIT 1`, tenantID),
		At:   value[time.Time](b, `SELECT now() - interval '402 days'`),
	}.Sign(*key)
	b.sql(`UPDATE audit_heads SET at = $1, signature = $2 WHERE tenant_id = $3 AND n = $4`, h.At, h.Signature, tenantID, h.N)
	heads, err := b.AuditHeads(context.WithoutCancel(b.t.Context()), tenantID)
	if err != nil || len(heads) != 1 {
		b.t.Fatal(fmt.Sprint(len(heads)), err)
	}
	return heads
}
