package deploycheck

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/broker/oauthtest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

// noticeSecret signs the notices of the workers of TestMonitoring.
const noticeSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// stuckFile is a file in the workspace that keeps the closing hook from ending.
const stuckFile = "stuck"

// watched are the options of the workers of TestMonitoring: tools of which each can have a fault.
func watched(string) []worker.Option {
	tools := append(e2etest.ChildTools(),
		e2etest.Tool("test__broken", e2etest.Echo),
		e2etest.Tool("test__doubt", e2etest.Entered, e2etest.Once, e2etest.Within(5*time.Second)), // a person is asked when its time is over
		e2etest.Tool("test__stuck", e2etest.Entered, e2etest.Once),
		e2etest.Tool("test__fetch", e2etest.FetchAt, e2etest.Connected))
	return []worker.Option{
		worker.Tools(tools...),
		worker.ToolHooks("test__broken", hook.New("broken", hook.WillRedactOutput.Do(func(context.Context, *hook.Output) error { return errors.New("broken") }))),
		worker.ToolHooks("test__stuck", hook.New("stuck", hook.OnError.Do(func(ctx context.Context, _ *hook.Report) error {
			for ctx.Err() == nil {
				if _, err := os.Stat(stuckFile); err != nil { // the worker runs in its workspace
					return nil
				}
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
			return ctx.Err()
		}))),
	}
}

// watchedWorld is what the faults of TestMonitoring are made in.
type watchedWorld struct {
	*e2etest.World
	vault   *e2etest.Vault
	service *e2etest.Service
	token   string
	// api is the service of the connection oauth, whose first call needs a new token.
	api *e2etest.API
	// deaf says that the receiver of notices answers 503.
	deaf    atomic.Bool
	notices *httptest.Server
	n       int
}

func newWatchedWorld(t *testing.T) *watchedWorld {
	t.Helper()
	w := &watchedWorld{World: e2etest.NewWorld(t, watchedPolicy), token: string(e2etest.NewCanary())}
	w.vault, w.service = e2etest.NewVault(w.World), e2etest.NewService(t, w.token)
	w.vault.Add("c1", w.service.Provider(), w.token)
	w.vault.Grant("c1", e2etest.Actor)
	auth := oauthtest.New(t)
	w.api = e2etest.NewAPI(t, auth)
	w.vault.AddOAuth("oauth", w.api.Provider(), e2etest.Stale(auth), -time.Minute)
	w.notices = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if w.deaf.Load() {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(w.notices.Close)
	return w
}

// call starts a call whose id begins with the given word, and whose argument is a file of its own.
func (w *watchedWorld) call(word, toolID, note string) toolspec.Invocation {
	w.T.Helper()
	w.n++
	id := fmt.Sprintf("%s-%d", word, w.n)
	inv := e2etest.Invocation(id, toolID, fmt.Sprintf(`{"text":%q,"note":%q}`, w.file(id), note))
	w.Start(inv)
	return inv
}

// fetched makes a call over the connection oauth.
func (w *watchedWorld) fetched() {
	w.T.Helper()
	w.n++
	w.Invoke(e2etest.Over(e2etest.Invocation(fmt.Sprint("fetched-", w.n), "test__fetch", fmt.Sprintf(`{"text":%q}`, w.api.URL)), "oauth"))
}

func (w *watchedWorld) file(id string) string { return filepath.Join(w.Workspace, id) }

// doubt makes a call of globex whose effect nobody knows.
func (w *watchedWorld) doubt() toolspec.Invocation {
	w.T.Helper()
	inv := e2etest.Invocation("doubt", "test__doubt", fmt.Sprintf(`{"text":%q,"note":"deaf"}`, w.file("doubt")))
	inv.Context.TenantID = "globex"
	w.Start(inv)
	return inv
}

// entered starts a call and waits until its tool runs.
func (w *watchedWorld) entered(word, toolID, note string) toolspec.Invocation {
	w.T.Helper()
	inv := w.call(word, toolID, note)
	w.Until(func() bool { return len(w.Effects(w.file(inv.ToolCallID))) > 0 }, inv.ToolCallID+" has begun")
	return inv
}

// every returns a function that does something at most twice a second.
func every(do func()) func() {
	var last time.Time
	return func() {
		if time.Since(last) > time.Second/2 {
			last = time.Now()
			do()
		}
	}
}

// stick terminates a call whose closing hook does not end. The sweeper gives up for now, and tries again when solve is called.
func (w *watchedWorld) stick() (solve func()) {
	w.T.Helper()
	file := filepath.Join(w.Workspace, stuckFile)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		w.T.Fatal(err)
	}
	inv := w.entered("stuck", "test__stuck", "hang")
	w.Terminate(inv)
	w.Until(func() bool {
		return len(e2etest.Query[int](w.World, `UPDATE endings SET due_at = now() RETURNING 1`)) == 1
	}, "the sweeper has ended the call")
	return func() {
		if err := os.Remove(file); err != nil {
			w.T.Fatal(err)
		}
		e2etest.Query[int](w.World, `UPDATE endings SET due_at = now() RETURNING 1`)
	}
}

// leak writes the token of the connection into a history and has the histories searched. remove deletes the history, as docs/alerts.md says.
func (w *watchedWorld) leak() (remove func()) {
	w.T.Helper()
	ctx := w.T.Context()
	const id = "leak"
	if _, err := w.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, "Leak", w.token); err != nil {
		w.T.Fatal(err)
	}
	if err := w.Temporal.TerminateWorkflow(ctx, id, "", ""); err != nil {
		w.T.Fatal(err)
	}
	w.Until(func() bool { // the list of closed workflows comes late
		run, err := w.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: toolspec.TaskQueue}, upkeep.VerifyType)
		if err != nil {
			return false
		}
		err = run.Get(ctx, nil)
		return err != nil && strings.Contains(err.Error(), upkeep.SecretsFound)
	}, "the secret is found")
	return func() {
		w.Until(func() bool {
			_, err := w.Temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
				Namespace: w.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id},
			})
			var gone *serviceerror.NotFound
			return errors.As(err, &gone)
		}, "the history is gone")
	}
}

// misplace makes a key ring that has no key of the connection.
func (w *watchedWorld) misplace() string {
	w.T.Helper()
	ring, err := seal.New()
	if err != nil {
		w.T.Fatal(err)
	}
	file := filepath.Join(w.T.TempDir(), "other.json")
	if err := seal.Create(file, ring, nil); err != nil {
		w.T.Fatal(err)
	}
	return file
}

// forbidPartitions takes the privilege to make partitions away.
func (w *watchedWorld) forbidPartitions() (allow func()) {
	w.T.Helper()
	partitions := e2etest.Scalar[string](w.World, `SELECT pg_get_functiondef('ensure_partitions'::regproc)`)
	e2etest.Query[int](w.World, `CREATE OR REPLACE FUNCTION ensure_partitions(parent text, months integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
		RAISE EXCEPTION 'refused' USING ERRCODE = 'insufficient_privilege';
	END $$`)
	return func() { e2etest.Query[int](w.World, partitions) }
}
