package skew

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// helper is an agent whose runs call a tool that needs an approval, or only answer.
const helper = `
name: helper
version: "1"
model: {format: openai, name: model, url: URL, maxTokens: 1000}
tools: [test__asked]
limits: {rounds: 50, calls: 50, time: 1h}
`

// upgrade is a world in which first the last release runs and then the current one.
type upgrade struct {
	*e2etest.World
	last, current *shop
}

func newUpgrade(t *testing.T) *upgrade {
	t.Helper()
	all := releases(t)
	before := all[len(all)-1]
	before.need(t)
	u := &upgrade{last: &shop{name: "last", path: before.program(t)}, current: &shop{name: "current", path: filepath.Join(t.TempDir(), "shop")}}
	build(t, ".", u.current.path, "./testdata/shop")

	model := modelserver.Serve(t, "openai", func(r modelserver.Request) modelserver.Reply {
		if r.Messages[0].Text == "ask" && r.Answers == 0 {
			return modelserver.Reply{Calls: []modelserver.Call{{Name: "test__asked", Args: `{}`}}}
		}
		return modelserver.Reply{Text: "done"}
	})
	u.World = e2etest.NewWorldOf(t, devstacktest.Temporal(t), devstacktest.Postgres(t), func(w *e2etest.World) {
		for _, s := range []*shop{u.last, u.current} {
			s.w, s.environment = w, []string{"PAWL_MODEL_URLS=" + model.URL.String()}
		}
		u.last.run("migrate up")
		for name, text := range map[string]string{"policy": e2etest.PlainPolicy, "agent": strings.Replace(helper, "URL", model.URL.String(), 1)} {
			file := filepath.Join(t.TempDir(), name+".yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			u.last.run(name + " apply " + file)
		}
	})
	return u
}

// asks starts a call, and waits until it needs an approval.
func (u *upgrade) asks(name string) toolspec.Invocation {
	u.T.Helper()
	inv := e2etest.Invocation(name, "test__asked", `{}`)
	u.Waiting(u.Start(inv).WorkflowID)
	return inv
}

// runs starts a run of the agent.
func (u *upgrade) runs(name, message string, stays bool) {
	u.T.Helper()
	u.StartRun(pawlagent.Input{
		Agent: "helper", Context: toolspec.Context{TenantID: "acme", RunID: name, ActorID: e2etest.Actor}, Stays: stays,
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: message}}}},
	})
}

// phase waits until holds returns true for the state of a run of the agent, and returns that state.
func (u *upgrade) phase(name string, holds func(pawlagent.State) bool) (state pawlagent.State) {
	u.T.Helper()
	var last error
	u.Until(func() bool {
		state, last = u.Pawl.AgentState(u.T.Context(), "acme", name)
		return last == nil && holds(state)
	}, "the run "+name+" gets there", &last)
	return state
}

func (u *upgrade) says(name, id string, round int) {
	u.T.Helper()
	if err := u.Pawl.SayToAgent(u.T.Context(), "acme", name, pawlagent.Message{ID: id, Text: "hello"}); err != nil {
		u.T.Fatal(err)
	}
	u.phase(name, waitsIn(round))
}

func waitsIn(round int) func(pawlagent.State) bool {
	return func(s pawlagent.State) bool { return s.Phase == pawlagent.Waiting && s.Round == round }
}

// goesOn uses the commands of one release to approve and show calls that workers of the other release have begun, and to make a new call. Only workers of the
// release by run meanwhile.
func (u *upgrade) goesOn(commands *shop, by, call, run string) {
	u.T.Helper()
	child := u.phase(run, func(s pawlagent.State) bool { return len(s.Calls) == 1 }).Calls[0].WorkflowID
	approve := []string{u.Waiting(call).ApprovalID, u.Waiting(child).ApprovalID}
	commands.run("approvals", approve...)
	commands.run("approve " + strings.Join(approve, " ") + " --as " + e2etest.Ann)
	inv := e2etest.Invocation(strings.TrimPrefix(call, "tool:acme:run:"), "test__asked", `{}`)
	if r := u.ResultOf(call, ""); !r.OK {
		u.T.Errorf("%s ended with %s: %s", call, r.ErrorCode, r.SafeMessage)
	}
	if ran := u.World.Effects(effects(u.World, inv)); len(ran) != 1 || ran[0] != by {
		u.T.Errorf("%s was run by %q, want %s once", call, ran, by)
	}
	if r := u.RunResult(u.Pawl.AttachAgent(u.T.Context(), "acme", run)); r.Outcome != pawlagent.Completed {
		u.T.Errorf("the run %s ended %s", run, r.Outcome)
	}
	sound(u.World, inv)
	commands.run("show "+inv.ToolCallID, "test__asked", "ok")
	commands.run("invoke test__send --call by-"+commands.name+" --run commands", "done")
	commands.run("list --limit 5 --tool test__send", "ok")
	commands.run("agent runs", run)
}

// TestTwoReleases (DU-10): the database is migrated and the workers are replaced under load, as docs/upgrade.md says, and then the new workers are rolled
// back. Calls and runs of agents that began with one release go on with the other. None is lost, and no tool that must not be repeated runs twice.
func TestTwoReleases(t *testing.T) {
	needFlag(t)
	u := newUpgrade(t)
	const last, current = "last", "current"
	began := time.Now()
	lap := func(what string) { t.Logf("%6.1fs %s", time.Since(began).Seconds(), what) }
	old := u.last.serve()
	l := startLoad(u.World)
	l.more("before the upgrade", last)
	lap("before the upgrade")
	forward := u.asks("forward")
	u.runs("forward-agent", "ask", false)
	u.runs("stays", "hello", true)
	u.phase("stays", waitsIn(1))

	u.current.run("migrate up")
	l.more("with old workers on the new schema", last)
	lap("migrated")
	now := u.current.serve()
	l.more("with workers of both releases", last, current)
	lap("both")
	terminate(u.World, old)
	l.more("with new workers", current)
	lap("new")
	u.goesOn(u.last, current, forward.Identity().WorkflowID(), "forward-agent")
	u.says("stays", "m1", 2)
	lap("the old commands")

	back := u.asks("back")
	u.runs("back-agent", "ask", false)
	u.last.serve()
	l.more("with workers of both releases again", last, current)
	terminate(u.World, now)
	l.more("after the rollback", last)
	lap("rolled back")
	u.goesOn(u.current, last, back.Identity().WorkflowID(), "back-agent")
	u.says("stays", "m2", 3)
	lap("the new commands")
	if err := u.Pawl.CancelAgent(t.Context(), "acme", "stays"); err != nil {
		t.Fatal(err)
	}
	u.RunResult(u.Pawl.AttachAgent(t.Context(), "acme", "stays"))
	l.finish()
	for _, name := range []string{"forward-agent", "back-agent", "stays"} {
		u.WantSound(pawlagent.WorkflowID("acme", name))
	}
	if open := e2etest.Scalar[int](u.World, `SELECT count(*)::int FROM invocations WHERE state = 'open'`); open != 0 {
		t.Errorf("%d calls have not ended", open)
	}
	lap("checked")
}
