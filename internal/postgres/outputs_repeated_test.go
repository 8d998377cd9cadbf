package postgres_test

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/output"
)

// noCancel loses requests to cancel a statement, so that a statement runs on after its client has lost the connection.
type noCancel struct{}

func (noCancel) Request(piece []byte) tcpproxy.Verdict {
	if len(piece) > 4 && new(pgproto3.CancelRequest).Decode(piece[4:]) == nil {
		return tcpproxy.Cut
	}
	return tcpproxy.Forward
}

func (noCancel) Answer([]byte) tcpproxy.Verdict { return tcpproxy.Forward }

// proxied opens a store on the same database. Its connections lead through the proxy.
func (b bench) proxied() (*postgres.Store, *tcpproxy.Proxy) {
	b.t.Helper()
	config := b.config(b.t, 12)
	config.ConnConfig.RuntimeParams["role"] = "pawl_worker"
	server := &config.ConnConfig.Config
	proxy, err := tcpproxy.Start(net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port))))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(proxy.Close)
	proxy.Watch(func() tcpproxy.Watch { return noCancel{} })
	host, port, err := net.SplitHostPort(proxy.Address())
	if err != nil {
		b.t.Fatal(err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		b.t.Fatal(err)
	}
	server.Host, server.Port = host, uint16(number)
	pool, err := pgxpool.NewWithConfig(b.t.Context(), config)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(pool.Close)
	return postgres.New(pool), proxy
}

// TestOutputStatementThatStillRuns: the connection breaks while a statement for an output waits in the server. The server goes on with the statement, and
// the repeated statement finds or replaces its work.
func TestOutputStatementThatStillRuns(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456789abcde\n"), 100_000)
	stream := func(ctx context.Context, s *postgres.Store) (string, error) {
		w := s.NewOutput(streamRow("call_1"))
		if err := w.Write(ctx, data); err != nil {
			return "", err
		}
		return w.Finish(ctx, toolspec.TextStream.MediaType())
	}
	whole := func(ctx context.Context, s *postgres.Store) (ref string, err error) {
		err = errs.Persist(ctx, func() (err error) {
			ref, err = s.SaveOutput(ctx, attempt.OutputRow{InvocationID: id("call_1"), TenantID: tenant, Dispatch: 1, ClaimID: "A", Value: []byte(`"large"`)})
			return err
		})
		return ref, err
	}
	for name, c := range map[string]struct {
		hold  string
		store func(context.Context, *postgres.Store) (ref string, err error)
		want  []byte
	}{
		"the beginning of a stream": {`INSERT INTO output_usage (tenant_id, quota) VALUES ('acme', 1)`, stream, data},
		"a part of a stream":        {`SELECT FROM output_usage WHERE tenant_id = 'acme' FOR UPDATE`, stream, data},
		"the end of a stream":       {`SELECT pg_advisory_xact_lock(1)`, stream, data},
		"a value":                   {`SELECT FROM output_usage WHERE tenant_id = 'acme' FOR UPDATE`, whole, []byte(`"large"`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			b.admit("call_1")
			if name != "the beginning of a stream" {
				b.sql(`INSERT INTO output_usage (tenant_id, quota) VALUES ('acme', 1)`)
			}
			b.sql(`CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END'`)
			b.sql(`CREATE TRIGGER held BEFORE UPDATE ON outputs FOR EACH ROW WHEN (NEW.state = 'complete') EXECUTE FUNCTION held()`)
			hold := b.holds(c.hold)
			store, proxy := b.proxied()
			var ref string
			stored := make(chan error, 1)
			go func() {
				var err error
				ref, err = c.store(t.Context(), store)
				stored <- err
			}()
			b.waitForLock()
			proxy.Cut()
			until(t, "the repeated statement waits too", func() bool { return b.waiting() == 2 })
			if err := hold.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-stored; err != nil {
				t.Fatal(err)
			}
			if all, _ := b.read(ref, output.Position{}); !bytes.Equal(all, c.want) {
				t.Errorf("%d bytes are stored, want %d", len(all), len(c.want))
			}
			b.counted()
		})
	}
}

// TestValueOfASettledCallAgain: a value is stored, its answer is lost, and its call is settled before the value is stored again. The quota counts the value
// once.
func TestValueOfASettledCallAgain(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	b.saved("call_1", 1, "A")
	if code := b.sweep("call_1", 1, upkeep.OwnerStatus("terminated"), toolspec.CodeInternal); code == "" {
		t.Fatal("the call is not swept")
	}
	if _, err := b.SaveOutput(t.Context(), attempt.OutputRow{InvocationID: id("call_1"), TenantID: tenant, Dispatch: 1, ClaimID: "A", Value: []byte(`"large"`)}); err == nil || errs.IsTransient(err) {
		t.Errorf("the value is stored again: %v", err)
	}
	b.counted()
	b.reclaim()
	if left := b.counted(); left != 0 {
		t.Errorf("%d chunks are left", left)
	}
}
