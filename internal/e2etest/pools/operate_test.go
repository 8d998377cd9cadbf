package pools

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestPoolGivenUp: a worker of the shared queue also serves the task queue of a pool without workers, so that a call that waits there moves to the workers that
// have its tool now. The worker stops serving that queue when the pool has a worker again.
func TestPoolGivenUp(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	send := e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)
	stopShared := w.Work()
	stop := inPool(w, "a", send)
	moves, stays := w.Start(e2etest.Invocation("moves", "test__send", `{"text":"moves"}`)), w.Start(e2etest.Invocation("stays", "test__send", `{"text":"stays"}`))
	w.Waiting(moves.WorkflowID)
	w.Waiting(stays.WorkflowID)
	stop()
	stopShared()
	e2etest.Query[string](w, `UPDATE workers SET seen_at = now() - interval '3 minutes' RETURNING pool`)

	stop = inPool(w, "b", send)
	w.Work()
	w.Until(func() bool { return strings.Contains(w.Log.String(), "this worker serves its task queue") }, "a worker of the shared queue serves the pool")
	w.Approve(moves.WorkflowID)
	e2etest.WantText(t, w.Result(moves), "moves")
	if got := queues(w, moves.WorkflowID); got != "pawl pawl-a pawl-b" {
		t.Errorf("the call was on %s", got)
	}
	stop()
	forget(w, "b")
	inPool(w, "a", send)
	w.Until(func() bool { return strings.Contains(w.Log.String(), "no longer serves its task queue") }, "the worker of the shared queue leaves the pool")
	w.Approve(stays.WorkflowID)
	e2etest.WantText(t, w.Result(stays), "stays")
	if got := queues(w, stays.WorkflowID); got != "pawl pawl-a" || effects.Of("moves") != 1 || effects.Of("stays") != 1 {
		t.Errorf("the call that stays was on %s; %v", got, effects.Counts)
	}
}

// TestPoolsShown: `pawl doctor` and the lists of tools show pools. A tool that two pools define differently is reported as a conflict.
func TestPoolsShown(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	stop := inPool(w, "media", e2etest.Tool("test__clip", e2etest.Echo, e2etest.Risky))
	call := w.Start(e2etest.Invocation("clip", "test__clip", `{}`))
	w.Waiting(call.WorkflowID)
	shows := func(command string, words ...string) {
		t.Helper()
		var text string
		w.Until(func() bool {
			text = w.PawlCLI(command)[0]
			for _, word := range words {
				if !strings.Contains(text, word) {
					return false
				}
			}
			return true
		}, command+" shows "+strings.Join(words, ", "))
		t.Log(text)
	}
	// Temporal counts the call on the task queue of the pool after its move.
	shows("doctor", "pools       media has 1 worker and 1 open call", "1 on the task queue pawl")
	shows("tools list --tenant acme --all", "worker in media")
	shows("tools show test__clip", "pool     media")
	inPool(w, "audio", e2etest.Tool("test__clip", e2etest.Echo, e2etest.Risky, e2etest.Version("2")))
	shows("doctor", "test__clip", "audio has 1 worker and no open call; media has 1 worker and 1 open call")
	shows("tools show test__clip", "pool     audio media")
	stop()
	e2etest.Query[string](w, `UPDATE workers SET seen_at = now() - interval '3 minutes' WHERE pool = 'media' RETURNING pool`)
	shows("doctor", "FAIL  pools", "media has no worker and 1 open call: start a worker with PAWL_POOL=media")
}

// TestSweepOfAMovedCall: a call that has moved to a pool is open as long as its workflow run in the pool, and a sweep settles it when that run is terminated.
func TestSweepOfAMovedCall(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	stop := inPool(w, "media", e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky))
	admitted := e2etest.Invocation("admitted", "test__send", `{}`)
	w.Waiting(w.Start(admitted).WorkflowID)
	if out := w.Sweep(); out.Calls.Open != 1 || out.Calls.Running != 1 {
		t.Errorf("the sweep of a call in a pool found %+v", out)
	}
	stop()
	// No worker runs the second run of the call, so the record still names the first run.
	early := w.Start(e2etest.Invocation("early", "test__send", `{}`))
	w.Until(func() bool { return queues(w, early.WorkflowID) == "pawl pawl-media" }, "the call is in the pool")
	if out := w.Sweep(); out.Calls.Open != 2 || out.Calls.Running != 2 || out.Calls.Unclear != 0 {
		t.Errorf("the sweep of a call that no worker of its pool has seen found %+v", out)
	}
	inv := e2etest.Invocation("early", "test__send", `{}`)
	w.Terminate(inv)
	w.Terminate(admitted)
	if out := w.Sweep(); out.Calls.Cancelled != 2 {
		t.Errorf("the sweep of the terminated calls found %+v", out)
	}
	if r := w.Record(inv).Result; r == nil || r.ErrorCode != toolspec.CodeCancelled {
		t.Errorf("the record has %+v", r)
	}
}

// TestNoSharedWorker: the worker of a pool logs that no call reaches it if there is no worker of the shared queue.
func TestNoSharedWorker(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	c := w.Config()
	c.Pool = "media"
	w.WorkWith(c, worker.Tools(e2etest.Tool("test__clip", e2etest.Echo)))
	w.Until(func() bool { return strings.Contains(w.Log.String(), "no call reaches this pool") }, "the worker says that it is alone")
}
