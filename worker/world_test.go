package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
)

// waitTimeout is how long a test waits for a condition that should be true in a moment.
const waitTimeout = 3 * time.Minute

const rules = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*", "test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

// world is a namespace and a database for one test.
type world struct {
	t        *testing.T
	config   Config
	temporal client.Client
	store    *postgres.Store
	log      *devstacktest.Log
}

// newWorld returns a world with a migrated database, no policy and a namespace without search attributes.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldAt(t, devstacktest.Temporal(t))
}

// newWorldAt does the work of newWorld on another Temporal server.
func newWorldAt(t *testing.T, temporal string) *world {
	t.Helper()
	w := newWorldOf(t, temporal, postgrestest.Database(t))
	w.store = w.open()
	return w
}

// newWorldOn does the work of newWorld on a database that it does not change.
func newWorldOn(t *testing.T, database string) *world {
	t.Helper()
	return newWorldOf(t, devstacktest.Temporal(t), database)
}

func newWorldOf(t *testing.T, temporal, database string) *world {
	t.Helper()
	w := &world{t: t, log: &devstacktest.Log{}}
	options := client.Options{
		HostPort: temporal, Namespace: "worker-" + strings.ToLower(rand.Text()[:12]),
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
	w.config = Config{
		Temporal: options, DatabaseURL: database, Workspace: t.TempDir(), SearchAttributes: true, Connections: 8,
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	var err error
	own := options
	own.ConnectionOptions.GetSystemInfoTimeout = waitTimeout
	if w.temporal, err = client.DialContext(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.temporal.Close)
	devstacktest.Namespace(t, w.temporal, options.Namespace)
	return w
}

func (w *world) open() *postgres.Store {
	w.t.Helper()
	store, err := postgres.Open(w.t.Context(), w.config.DatabaseURL+"&connect_timeout=60", postgres.Options{MaxConns: 4, Application: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(store.Close)
	return store
}

// file writes a file and returns its path.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name)
	writeFile(w.t, path, text)
	return path
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// running is a worker that was started.
type running struct {
	w      *world
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

func (w *world) start(options ...Option) *running {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	r := &running{w: w, cancel: cancel, done: make(chan struct{})}
	config := w.config
	go func() {
		defer close(r.done)
		r.err = Run(ctx, config, options...)
	}()
	w.t.Cleanup(func() { _ = r.stop() })
	return r
}

// stop ends the worker as Ctrl-C does.
func (r *running) stop() error {
	r.w.t.Helper()
	r.cancel()
	return r.waitForEnd()
}

// waitForEnd waits until Run returns.
func (r *running) waitForEnd() error {
	r.w.t.Helper()
	select {
	case <-r.done:
	case <-time.After(waitTimeout):
		r.w.t.Fatalf("Run does not return; its log:\n%s", r.w.log)
	}
	return r.err
}

// expectError waits until Run returns, and checks that the error has all of these words.
func (r *running) expectError(words ...string) {
	r.w.t.Helper()
	err := r.waitForEnd()
	if err == nil {
		r.w.t.Fatal("it started")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			r.w.t.Errorf("%q does not say %q", err, word)
		}
	}
}

// waitForLog waits until the log has these words, or until the worker ends.
func (r *running) waitForLog(words string) {
	r.w.t.Helper()
	r.w.until("the log says "+words, func() error {
		if strings.Contains(r.w.log.String(), words) {
			return nil
		}
		select {
		case <-r.done:
			r.w.t.Fatalf("it ended with %v; its log:\n%s", r.err, r.w.log)
		default:
		}
		return errors.New(r.w.log.String())
	})
}

// invoke runs a call to its end.
func (w *world) invoke(tool, id, args string) (toolspec.Result, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waitTimeout)
	defer cancel()
	return pawl.New(w.temporal, pawl.Options{}).Invoke(ctx, toolspec.Invocation{
		ToolID: tool, ToolCallID: id, Args: []byte(args),
		Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: "agent:reader"},
	})
}

func (w *world) until(what string, holds func() error) {
	w.t.Helper()
	var err error
	if !devstacktest.Eventually(w.t.Context(), waitTimeout, func() bool { err = holds(); return err == nil }) {
		w.t.Fatalf("never: %s: %v", what, err)
	}
}

// tool returns a tool that a worker may add.
func tool(id string, needs ...toolspec.CapabilityName) toolspec.Tool {
	type in struct {
		Text string `json:"text,omitempty"`
	}
	type out struct {
		Text string `json:"text"`
	}
	return toolspec.Define(toolspec.Definition{
		ID: id, Description: "a tool of a test", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Capabilities: needs,
	}, func(_ context.Context, in in, _ toolspec.Call) (out, error) {
		return out{Text: fmt.Sprint("own ", in.Text)}, nil
	})
}
