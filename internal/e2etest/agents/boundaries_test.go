package agents

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

// boundaries has the statements with which a run stores its progress. Each of them is held in the run that has the name of the boundary.
var boundaries = map[string]string{
	"opening":   "INSERT ON agent_runs FOR EACH ROW WHEN (NEW.run_id = 'opening')",
	"recording": "INSERT ON agent_rounds FOR EACH ROW WHEN (NEW.run_id = 'recording')",
	"storing":   "UPDATE ON agent_rounds FOR EACH ROW WHEN (NEW.run_id = 'storing' AND NEW.answers IS NOT NULL)",
	"closing":   "UPDATE ON agent_runs FOR EACH ROW WHEN (NEW.run_id = 'closing' AND NEW.ended_at IS NOT NULL)",
}

// lostAt makes four runs, each of which is at another boundary when a server is lost. lose ends the server, returns after the loss has had its effect, and
// may release the statements. start starts the server again. No model is asked again.
func lostAt(t *testing.T, w *world, files string, thought chan struct{}, lose func(first *process, release func()), start func() error) {
	t.Helper()
	first := w.child()
	w.apply(w.document("openai", "test__send"))
	var triggers []string
	for _, name := range e2etest.SortedKeys(boundaries) {
		triggers = append(triggers, boundaries[name])
	}
	isHeld, release := w.Hold(triggers...)
	for name := range boundaries {
		w.start(input(name, name))
	}
	w.Until(func() bool { return len(w.asks("recording")) == 1 }, "the model is asked")
	w.say("recording", "m1", "one") // while the statement waits, the row of the run is locked
	close(thought)
	w.Until(isHeld, "each run is at its boundary")
	lose(first, release)
	if err := start(); err != nil {
		t.Fatal(err)
	}
	for name := range boundaries {
		w.whole(name, 2, 2)
		if got := w.Effects(filepath.Join(files, name)); len(got) != 1 {
			t.Errorf("%s: the tool was run by %v", name, got)
		}
	}
	if all := w.asks("recording"); said(all[len(all)-1]) != "recording, one" {
		t.Errorf("the model got %q", said(all[len(all)-1]))
	}
}

// boundaryScripts returns the script of the model. In the run that records a response, the model answers after thought is closed.
func boundaryScripts(files string, thought chan struct{}) func(modelserver.Request) modelserver.Reply {
	all := scripts{}
	for name := range boundaries {
		first := calls(modelserver.Call{Name: "test__send", Args: fmt.Sprintf(`{"text":%q}`, filepath.Join(files, name))})
		if name == "recording" {
			first.Delay = thought
		}
		all[name] = modelserver.Script(first, modelserver.Reply{Text: "done"})
	}
	return pick(all)
}

// TestDatabaseLostAtBoundaries: the database is killed while it executes the statements with which runs open, record a response, store answers and
// close. The model is not asked again: its response waits for the database.
func TestDatabaseLostAtBoundaries(t *testing.T) {
	t.Parallel()
	thought, files := make(chan struct{}), t.TempDir()
	p := devstacktest.OwnPostgres(t)
	w := &world{e2etest.NewWorldOn(t, devstacktest.Temporal(t), p.URL(), e2etest.PlainPolicy), modelserver.Serve(t, "openai", boundaryScripts(files, thought))}
	lostAt(t, w, files, thought, func(*process, func()) {
		if err := p.StopImmediate(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Until(func() bool { return w.Log.Has("the response of a model waits for the database") }, "the response cannot be recorded")
		for _, activity := range []string{"agentOpen", "agentAnswer", "agentClose"} {
			w.Until(func() bool { return w.Log.Has(`will be tried again" activity=` + activity + ` `) }, activity+" is tried again")
		}
	}, func() error { return p.Restart(t.Context()) })
}

// TestDatabaseFrozenAtBoundaries: the database stalls in the middle of these statements until the worker has repeated each step, and then goes on. The statements of
// the first tries may still be executed, beside those of the next tries.
func TestDatabaseFrozenAtBoundaries(t *testing.T) {
	t.Parallel()
	thought, files := make(chan struct{}), t.TempDir()
	p := devstacktest.OwnPostgres(t)
	w := &world{e2etest.NewWorldOn(t, devstacktest.Temporal(t), p.URL(), e2etest.PlainPolicy), modelserver.Serve(t, "openai", boundaryScripts(files, thought))}
	lostAt(t, w, files, thought, func(_ *process, release func()) {
		thaw, err := p.Freeze(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, activity := range []string{"agentOpen", "agentAnswer", "agentClose"} {
			w.Until(func() bool { return w.Log.Has(`will be tried again" activity=` + activity + ` `) }, activity+" is tried again")
		}
		thaw()
		release()
	}, func() error { return nil })
}

// TestTemporalLostAtBoundaries: Temporal is killed while the database executes these statements. The worker is killed too, before it can report that they
// are done. The model is not asked again, because its response is recorded.
func TestTemporalLostAtBoundaries(t *testing.T) {
	t.Parallel()
	thought, files := make(chan struct{}), t.TempDir()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{FileStore: true})
	w := &world{e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy), modelserver.Serve(t, "openai", boundaryScripts(files, thought))}
	lostAt(t, w, files, thought, func(first *process, release func()) {
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		release()
		w.Until(func() bool {
			return e2etest.Scalar[int](w.World, `SELECT (SELECT count(*) FROM agent_rounds WHERE run_id = 'recording' OR run_id = 'storing' AND answers IS NOT NULL)::int
				+ (SELECT count(*) FROM agent_runs WHERE run_id = 'opening' OR run_id = 'closing' AND ended_at IS NOT NULL)::int`) == 4
		}, "the statements are done")
		e2etest.Kill(first)
	}, func() error {
		w.child()
		return server.Restart(t.Context())
	})
}
