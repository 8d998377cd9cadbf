package takeovers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// busyTool must not be repeated, unless an attempt reports that it had no effect.
const busyTool = "test__busy"

// barredTool must not be repeated, runs in the claimed lane, and reports at each attempt that it had no effect.
const barredTool = "test__barred"

func barred(_ context.Context, in e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
	if err := e2etest.Enter(in.Text, os.Getpid()); err != nil {
		return e2etest.Out{}, err
	}
	return e2etest.Out{}, toolspec.RetryAfter(time.Second, "busy")
}

// postgresProgram returns the path of a program of Postgres.
func postgresProgram(t *testing.T, name string) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if path, lookErr := exec.LookPath(name); err == nil && len(found) == 0 && lookErr == nil {
		found = []string{path}
	}
	if err != nil || len(found) == 0 {
		t.Fatalf("the program %s of Postgres is needed: %v", name, err)
	}
	return found[len(found)-1]
}

func runProgram(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), postgresProgram(t, name), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// replaceDatabase replaces the database of a world by a new database into which a dump is restored, as docs/backup.md says.
func replaceDatabase(w *e2etest.World, dump string) {
	w.T.Helper()
	address, err := url.Parse(w.Database)
	if err != nil {
		w.T.Fatal(err)
	}
	name := strings.TrimPrefix(address.Path, "/")
	address.Path = "/postgres"
	conn, err := pgx.Connect(w.T.Context(), address.String())
	if err != nil {
		w.T.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(w.T.Context())) }()
	for _, sql := range []string{
		`ALTER DATABASE ` + name + ` ALLOW_CONNECTIONS false`,
		`SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = '` + name + `'`,
		`DROP DATABASE ` + name + ` WITH (FORCE)`,
		`CREATE DATABASE ` + name,
	} {
		if _, err := conn.Exec(w.T.Context(), sql); err != nil {
			w.T.Fatal(err)
		}
	}
	runProgram(w.T, "pg_restore", "--exit-on-error", "--dbname", w.Database, dump)
}

// reconciled is the output of the command `pawl reconcile`.
type reconciled struct {
	Strangers int
	Findings  []struct {
		Kind, WorkflowID, Outcome string
		Mended                    bool
	}
	byCall map[string]string
}

// reconcile runs `pawl reconcile`, fails unless it ends with the status want, and returns its report.
func reconcile(w *e2etest.World, want int, args ...string) (r reconciled) {
	w.T.Helper()
	c := w.Command(append([]string{"reconcile", "--json"}, args...)...)
	if got := c.Wait(); got != want {
		w.T.Fatalf("reconcile %v ended with %d, want %d: %s%s", args, got, want, c.Out, c.Err)
	}
	if err := json.Unmarshal([]byte(c.Out.String()), &r); err != nil {
		w.T.Fatalf("reconcile printed %s: %v", c.Out, err)
	}
	r.byCall = map[string]string{}
	for _, f := range r.Findings {
		id := f.WorkflowID[strings.LastIndex(f.WorkflowID, ":")+1:]
		if r.byCall[id] != "" {
			w.T.Errorf("%s was found twice", id)
		}
		r.byCall[id] = f.Kind
	}
	return r
}

// restoring is a world in which each call has a file for its effects.
type restoring struct {
	*e2etest.World
	dir string
}

func (r restoring) file(id string) string { return filepath.Join(r.dir, id) }

func (r restoring) invocation(id, toolID, note string) toolspec.Invocation {
	return e2etest.Invocation(id, toolID, fmt.Sprintf(`{"text":%q,"note":%q}`, r.file(id), note))
}

func (r restoring) start(id, toolID, note string) toolspec.Invocation {
	r.T.Helper()
	inv := r.invocation(id, toolID, note)
	r.Start(inv)
	return inv
}

func (r restoring) runs(id string) {
	r.T.Helper()
	r.Until(func() bool { return len(r.Effects(r.file(id))) == 1 }, id+" takes effect")
}

func (r restoring) settled(inv toolspec.Invocation, code toolspec.Code, effects int) {
	r.T.Helper()
	r.Until(func() bool {
		return e2etest.Scalar[bool](r.World, `SELECT EXISTS (SELECT FROM invocations WHERE invocation_id = $1::uuid AND state = 'settled')`, inv.Identity().InvocationID())
	}, inv.ToolCallID+" is settled")
	if got := r.Record(inv).Result.ErrorCode; got != code {
		r.T.Errorf("%s ended with %q, want %q", inv.ToolCallID, got, code)
	}
	if got := len(r.Effects(r.file(inv.ToolCallID))); got != effects {
		r.T.Errorf("%s took effect %d times, want %d", inv.ToolCallID, got, effects)
	}
}

// forge runs a workflow of another program under the id of a call that nobody has made, as every user of the namespace can do. The history of that workflow says
// that the tool has run.
func (r restoring) forge() toolspec.Invocation {
	r.T.Helper()
	inv := r.invocation("forged", "test__send", "")
	began := make(chan struct{}, 1)
	w := sdkworker.New(r.Temporal, "evil", sdkworker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ toolspec.Invocation) error {
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour}), contract.Execute.Name(), contract.ExecuteIn{Dispatch: 1}).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	w.RegisterActivityWithOptions(func(context.Context, contract.ExecuteIn) error {
		began <- struct{}{}
		return activity.ErrResultPending
	}, activity.RegisterOptions{Name: contract.Execute.Name()})
	if err := w.Start(); err != nil {
		r.T.Fatal(err)
	}
	defer w.Stop()
	if _, err := r.Temporal.ExecuteWorkflow(r.T.Context(), client.StartWorkflowOptions{ID: inv.Identity().WorkflowID(), TaskQueue: "evil"}, toolspec.WorkflowType, inv); err != nil {
		r.T.Fatal(err)
	}
	e2etest.Receive(r.T, began)
	return inv
}
