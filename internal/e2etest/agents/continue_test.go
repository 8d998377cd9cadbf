package agents

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

// suggestAt is the number of events from which the Temporal server of these tests suggests to continue a workflow in a new history.
const suggestAt = 60

// newShortWorld makes a world whose histories are short.
func newShortWorld(t *testing.T, script func(modelserver.Request) modelserver.Reply) *world {
	t.Helper()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{DynamicConfig: []string{fmt.Sprintf("limit.historyCount.suggestContinueAsNew=%d", suggestAt)}})
	return &world{e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy), modelserver.Serve(t, "openai", script)}
}

// histories returns the histories of the runs of a workflow, from its last run to its first.
func (w *world) histories(workflowID string) (all []*history.History) {
	w.T.Helper()
	for runID := ""; ; {
		h := w.History(workflowID, runID)
		all = append(all, h)
		if runID = h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); runID == "" {
			return all
		}
	}
}

// chain returns how many events each of these histories has.
func (w *world) chain(workflowID string) (events []int) {
	w.T.Helper()
	for _, h := range w.histories(workflowID) {
		events = append(events, len(h.GetEvents()))
	}
	return events
}

// TestLongRun: a run of sixty calls continues over many histories, none of them long. Every call runs once. Messages come all the time, and the model
// reads each of them once, in their order.
func TestLongRun(t *testing.T) {
	t.Parallel()
	const rounds, width = 30, 2
	w := newShortWorld(t, func(r modelserver.Request) modelserver.Reply {
		if r.Answers >= rounds {
			return modelserver.Reply{Text: "done"}
		}
		var all []modelserver.Call
		for n := range width {
			all = append(all, call("test__echo", fmt.Sprintf("%d-%d", r.Answers, n)))
		}
		return calls(all...)
	})
	var runs e2etest.Ledger
	w.work(e2etest.Tool("test__echo", runs.Counted(e2etest.Echo), e2etest.Fast))
	d := w.document("openai", "test__echo")
	d.Limits.Rounds, d.Limits.Calls, d.Limits.AtOnce, d.Limits.ContextBytes = 1000, 1000, 2, 4<<20
	w.apply(d)
	run := w.start(input("run", "go"))
	sent := 0
	for len(w.asks("go")) < rounds {
		w.say("run", fmt.Sprint(sent), fmt.Sprintf("message %d", sent))
		sent++
		before := len(w.asks("go"))
		w.Until(func() bool { return len(w.asks("go")) > before }, "the run goes on")
	}
	result := w.result(run)
	want(t, result, agent.Completed, "done")
	if result.Calls != width*rounds || len(runs.Counts) != width*rounds || w.dones("run") != 1 {
		t.Errorf("the totals are %+v, %d tools ran, and there are %d done events", result.Totals, len(runs.Counts), w.dones("run"))
	}
	for id, n := range runs.Counts {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	asks := w.asks("go")
	var all []string
	for n := range sent {
		all = append(all, fmt.Sprintf("message %d", n))
	}
	if got := said(asks[len(asks)-1]); got != "go, "+strings.Join(all, ", ") {
		t.Errorf("%d messages were said, and the model read %s", sent, got)
	}
	events := w.chain(agent.WorkflowID("acme", "run"))
	t.Logf("%d messages, and %d runs of the workflow with %v events", sent, len(events), events)
	if len(events) < 5 {
		t.Errorf("there are %d runs of the workflow", len(events))
	}
	for _, n := range events {
		if n > 3*suggestAt {
			t.Errorf("a history has %d events", n)
		}
	}
}

// TestStoppedAtContinue: an interrupt or a cancellation that comes while a run continues in a new history ends the run. The script of the model sends it while
// it answers, in a different round for each run.
func TestStoppedAtContinue(t *testing.T) {
	t.Parallel()
	const last = 8 // a history has about five rounds
	var w *world
	var begins sync.WaitGroup
	begins.Add(1)
	w = newShortWorld(t, func(r modelserver.Request) modelserver.Reply {
		begins.Wait()
		var at int
		var how string
		if _, err := fmt.Sscanf(r.Messages[0].Text, "%d-%s", &at, &how); err != nil {
			return modelserver.Reply{Status: 400}
		}
		if r.Answers == at {
			stop := w.Pawl.InterruptAgent
			if how == "cancelled" {
				stop = w.Pawl.CancelAgent
			}
			if err := stop(t.Context(), "acme", r.Messages[0].Text); err != nil {
				t.Error(err)
			}
		}
		if r.Answers > at+20 {
			return modelserver.Reply{Text: "nothing has stopped me"}
		}
		return calls(call("test__echo", fmt.Sprint(r.Answers)))
	})
	begins.Done()
	w.work(e2etest.Tool("test__echo", e2etest.Echo, e2etest.Fast))
	d := w.document("openai", "test__echo")
	d.Limits.Rounds = 1000
	w.apply(d)
	for at := 1; at <= last; at++ {
		for _, how := range []agent.Outcome{agent.Interrupted, agent.Cancelled} {
			name := fmt.Sprintf("%d-%s", at, how)
			w.start(input(name, name))
		}
	}
	for at := 1; at <= last; at++ {
		for _, how := range []agent.Outcome{agent.Interrupted, agent.Cancelled} {
			name := fmt.Sprintf("%d-%s", at, how)
			if result := w.result(w.Pawl.AttachAgent(t.Context(), "acme", name)); result.Outcome != how || result.Rounds > at+2 {
				t.Errorf("%s: the run ended %+v", name, result)
			}
			if status := w.Describe(agent.WorkflowID("acme", name)).GetWorkflowExecutionInfo().GetStatus(); status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
				t.Errorf("the workflow of %s is %s", name, status)
			}
		}
	}
}
