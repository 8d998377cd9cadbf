package pawltest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	temporal "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// waitTimeout bounds each wait for something that should take a moment.
const waitTimeout = 3 * time.Minute

// reportTime is the time that a test has after a wait to stop its worker and to show the log.
const reportTime = 10 * time.Second

// Options are what the worker of a Stack has beside the built-in tools.
type Options struct {
	Tools []toolspec.Tool
	Hooks []hook.Hook
	// Policy is the active policy. The default lets Tenant use Tools and the built-in tools in
	// the mode auto, and lets each user but the requester approve.
	Policy *policy.Policy
	// Worker are further options of the worker.
	Worker []worker.Option
}

// Stack is a worker in the process of the test, on a Temporal namespace and a database that the
// test has for itself.
type Stack struct {
	// Client starts calls and reads their results.
	Client *client.Client
	// Workspace is the directory of the capability files.
	Workspace string

	t     testing.TB
	store *postgres.Store
	ring  *seal.Ring
	// signing guards people.
	signing sync.Mutex
	people  map[signee]proof.Signer
	// decisions counts the calls of Decide.
	decisions atomic.Int64
	scopes    []string // that Options.Tools need
}

// signee is a person in a tenant.
type signee struct{ tenantID, identity string }

// Start starts a worker on a real Temporal server and a real Postgres, and returns when it takes
// calls. Everything ends with the test, and the worker's log is shown if the test fails. The tests
// of a package that has Main share the servers; without it, each Start starts its own, which
// takes some seconds.
//
// With -short the test is skipped. A machine without Postgres fails the test, with what to
// install; so does a worker that does not start.
func Start(t testing.TB, o Options) *Stack {
	t.Helper()
	if testing.Short() {
		t.Skip("pawltest: -short: Temporal and Postgres are not started")
	}
	address, database := servers(t)
	namespace := "pawltest-" + strings.ToLower(rand.Text()[:12])
	s := &Stack{t: t, Workspace: workspace(t), people: map[signee]proof.Signer{}}
	for _, tool := range o.Tools {
		s.scopes = append(s.scopes, tool.Definition().Scopes...)
	}
	slices.Sort(s.scopes)
	s.scopes = slices.Compact(s.scopes)
	var err error
	if s.store, err = postgres.Open(t.Context(), database, postgres.Options{MaxConns: 4, Application: "pawltest"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.store.Close)
	if _, err := s.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o.Policy == nil {
		o.Policy = openPolicy(t, o.Tools)
	}
	if _, err := s.store.ApplyPolicy(t.Context(), o.Policy, "pawltest"); err != nil {
		t.Fatal(err)
	}
	options := temporal.Options{
		HostPort: address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: temporal.ConnectionOptions{GetSystemInfoTimeout: waitTimeout},
	}
	dialed, err := temporal.DialContext(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dialed.Close)
	devstacktest.Namespace(t, dialed, namespace)
	s.Client = client.New(dialed, clientpg.Of(s.store).Options())
	if s.ring, err = seal.New(); err != nil {
		t.Fatal(err)
	}
	keys, err := s.ring.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.work(worker.Config{
		Temporal: options, DatabaseURL: database, Workspace: s.Workspace, Connections: 10, KeyRing: worker.KeyRing{Text: keys},
	}, append([]worker.Option{worker.Tools(o.Tools...), worker.Hooks(o.Hooks...)}, o.Worker...))
	return s
}

// workspace makes a directory that is removed when the test ends. Its name is not that of the test, as that of t.TempDir is: the path of
// a worker's workspace may have no braces.
func workspace(t testing.TB) string {
	dir, err := os.MkdirTemp("", "pawltest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// servers returns the addresses of the servers of the package, or of servers of the test's own.
func servers(t testing.TB) (address, database string) {
	t.Helper()
	if devstacktest.Shared() {
		database = postgrestest.Database(t)
		return devstacktest.Temporal(t), database
	}
	database = devstacktest.OwnPostgres(t).URL()
	return devstacktest.OwnTemporal(t, devstack.TemporalOptions{}).Address(), database
}

// openPolicy returns the policy of a Stack that names none.
func openPolicy(t testing.TB, tools []toolspec.Tool) *policy.Policy {
	t.Helper()
	allowed := []string{"core__*"}
	for _, tool := range tools {
		allowed = append(allowed, tool.Definition().ID)
	}
	doc, err := json.Marshal(map[string]any{
		"version": 1, "tenants": map[string]any{Tenant: map[string]any{
			"allowedTools": allowed, "mode": "auto", "approvals": map[string]any{"expiresAfter": "1h", "approvers": []string{"user:*"}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("the policy of pawltest", doc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// work runs the worker until the test ends.
func (s *Stack) work(c worker.Config, options []worker.Option) {
	t, log := s.t, &devstacktest.Log{}
	t.Helper()
	c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	serves, ended := make(chan struct{}), make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		failed = worker.Run(ctx, c, append(options, worker.Started(func(*client.Client) { close(serves) }))...)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if failed != nil {
			t.Errorf("pawltest: the worker ended: %v", failed)
		}
		// Workers of one process share a cache. A later worker must not use the workflows that this
		// worker cached.
		sdkworker.PurgeStickyWorkflowCache()
		if t.Failed() {
			t.Logf("the worker's log:\n%s", log)
		}
	})
	select {
	case <-serves:
	case <-ended:
		t.Fatal("pawltest: the worker ended before it took calls")
	}
}
