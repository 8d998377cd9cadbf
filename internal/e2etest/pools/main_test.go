// Package pools tests calls of tools that only the workers of a pool have, on the task queue of the pool.
package pools

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

func TestMain(m *testing.M) {
	e2etest.Main(m, map[string]e2etest.Program{e2etest.ChildServe: e2etest.Serving(serve)})
}

// serve returns the options of a worker. release is the pool and the version of the program, as in "media 2", or "" for a worker of the shared queue.
func serve(release string) []worker.Option {
	pool, version, _ := strings.Cut(release, " ")
	if pool == "" {
		return nil
	}
	if err := os.Setenv("PAWL_POOL", pool); err != nil {
		panic(err)
	}
	with := e2etest.Version(version)
	return []worker.Option{worker.Tools(
		e2etest.Tool("test__"+pool+"_read", e2etest.Entered, with), e2etest.Tool("test__"+pool+"_fast", e2etest.Entered, e2etest.Fast, with),
		e2etest.Tool("test__"+pool+"_write", e2etest.Entered, e2etest.Idempotent, with),
		// These tools keep their version, because an approval is for the tool that the person has seen.
		e2etest.Tool("test__"+pool+"_send", e2etest.Entered, e2etest.Once), e2etest.Tool("test__"+pool+"_asked", e2etest.Entered, e2etest.Once, e2etest.Risky),
	)}
}

// inPool runs a worker of a pool, and returns when its tools are published.
func inPool(w *e2etest.World, pool string, tools ...toolspec.Tool) (stop func()) {
	w.T.Helper()
	return inPoolWith(w, pool, worker.Tools(tools...))
}

// inPoolWith is inPool with options.
func inPoolWith(w *e2etest.World, pool string, options ...worker.Option) (stop func()) {
	w.T.Helper()
	c := w.Config()
	c.Pool = pool
	before := running(w, pool)
	stop = w.WorkWith(c, options...)
	w.Until(func() bool { return running(w, pool) == before+1 }, "the worker of the pool "+pool+" has published its tools")
	return stop
}

func running(w *e2etest.World, pool string) int {
	w.T.Helper()
	return e2etest.Scalar[int](w, `SELECT count(DISTINCT worker_id)::int FROM worker_tools JOIN workers USING (worker_id) WHERE pool = $1`, pool)
}

// forget changes the rows of the stopped workers of a pool, so that these workers no longer count as running.
func forget(w *e2etest.World, pool string) {
	w.T.Helper()
	e2etest.Query[string](w, `UPDATE workers SET seen_at = now() - interval '1 minute' WHERE pool = $1 RETURNING pool`, pool)
}

// queues returns the task queues of the workflow runs of a call, in the order of the runs.
func queues(w *e2etest.World, workflowID string) string {
	w.T.Helper()
	var names []string
	for run := ""; ; {
		start := w.History(workflowID, run).GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
		names = append(names, start.GetTaskQueue().GetName())
		if run = start.GetContinuedExecutionRunId(); run == "" {
			slices.Reverse(names)
			return strings.Join(names, " ")
		}
	}
}
