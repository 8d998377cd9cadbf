package flows

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/pawlflow"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// journal records in which order tools begin and end, and how many run at the same time.
type journal struct {
	mu      sync.Mutex
	entries []string
	open    int
	most    int
}

func (j *journal) write(entry string, open int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
	j.open += open
	j.most = max(j.most, j.open)
}

func (j *journal) openNow() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.open
}

// TestTurn: reads run at the same time up to a limit, a call with an effect runs alone after the calls before it, and
// the results are in the order of the calls.
func TestTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var log journal
	release := make(chan struct{})
	record := func(wait bool) e2etest.Run {
		return func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			log.write("+"+call.ToolCallID, 1)
			defer log.write("-"+call.ToolCallID, -1)
			if wait {
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			return e2etest.Echo(ctx, in, call)
		}
	}
	w.Work(worker.Tools(
		e2etest.Tool("test__read", record(true), e2etest.Within(e2etest.WaitTimeout)), e2etest.Tool("test__send", record(false), e2etest.Once),
	))
	read := func(id string) pawlflow.Planned {
		return pawlflow.Planned{Invocation: e2etest.Invocation(id, "test__read", `{"text":"`+id+`"}`), Same: -1}
	}
	send := func(id string) pawlflow.Planned {
		return pawlflow.Planned{Invocation: e2etest.Invocation(id, "test__send", `{"text":"`+id+`"}`), Same: -1, Alone: true}
	}
	refused := toolspec.Failure(toolspec.CodeInvalidJSON, "", nil)
	same := read("r1")
	same.Same = 0
	run := w.run(oneTurn, []pawlflow.Planned{
		read("r1"), read("r2"), read("r3"), same, {Refused: &refused, Same: -1}, send("s1"), send("s2"), read("r4"),
	}, 2)
	w.Until(func() bool { return log.openNow() == 2 }, "two reads run")
	close(release)
	results := get[[]toolspec.Result](w, run)
	for i, id := range []string{"r1", "r2", "r3", "r1", "", "s1", "s2", "r4"} {
		if id == "" {
			e2etest.WantCode(t, results[i], toolspec.CodeInvalidJSON)
			continue
		}
		e2etest.WantText(t, results[i], id)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if log.most != 2 || len(log.entries) != 12 {
		t.Errorf("%d tools ran at the same time, %v", log.most, log.entries)
	}
	if after := log.entries[6:]; !slices.Equal(after, []string{"+s1", "-s1", "+s2", "-s2", "+r4", "-r4"}) {
		t.Errorf("effects run as %v", log.entries)
	}
}

// TestCancelledTurn: the open call of a cancelled turn ends, and the calls after it do not start.
func TestCancelledTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	first, second := e2etest.Invocation("first", "test__send", `{}`), e2etest.Invocation("second", "test__send", `{}`)
	run := w.run(oneTurn, []pawlflow.Planned{{Invocation: first, Same: -1, Alone: true}, {Invocation: second, Same: -1, Alone: true}}, 4)
	w.Waiting(first.Identity().WorkflowID())
	if err := w.Temporal.CancelWorkflow(t.Context(), run.GetID(), ""); err != nil {
		t.Fatal(err)
	}
	results := get[[]toolspec.Result](w, run)
	for i, id := range []string{first.Identity().InvocationID(), ""} {
		e2etest.WantCode(t, results[i], toolspec.CodeCancelled)
		if results[i].InvocationID != id {
			t.Errorf("result %d is of %q, want %q", i, results[i].InvocationID, id)
		}
	}
	if _, err := w.Pawl.State(t.Context(), second.Identity().WorkflowID()); err == nil || effects.Of("first")+effects.Of("second") != 0 {
		t.Errorf("the second call started, or a tool ran: %v", err)
	}
}
