package chaos

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
)

// TestLoad: a run under load counts one lost call, one doubled effect, one place that stays taken and one leaked secret, when there is one of
// each, and nothing else.
func TestLoad(t *testing.T) {
	t.Parallel()
	o := LoadOptions{Options: options(t, self(t)), Steps: []LoadStep{{Workers: 1, Submitters: 4}, {Workers: 1, Submitters: 8}}, grace: time.Second}
	o.Faults, o.For, o.Calls, o.Evidence = nil, 3*time.Second, 0, ""
	o.tamper = func(ctx context.Context, l *load) error {
		return tamper(ctx, t, l)
	}
	report, err := Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Lost != 1 || report.Doubled != 1 || report.LeakedPlaces != 1 || report.Secrets.Leaked != 1 || report.Secrets.Unread != 0 || report.Held() {
		t.Errorf("lost %d, doubled %d, places %d, secrets %+v; want one of each", report.Lost, report.Doubled, report.LeakedPlaces, report.Secrets)
	}
	for _, v := range report.Verdicts {
		if most := map[string]int{"settled": 1, "unbroken": 1, "once": 1, "claimed": 1}[v.Name]; len(v.Violations) > most {
			t.Errorf("%s: %v", v.Name, v.Violations)
		}
	}
	if report.Secrets.Histories == 0 || report.Secrets.Rows == 0 || report.Calls[ledger.Account]["ok"] != report.Secrets.Histories {
		t.Errorf("searched %+v for the secret of %v", report.Secrets, report.Calls[ledger.Account])
	}
	for _, s := range report.Steps {
		if canTell && (len(s.Uses) != 2 || slices.ContainsFunc(s.Uses, func(u Use) bool { return u.MemoryMiB < 20 || u.Files < 10 || u.Connections < 1 })) {
			t.Errorf("the workers use %+v", s.Uses)
		}
		if s.Ended == 0 || s.PerSecond == 0 || len(s.Lanes) == 0 || s.Lanes[0].P50Ms == 0 {
			t.Errorf("figures %+v", s)
		}
	}
}

// tamper makes one call lost, one doubled, takes a place and writes the secret into a table.
func tamper(ctx context.Context, t *testing.T, l *load) error {
	t.Helper()
	lost, err := newCall(PlannedCall{ToolCallID: "never-submitted", ToolID: ledger.Read}, "chaos-3")
	if err != nil {
		return err
	}
	close(lost.accepted)
	sent := slices.IndexFunc(l.calls, func(c *call) bool { return c.ToolID == ledger.Send })
	if sent < 0 {
		t.Fatal("no call had an effect that must not be repeated")
	}
	id := l.calls[sent].invocation.Identity().InvocationID()
	effect := l.servers.ledger.Of(id)[0]
	if err := (ledger.Writer{URL: l.servers.ledger.URL()}).Write(ctx, effect); err != nil {
		return err
	}
	l.calls = append(l.calls, lost)
	conn, err := pgx.Connect(ctx, l.servers.stack.DatabaseURL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `CREATE TABLE left_by_the_test AS SELECT $1::text AS secret`, l.secret.token)
	if err == nil {
		_, err = conn.Exec(ctx, `INSERT INTO leases (invocation_id, kind, tenant_id, key, state, ticket, most, round, epoch, expires_at)
			VALUES ($1, 'semaphore', 'acme', 'left', 'held', 1, 1, 1, 1, now() + interval '1 hour')`, id)
	}
	return err
}
