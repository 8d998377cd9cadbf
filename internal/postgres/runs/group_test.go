package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

// TestGroups: texts that arrive while the row of their run is locked are written in one transaction. A write that the database refuses fails alone,
// and a caller that gives up does not wait.
func TestGroups(t *testing.T) {
	for _, refused := range []bool{false, true} {
		t.Run(fmt.Sprintf("refused %t", refused), func(t *testing.T) {
			ctx := t.Context()
			url := postgrestest.Database(t)
			d, err := db.Open(ctx, url, db.Options{MaxConns: 4})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
			exec := func(sql string) {
				t.Helper()
				if _, err := conn.Exec(ctx, sql); err != nil {
					t.Fatal(err)
				}
			}
			count := func(sql string) (n int) {
				t.Helper()
				if err := conn.QueryRow(ctx, sql).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			until := func(what string, holds func() bool) {
				t.Helper()
				if !devstacktest.Eventually(ctx, time.Minute, holds) {
					t.Fatal("not in a minute: " + what)
				}
			}

			s := New(d)
			run := inRun{"acme", "run"}
			queued := func() int {
				s.groups.mu.Lock()
				defer s.groups.mu.Unlock()
				return len(s.groups.waiting[run])
			}
			appended := func(ctx context.Context, key string) error {
				return s.Append(ctx, run.tenantID, run.runID, client.TurnEvent{Key: key, Text: "text"})
			}

			exec("BEGIN")
			exec("INSERT INTO runs (tenant_id, run_id) VALUES ('acme', 'run')")
			var all sync.WaitGroup
			write := func(f func() error, fails bool) {
				all.Go(func() {
					if err := f(); (err != nil) != fails {
						t.Errorf("got %v, want an error: %t", err, fails)
					}
				})
			}
			write(func() error { return appended(ctx, "0") }, false)
			until("the first write waits for the row", func() bool {
				return count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") == 1
			})
			for i := range 3 {
				write(func() error { return appended(ctx, fmt.Sprint(i+1)) }, false)
			}
			until("three writes wait for the first", func() bool { return queued() == 3 })
			if refused {
				write(func() error {
					var none []turnRow
					return s.groups.write(ctx, "refused", run, db.Into(&none, db.Query("Append", db.Values{
						"tenant_id": run.tenantID, "run_id": run.runID, "key": nil, "first": 0, "until": 1, "done": false, "owner_id": "", "detail": nil,
					})))
				}, true)
				until("the refused write waits too", func() bool { return queued() == 4 })
			}
			gone, cancel := context.WithCancel(ctx)
			write(func() error {
				err := appended(gone, "gone")
				if !errors.Is(err, context.Canceled) {
					t.Errorf("a caller that gave up got %v", err)
				}
				return err
			}, true)
			before := 3
			if refused {
				before = 4
			}
			until("the caller that will give up waits too", func() bool { return queued() == before+1 })
			cancel()
			exec("COMMIT")
			all.Wait()
			transactions := 2
			if refused {
				transactions = 4
			}
			if got := count("SELECT count(DISTINCT xmin::text) FROM run_events"); got != transactions {
				t.Errorf("%d transactions, want %d", got, transactions)
			}
			if got := count("SELECT max(seq) FROM run_events"); got != 4 {
				t.Errorf("the last event has number %d", got)
			}
			until("no run is left in memory", func() bool {
				s.groups.mu.Lock()
				defer s.groups.mu.Unlock()
				return len(s.groups.waiting) == 0
			})
		})
	}
}
