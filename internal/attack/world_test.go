package attack

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/codec"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// waitTimeout is how long a test waits for what should take a moment.
const waitTimeout = time.Minute

// ann is the one person who may approve.
const ann = "user:ann"

// rules let acme use the tools, with signed approvals, and barred none.
const rules = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {expiresAfter: 1h, approvers: ["user:ann"]}
  barred:
    allowedTools: []
    mode: auto
`

// world is the victim: a worker with its tools, its database and its namespace.
type world struct {
	address, namespace, database string
	// temporal is a client that reads and writes what the worker does.
	temporal client.Client
	data     converter.DataConverter
	pawl     *pawl.Client
	store    *postgres.Store
	signer   proof.Signer
	effects  *ledger
	attacker *attacker
	sealed   bool
}

// newWorld makes a world whose worker runs until the test ends. With sealed, all payloads are encrypted; plain ones are read, which is the
// default.
func newWorld(t *testing.T, sealed bool) *world {
	t.Helper()
	var keys []byte
	if sealed {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret)
		keys = []byte("k1 " + base64.StdEncoding.EncodeToString(secret) + "\n")
	}
	w := &world{address: devstacktest.Temporal(t), database: postgrestest.Database(t), effects: &ledger{}, sealed: sealed}
	var err error
	if w.store, err = postgres.Open(t.Context(), w.database, postgres.Options{MaxConns: 4, Application: "attack"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.store.Close)
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.ApplyPolicy(t.Context(), p, "attack"); err != nil {
		t.Fatal(err)
	}
	if w.signer, err = proof.NewSigner(); err != nil {
		t.Fatal(err)
	}
	if err := w.store.RegisterKey(t.Context(), "acme", ann, w.signer.Key(), "user:root"); err != nil {
		t.Fatal(err)
	}
	w.open(t, keys)
	w.attacker = newAttacker(t, w.address, w.namespace)
	return w
}

// neighbour is another namespace of the same database, with a worker of its own.
func (w *world) neighbour(t *testing.T) *world {
	t.Helper()
	n := &world{address: w.address, database: w.database, store: w.store, signer: w.signer, effects: &ledger{}}
	n.open(t, nil)
	return n
}

// open makes the namespace and starts the worker.
func (w *world) open(t *testing.T, keys []byte) {
	t.Helper()
	w.namespace = "attack-" + strings.ToLower(rand.Text()[:12])
	plain := dial(t, w.address, w.namespace)
	devstacktest.Namespace(t, plain, w.namespace, contract.SearchAttributeNames()...)
	w.temporal, w.data = plain, converter.GetDefaultDataConverter()
	if keys != nil {
		ring, err := codec.ParseRing(keys)
		if err != nil {
			t.Fatal(err)
		}
		data, failures := codec.Converters(codec.New(ring, codec.Options{}))
		if w.temporal, err = client.NewClientFromExistingWithContext(t.Context(), plain, client.Options{
			Namespace: w.namespace, DataConverter: data, FailureConverter: failures,
		}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.temporal.Close)
		w.data = data
	}
	w.pawl = pawl.New(w.temporal, pawl.Options{Outputs: w.store, DataConverter: w.data})
	c := worker.Config{
		Temporal:    client.Options{HostPort: w.address, Namespace: w.namespace},
		DatabaseURL: w.database, Workspace: t.TempDir(), SearchAttributes: true, Connections: 10,
		Codec: worker.Codec{Keys: keys}, Log: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, c, w.effects.options()...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the worker ended with: %v", err)
		}
	})
}

func dial(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: address, Namespace: namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: waitTimeout},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// call is an invocation by tenant acme.
func call(id, toolID, args string) toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: toolID, ToolCallID: id, Args: json.RawMessage(args),
		Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: "agent:one"},
	}
}

func (w *world) start(t *testing.T, inv toolspec.Invocation) *pawl.Call {
	t.Helper()
	started, err := w.pawl.Start(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	return started
}

// result waits for how a call ends, with a value or without.
func (w *world) result(t *testing.T, c *pawl.Call) toolspec.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	result, err := w.pawl.Result(ctx, c)
	var ended *pawl.CallError
	if errors.As(err, &ended) {
		return ended.Result
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// waiting returns the approval request of a call once it waits for one.
func (w *world) waiting(t *testing.T, workflowID string) (view toolspec.ApprovalView) {
	t.Helper()
	until(t, workflowID+" waits for an approval", func() bool {
		state, err := w.pawl.State(t.Context(), workflowID)
		if err != nil || state.Approval == nil {
			return false
		}
		view = *state.Approval
		return true
	})
	return view
}

// approve approves a request as ann.
func (w *world) approve(t *testing.T, workflowID string, view toolspec.ApprovalView) {
	t.Helper()
	d, err := w.signer.Sign(toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: ann}, "acme", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if answer, err := w.pawl.Decide(ctx, workflowID, d); err != nil || !answer.Counted {
		t.Fatalf("the approval of %s: %+v, %v", workflowID, answer, err)
	}
}

// record is what the database knows of a call.
func (w *world) record(t *testing.T, inv toolspec.Invocation) reads.Detail {
	t.Helper()
	detail, err := w.store.Show(t.Context(), inv.Context.TenantID, inv.Identity().InvocationID())
	if err != nil {
		t.Fatal(err)
	}
	return detail
}

// forged counts the audit events of answers that no worker has given.
func (w *world) forged(t *testing.T, inv toolspec.Invocation) (n int) {
	t.Helper()
	for _, e := range w.record(t, inv).Events {
		if e.Kind == "answer_forged" {
			n++
		}
	}
	return n
}

// rows are all rows of the database, but for those of a queue that the worker itself empties.
func (w *world) rows(t *testing.T) []string {
	t.Helper()
	var all []string
	// Workers seal an event a moment after its commit.
	until(t, "every event has a seal", func() bool {
		all = nil
		sealed := true
		if err := w.store.EachRow(t.Context(), func(table string, _ []string, row []byte) error {
			if table != "rechecks" {
				all = append(all, table+" "+string(row))
			}
			sealed = sealed && table != "audit_pending"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return sealed
	})
	slices.Sort(all)
	return all
}

// until polls for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if !devstacktest.Eventually(t.Context(), waitTimeout, holds) {
		t.Fatalf("never: %s", what)
	}
}
