package client_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	temporal "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// waitTimeout is how long a test waits for what should take a moment.
const waitTimeout = 3 * time.Minute

const rules = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

// world is a namespace and a database of a test's own.
type world struct {
	t         *testing.T
	namespace string
	database  string
	temporal  temporal.Client
	store     *postgres.Store
	client    *client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, namespace: "client-" + strings.ToLower(rand.Text()[:12]), database: postgrestest.Database(t)}
	var err error
	if w.store, err = postgres.Open(t.Context(), w.database, postgres.Options{MaxConns: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.store.Close)
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.ApplyPolicy(t.Context(), p, "test"); err != nil {
		t.Fatal(err)
	}
	if w.temporal, err = temporal.DialContext(t.Context(), w.options()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.temporal.Close)
	devstacktest.Namespace(t, w.temporal, w.namespace)
	db, err := clientpg.Open(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w.client = client.New(w.temporal, db.Options())
	return w
}

func (w *world) options() temporal.Options {
	return temporal.Options{
		HostPort: devstacktest.Temporal(w.t), Namespace: w.namespace,
		Logger:            sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: temporal.ConnectionOptions{GetSystemInfoTimeout: waitTimeout},
	}
}

// work runs a worker until stop is called or the test ends.
func (w *world) work() (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	config := worker.Config{
		Temporal: w.options(), DatabaseURL: w.database, Workspace: w.t.TempDir(), Connections: 8, Log: slog.New(slog.DiscardHandler),
	}
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, config, worker.Tools(echo, write, big)) }()
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
	}
	w.t.Cleanup(stop)
	return stop
}

func (w *world) until(what string, holds func() error) {
	w.t.Helper()
	var err error
	if !devstacktest.Eventually(w.t.Context(), waitTimeout, func() bool { err = holds(); return err == nil }) {
		w.t.Fatalf("never: %s: %v", what, err)
	}
}

// asked waits until the call asks for an approval.
func (w *world) asked(workflowID string) toolspec.State {
	w.t.Helper()
	var state toolspec.State
	w.until("the call asks", func() (err error) {
		if state, err = w.client.State(w.t.Context(), workflowID); err == nil && state.Approval == nil {
			err = fmt.Errorf("it is %s", state.Status)
		}
		return err
	})
	return state
}

func call(tool, id, text string) toolspec.Invocation {
	args, err := json.Marshal(in{Text: text})
	if err != nil {
		panic(err)
	}
	return toolspec.Invocation{
		ToolID: tool, ToolCallID: id, Args: args,
		Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: "agent:reader"},
	}
}

type in struct {
	Text string `json:"text"`
}

type out struct {
	Text string `json:"text"`
}

func define(id string, effect toolspec.Effect, risk toolspec.Risk, f func(in) string) toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: id, Description: "a tool of a test", Version: "1", Effect: effect, Risk: risk, Idempotent: true,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(_ context.Context, in in, _ toolspec.Call) (out, error) { return out{Text: f(in)}, nil })
}

var (
	echo  = define("test__echo", toolspec.ReadOnly, toolspec.LowRisk, func(in in) string { return in.Text })
	write = define("test__write", toolspec.StateChange, toolspec.MediumRisk, func(in in) string { return "wrote " + in.Text })
	big   = define("test__big", toolspec.ReadOnly, toolspec.LowRisk, func(in) string { return strings.Repeat("x", 2*toolspec.MaxInline) })
)
