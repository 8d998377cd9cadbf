package chaos

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	temporal "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/workflows/contract"
)

// tenant is the tenant of all calls. Its policy requires an approval for chaos__ask only.
const (
	tenant = "acme"
	actor  = "agent:chaos"
	rules  = `
version: 1
tenants:
  acme:
    allowedTools: ["chaos__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 24h, allowUnsigned: true}
`
)

// sweepEvery is the interval of the sweeper.
const sweepEvery = 3 * time.Second

// serverTimeout bounds the wait for a server that has just started.
const serverTimeout = time.Minute

// servers are the servers of a run. close stops all of them.
type servers struct {
	stack    *devstack.Stack
	store    *postgres.Store
	temporal temporal.Client
	pawl     *client.Client
	ledger   *ledger.Ledger
	closers  []func()
	// more are further variables of worker processes.
	more []string
	// The mutexes allow one fault of each server at a time.
	postgresFault, temporalFault sync.Mutex
}

// start starts servers for this run only, except those that the options name, and applies a policy.
func start(ctx context.Context, o Options, rules string) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.stack, err = devstack.Start(ctx, devstack.Options{
		FileStore: o.has(oracle.Temporal), FullServer: o.FullServer, SearchAttributes: contract.SearchAttributeNames(),
		TemporalAddress: o.TemporalAddress, DatabaseURL: o.DatabaseURL,
		Progress: func(line string) { o.Progress(line) },
	})
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, func() { _ = s.stack.Stop(context.WithoutCancel(ctx)) })
	if s.store, err = postgres.Open(ctx, s.stack.DatabaseURL(), postgres.Options{MaxConns: 8, Application: "pawl-chaos"}); err != nil {
		return s, err
	}
	s.closers = append(s.closers, s.store.Close)
	if _, err = s.store.Migrate(ctx); err != nil {
		return s, err
	}
	p, err := policy.Parse("chaos.yaml", []byte(rules))
	if err != nil {
		return s, err
	}
	if active, ok, err := s.store.ActivePolicy(ctx); err != nil || ok && active.Digest != p.Digest() {
		return s, cmp.Or(err, errors.New("the database has an active policy: give the run a database of its own"))
	}
	if _, err = s.store.ApplyPolicy(ctx, p, "pawl chaos"); err != nil {
		return s, err
	}
	s.temporal, err = temporal.DialContext(ctx, temporal.Options{
		HostPort: s.stack.TemporalAddress(), Namespace: s.stack.Namespace(),
		Logger:            sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: temporal.ConnectionOptions{GetSystemInfoTimeout: serverTimeout},
	})
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, s.temporal.Close)
	s.pawl = client.New(s.temporal, client.Options{})
	if s.ledger, err = ledger.Start(); err != nil {
		return s, err
	}
	s.closers = append(s.closers, func() { _ = s.ledger.Close() })
	return s, nil
}

func (s *servers) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// environment returns the variables by which a worker process finds the servers.
func (s *servers) environment() []string {
	return append([]string{
		"TEMPORAL_ADDRESS=" + s.stack.TemporalAddress(), "TEMPORAL_NAMESPACE=" + s.stack.Namespace(),
		"PAWL_DATABASE_URL=" + s.stack.DatabaseURL(), LedgerEnv + "=" + s.ledger.URL(),
		"PAWL_SWEEP_EVERY=" + sweepEvery.String(),
	}, s.more...)
}

// crashPostgres stops the database for a while.
func (s *servers) crashPostgres(ctx context.Context, away time.Duration) (oracle.Fault, error) {
	s.postgresFault.Lock()
	defer s.postgresFault.Unlock()
	server := s.stack.Postgres()
	return outage(ctx, oracle.Postgres, away, func() error { return server.StopImmediate(ctx) }, server.Restart)
}

// killTemporal stops the Temporal server for a while.
func (s *servers) killTemporal(ctx context.Context, away time.Duration) (oracle.Fault, error) {
	s.temporalFault.Lock()
	defer s.temporalFault.Unlock()
	server := s.stack.Temporal()
	return outage(ctx, oracle.Temporal, away, server.Kill, server.Restart)
}

// freezePostgres freezes the database for a while.
func (s *servers) freezePostgres(ctx context.Context, d time.Duration, begun func()) (oracle.Fault, error) {
	s.postgresFault.Lock()
	defer s.postgresFault.Unlock()
	return hold(ctx, oracle.PostgresFreeze, d, begun, func() (func(), error) { return s.stack.Postgres().Freeze(ctx) })
}

// lockClaims locks the table of claims against writes for a while.
func (s *servers) lockClaims(ctx context.Context, d time.Duration, begun func()) (oracle.Fault, error) {
	s.postgresFault.Lock()
	defer s.postgresFault.Unlock()
	return hold(ctx, oracle.Lock, d, begun, func() (func(), error) { return s.stack.Postgres().LockTable(ctx, "claims") })
}

// freezeTemporal freezes the Temporal server for a while.
func (s *servers) freezeTemporal(ctx context.Context, d time.Duration, begun func()) (oracle.Fault, error) {
	s.temporalFault.Lock()
	defer s.temporalFault.Unlock()
	return hold(ctx, oracle.TemporalFreeze, d, begun, s.stack.Temporal().Freeze)
}

// hold runs begin, waits for d or the end of ctx, and then undoes begin. It calls begun after
// begin. If ctx has ended, an error of begin does not count.
func hold(ctx context.Context, kind oracle.FaultKind, d time.Duration, begun func(), begin func() (func(), error)) (oracle.Fault, error) {
	f := oracle.Fault{Kind: kind, From: time.Now()}
	end, err := begin()
	if err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		f.To = time.Now()
		return f, err
	}
	begun()
	pause(ctx, d)
	end()
	f.To = time.Now()
	return f, nil
}

// outage stops a server and starts it again after away, or earlier if ctx ends.
func outage(ctx context.Context, kind oracle.FaultKind, away time.Duration, stop func() error, restart func(context.Context) error) (oracle.Fault, error) {
	f := oracle.Fault{Kind: kind, From: time.Now()}
	if err := stop(); err != nil {
		return f, err
	}
	pause(ctx, away)
	err := restart(context.WithoutCancel(ctx))
	f.To = time.Now()
	return f, err
}

// pause waits for d. It returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
