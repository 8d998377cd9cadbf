package e2etest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// WaitTimeout bounds every wait of a test for something that normally takes a moment.
const WaitTimeout = 3 * time.Minute

// PlainPolicy allows the tenants acme and globex every tool. Tools with more than a low risk need an approval.
const PlainPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*", "test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
  globex:
    allowedTools: ["core__*", "test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

// World is a namespace of a Temporal server, a database and a workspace. It has the clients with which a test runs workers on them and reads their
// state.
type World struct {
	T         *testing.T
	Address   string
	Namespace string
	Database  string
	Workspace string
	// through is the URL of the database for workers, if a proxy is in front of it.
	through string
	// Connections is the size of the connection pool of workers; 0 means 10.
	Connections int
	Temporal    client.Client
	Pawl        *pawl.Client
	Store       *postgres.Store
	Log         *devstacktest.Log
	// Keyring is the file of the key ring of child processes, or "".
	Keyring string
	// Secrets has the secrets that must not be stored anywhere at the end of the test. Planted says that the test itself has stored some of them.
	Secrets *Secrets
	Planted bool
	// connectionKey is a secret of every worker.
	connectionKey string
	// Keys and Codec encrypt payloads, if set.
	Keys  string
	Codec converter.PayloadCodec
	// Sealed is a client that encrypts with these keys.
	Sealed client.Client
	// shared says that other tests use the servers too, which go on after the test.
	shared bool
	// queries holds the connections of Query.
	queries *pgxpool.Pool
	// SweepEvery is the interval of the schedule of sweeps; 0 makes no schedule.
	SweepEvery time.Duration
}

// NewWorld makes a world on the shared servers, under a policy.
func NewWorld(t *testing.T, rules string) *World {
	t.Helper()
	w := NewWorldOn(t, devstacktest.Temporal(t), postgrestest.Database(t), rules)
	w.shared = true
	return w
}

// NewWorldOn is NewWorld on servers of the test, which it may stop.
func NewWorldOn(t *testing.T, address, database, rules string) *World {
	t.Helper()
	return NewWorldOf(t, address, database, func(w *World) {
		w.T.Helper()
		if _, err := w.Store.Migrate(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
		w.Apply(rules)
	})
}

// NewWorldOf is NewWorldOn with a function that creates the schema and the policy of the database.
func NewWorldOf(t *testing.T, address, database string, prepare func(*World)) *World {
	t.Helper()
	w := &World{
		T: t, Address: address, Namespace: "e2e-" + strings.ToLower(rand.Text()[:12]),
		Database: database, Workspace: t.TempDir(), Log: &devstacktest.Log{},
		Secrets: &Secrets{}, connectionKey: rand.Text(),
	}
	w.Secrets.Never("the connection key", []byte(w.connectionKey))
	if u, err := url.Parse(database); err == nil {
		if password, ok := u.User.Password(); ok {
			w.Secrets.Never("the database's password", []byte(password))
		}
	}
	var err error
	if w.Store, err = postgres.Open(t.Context(), database, postgres.Options{MaxConns: 4, Application: "e2etest"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Store.Close)
	w.openQueries()
	if w.Temporal, err = client.DialContext(t.Context(), client.Options{
		HostPort: w.Address, Namespace: w.Namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: WaitTimeout},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Temporal.Close)
	t.Cleanup(w.nothingLeaked)
	devstacktest.Namespace(t, w.Temporal, w.Namespace, contract.SearchAttributeNames()...)
	prepare(w)
	w.Pawl = pawl.New(w.Temporal, pawl.Options{Outputs: w.Store})
	return w
}

// Apply makes a policy the active one.
func (w *World) Apply(rules string) {
	w.T.Helper()
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		w.T.Fatal(err)
	}
	if _, err := w.Store.ApplyPolicy(w.T.Context(), p, "e2etest"); err != nil {
		w.T.Fatal(err)
	}
}

// Config returns the configuration of a worker of this world.
func (w *World) Config() worker.Config {
	return worker.Config{
		Temporal:    client.Options{HostPort: w.Address, Namespace: w.Namespace},
		DatabaseURL: cmp.Or(w.through, w.Database), Workspace: w.Workspace, SearchAttributes: true, Connections: cmp.Or(w.Connections, 10),
		SweepEvery: w.SweepEvery, ConnectionKey: []byte(w.connectionKey),
		Codec: worker.Codec{Keys: []byte(w.Keys)},
		Log:   slog.New(slog.NewTextHandler(w.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// Work runs a worker until stop is called or the test ends.
func (w *World) Work(options ...worker.Option) (stop func()) {
	w.T.Helper()
	return w.WorkWith(w.Config(), options...)
}

// WorkWith is Work with another configuration.
func (w *World) WorkWith(c worker.Config, options ...worker.Option) (stop func()) {
	w.T.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.T.Context()))
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, c, options...) }()
	stopped := false
	stop = func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) { // a worker that is stopped while it starts says so
			w.T.Errorf("the worker ended with: %v", err)
		}
		// Workers of one process share a cache. A later worker must not continue with the cached workflows of this one.
		sdkworker.PurgeStickyWorkflowCache()
	}
	w.T.Cleanup(stop)
	return stop
}

// Until polls for a condition, and fails the test if it is not true in time. what describes the condition. last may point to an error that says why the condition
// is not true.
func (w *World) Until(holds func() bool, what string, last ...*error) {
	w.T.Helper()
	if !Eventually(w.T.Context(), holds) {
		for _, err := range last {
			w.T.Logf("the last answer: %v", *err)
		}
		w.T.Fatalf("never: %s", what)
	}
}

// Eventually is devstacktest.Eventually with the limit WaitTimeout.
func Eventually(ctx context.Context, holds func() bool) bool {
	return devstacktest.Eventually(ctx, WaitTimeout, holds)
}

// Receive waits for a value that a tool or a hook sends.
func Receive[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(WaitTimeout):
		t.Fatal("never: a tool or hook is reached")
	}
	return v
}

// SortedKeys returns the keys of a map, sorted.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
