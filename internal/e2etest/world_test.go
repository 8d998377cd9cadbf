package e2etest

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
)

// patience is how long a test waits for what should take a moment.
const patience = 3 * time.Minute

// plainPolicy lets tenants acme and globex use every tool and asks about what is not harmless.
const plainPolicy = `
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

// world is a namespace, a database and a workspace, with ways to look at them.
type world struct {
	t         *testing.T
	address   string
	namespace string
	database  string
	workspace string
	// through is the database as workers reach it, where a proxy stands before it.
	through string
	// connections is the size of the pool of workers; 0 = 10.
	connections int
	temporal    client.Client
	pawl        *pawl.Client
	store       *postgres.Store
	log         *logbook
	// keyring is the file of the key ring of children, if they have one.
	keyring string
	// secrets may stand nowhere in the end. planted says that a test has put some of them there itself.
	secrets *secrets
	planted bool
	// connectionKey is a secret that every worker has.
	connectionKey string
	// keys and codec encrypt what Temporal keeps, where there are any.
	keys  string
	codec converter.PayloadCodec
	// sealed is a client that has these keys.
	sealed client.Client
	// shared says that the servers outlive the test.
	shared bool
	// sweepEvery is the interval of the sweeper's schedule; 0 makes none.
	sweepEvery time.Duration
}

// newWorld makes a world on the shared servers, under a policy.
func newWorld(t *testing.T, rules string) *world {
	t.Helper()
	w := newWorldOn(t, devstacktest.Temporal(t), devstacktest.Postgres(t), rules)
	w.shared = true
	return w
}

// newWorldOn is newWorld on servers that the test may stop.
func newWorldOn(t *testing.T, address, database, rules string) *world {
	t.Helper()
	w := &world{
		t: t, address: address, namespace: "e2e-" + strings.ToLower(rand.Text()[:12]),
		database: database, workspace: t.TempDir(), log: &logbook{},
		secrets: &secrets{}, connectionKey: rand.Text(),
	}
	w.secrets.never("the connection key", []byte(w.connectionKey))
	if u, err := url.Parse(database); err == nil {
		if password, ok := u.User.Password(); ok {
			w.secrets.never("the database's password", []byte(password))
		}
	}
	var err error
	if w.store, err = postgres.Open(t.Context(), database, postgres.Options{MaxConns: 4, Application: "e2etest"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.store.Close)
	if _, err := w.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.temporal, err = client.DialContext(t.Context(), client.Options{
		HostPort: w.address, Namespace: w.namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: patience},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.temporal.Close)
	t.Cleanup(w.nothingLeaked)
	devstacktest.Namespace(t, w.temporal, w.namespace, workflows.SearchAttributeNames()...)
	w.apply(rules)
	w.pawl = pawl.New(w.temporal, pawl.Options{Outputs: w.store})
	return w
}

// apply makes a policy the active one.
func (w *world) apply(rules string) {
	w.t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.store.ApplyPolicy(w.t.Context(), p, "e2etest"); err != nil {
		w.t.Fatal(err)
	}
}

// config is the configuration of a worker of this world.
func (w *world) config() worker.Config {
	return worker.Config{
		Temporal:    client.Options{HostPort: w.address, Namespace: w.namespace},
		DatabaseURL: cmp.Or(w.through, w.database), Workspace: w.workspace, SearchAttributes: true, Connections: cmp.Or(w.connections, 10),
		SweepEvery: w.sweepEvery, ConnectionKey: []byte(w.connectionKey),
		Codec: worker.Codec{Keys: []byte(w.keys)},
		Log:   slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// work runs a worker until stop is called or the test ends.
func (w *world) work(options ...worker.Option) (stop func()) {
	w.t.Helper()
	return w.workWith(w.config(), options...)
}

// workWith is work with another configuration.
func (w *world) workWith(c worker.Config, options ...worker.Option) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, c, options...) }()
	stopped := false
	stop = func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-done; err != nil {
			w.t.Errorf("the worker ended with: %v", err)
		}
		// Workers of one process share a cache. A later one must not go on with what this one held.
		sdkworker.PurgeStickyWorkflowCache()
	}
	w.t.Cleanup(stop)
	return stop
}

// until polls for a condition. last, where given, says why it does not hold.
func (w *world) until(holds func() bool, what string, last ...*error) {
	w.t.Helper()
	if !eventually(w.t.Context(), holds) {
		for _, err := range last {
			w.t.Logf("the last answer: %v", *err)
		}
		w.t.Fatalf("never: %s", what)
	}
}

func eventually(ctx context.Context, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// receive waits for what a tool or a hook sends.
func receive[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v = <-from:
	case <-timer.C:
		t.Fatal("never: a tool or hook is reached")
	}
	return v
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
