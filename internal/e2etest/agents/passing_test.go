package agents

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// TestLostAtContinue: the worker, Temporal with the worker, or the database is lost while runs store the answers of a round. Each run is in another round, and with the answers of one
// of these rounds a run continues in its next history. One run is at its summary. No tool runs twice, no round is lost, and each response that is recorded
// counts once.
func TestLostAtContinue(t *testing.T) {
	t.Parallel()
	const rounds = 6
	files := t.TempDir()
	var w *world
	script := func(r modelserver.Request) modelserver.Reply {
		run := r.Messages[0].Text
		if r.Model == "short" {
			return modelserver.Reply{Text: "what was done"}
		}
		note := ""
		if strings.HasSuffix(run, "-summary") {
			note = strings.Repeat("x", 6000)
		}
		// A request that is repeated gets the same reply, and a request without its oldest rounds too.
		if len(w.Effects(filepath.Join(files, run))) == rounds {
			return modelserver.Reply{Text: "done"}
		}
		return calls(modelserver.Call{Name: "test__send", Args: fmt.Sprintf(`{"text":%q,"note":%q}`, filepath.Join(files, run), note)})
	}
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{FileStore: true, DynamicConfig: []string{"limit.historyCount.suggestContinueAsNew=40"}})
	database := devstacktest.OwnPostgres(t)
	w = &world{e2etest.NewWorldOn(t, server.Address(), database.URL(), e2etest.PlainPolicy), modelserver.Serve(t, "openai", script)}
	d := w.document("openai", "test__send")
	short := d.Model
	short.Name = "short"
	d.Summary, d.Limits.ContextBytes = &short, 16<<10
	w.apply(d)
	worker := w.child()
	for _, c := range []struct {
		lost string
		lose func(release func())
	}{
		{"worker", func(release func()) {
			e2etest.Kill(worker)
			release()
			worker = w.child()
		}},
		{"temporal", func(release func()) {
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			release()
			w.Until(func() bool {
				return e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_rounds WHERE answers IS NOT NULL AND run_id = 'temporal-' || round") == rounds
			}, "the answers are stored")
			e2etest.Kill(worker)
			worker = w.child()
			if err := server.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"database", func(func()) {
			if err := database.StopImmediate(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.Until(func() bool { return w.Log.Has(`will be tried again" activity=agentAnswer `) }, "a step is tried again")
			if err := database.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		runs := []string{c.lost + "-summary"}
		triggers := []string{"INSERT ON agent_summaries FOR EACH ROW WHEN (NEW.run_id = '" + runs[0] + "')"}
		for round := 1; round <= rounds; round++ {
			runs = append(runs, fmt.Sprint(c.lost, "-", round))
			triggers = append(triggers, fmt.Sprintf("UPDATE ON agent_rounds FOR EACH ROW WHEN (NEW.answers IS NOT NULL AND NEW.run_id = '%s' AND NEW.round = %d)", runs[round], round))
		}
		isHeld, release := w.Hold(triggers...)
		for _, run := range runs {
			w.start(input(run, run))
		}
		w.Until(isHeld, "each run is at its place")
		c.lose(release)
		passing := 0
		for round, run := range runs {
			result := w.result(w.Pawl.AttachAgent(t.Context(), "acme", run))
			want(t, result, agent.Completed, "done")
			summaries := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_summaries WHERE run_id = $1", run)
			if all := int64(result.Rounds + summaries); result.Rounds < rounds+1 || result.Calls != rounds || result.InputTokens != 10*all || (summaries > 0) != (round == 0) {
				t.Errorf("%s: the totals are %+v, with %d summaries", run, result.Totals, summaries)
			}
			if n := len(w.Effects(filepath.Join(files, run))); n != rounds || w.dones(run) != 1 {
				t.Errorf("%s: the tool ran %d times, and there are %d done events", run, n, w.dones(run))
			}
			if w.passedAfter(agent.WorkflowID("acme", run)) == round {
				passing++
			}
			w.Replay(agent.WorkflowID("acme", run))
		}
		if passing == 0 {
			t.Errorf("when the %s was lost, no run was about to continue in its next history", c.lost)
		}
	}
}

// passedAfter returns the number of calls in the first history of a run that continued in another one, or -1.
func (w *world) passedAfter(workflowID string) int {
	w.T.Helper()
	all := w.histories(workflowID)
	if len(all) == 1 {
		return -1
	}
	return e2etest.CountEvents(all[len(all)-1], enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED)
}
