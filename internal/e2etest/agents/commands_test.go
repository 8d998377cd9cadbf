package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/cli/terminaltest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// printed has the output of a command and its exit status.
type printed struct {
	out, err string
	status   int
}

// pawl runs a command of the program with a standard input, and fails if its output has characters that control a terminal.
func (w *world) pawl(stdin string, args ...string) (p printed) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	cmd := w.Child(ctx, e2etest.ChildCommand, args...)
	cmd.Env = append(cmd.Env, "PAWL_APPROVER=user:ann")
	var out, err bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &err
	if failed := cmd.Run(); failed != nil {
		if _, ok := failed.(*exec.ExitError); !ok { //nolint:errorlint // exec returns it as it is
			w.T.Fatal(failed)
		}
	}
	p = printed{out.String(), err.String(), cmd.ProcessState.ExitCode()}
	if bad := terminaltest.Unclean(p.out + p.err); bad != "" {
		w.T.Errorf("pawl %v prints %s", args, bad)
	}
	return p
}

// has fails the test unless a text has these parts in their order.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("no %q (in this order) in:\n%s", part, text)
			return
		}
		rest = after
	}
}

// TestRunCommands: a person runs an agent, sees its steps without the masked values, lists the runs, and reads the rounds of this run. Another tenant reads
// nothing.
func TestRunCommands(t *testing.T) {
	t.Parallel()
	const canary = "canary-of-the-arguments"
	w := newWorld(t, "openai", func(r modelserver.Request) modelserver.Reply {
		if !isAnswered(r) {
			c := modelserver.Call{Name: "test__echo", Args: `{"text":"shown","note":"` + canary + `"}`}
			return modelserver.Reply{Text: "I look." + terminaltest.Odd, Calls: []modelserver.Call{c}}
		}
		return modelserver.Reply{Text: "It is done."}
	})
	w.work(e2etest.Tool("test__echo", e2etest.Echo, e2etest.Masks("/note")))
	w.apply(w.document("openai", "test__echo"))

	p := w.pawl("", "agent", "run", "helper", "go", "--run", "r1")
	if p.status != 0 {
		t.Errorf("the exit status is %d: %s", p.status, p.err)
	}
	has(t, p.out, "I look.", "It is done.\n")
	if strings.Count(p.out, "It is done.") != 1 {
		t.Errorf("the answer is printed twice:\n%s", p.out)
	}
	has(t, p.err, "run r1", "call      test__echo {", "result    test__echo ", "completed\n", "2 rounds, 1 call, 20 tokens in, 10 out")
	watched := w.pawl("", "agent", "watch", "--run", "r1", "--json")
	lines := strings.Split(strings.TrimSpace(watched.out), "\n")
	var last struct {
		Result agent.Result `json:"result"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Result.Text != "It is done." {
		t.Errorf("%v: the last line is %s", err, lines[len(lines)-1])
	}
	has(t, watched.out, `"kind":"done"`, `"result":`)
	list := w.pawl("", "agent", "runs", "--agent", "helper")
	has(t, list.out, "RUN", "r1", "helper 1", "completed", "30")
	if open := w.pawl("", "agent", "runs", "--open"); !strings.Contains(open.out, "there is no such run") {
		t.Errorf("open runs:\n%s", open.out)
	}
	shown := w.pawl("", "agent", "runs", "show", "r1")
	has(t, shown.err+shown.out, "r1  completed", "user> go", "round 1  model, tool_calls", "I look.", "call 1    test__echo {", "round 2  model, stop", "It is done.")
	asJSON := w.pawl("", "agent", "runs", "show", "r1", "--json")
	for what, text := range map[string]string{"run": p.out + p.err, "watch": watched.out, "show": shown.out, "show --json": asJSON.out} {
		if strings.Contains(text, canary) {
			t.Errorf("%s prints a masked argument:\n%s", what, text)
		}
	}
	if older := w.pawl("", "agent", "runs", "--after", "r1"); !strings.Contains(older.out, "there is no such run") {
		t.Errorf("runs before the first one:\n%s", older.out)
	}
	for _, args := range [][]string{{"agent", "runs", "show", "r1"}, {"chat", "--run", "r1"}, {"agent", "watch", "--run", "r1"}} {
		other := w.pawl("", append(args, "--tenant", "globex")...)
		if other.status != 1 || !strings.Contains(other.err, `tenant globex has no run "r1"`) {
			t.Errorf("another tenant reads with %v: %+v", args, other)
		}
	}
	if other := w.pawl("", "agent", "runs", "--tenant", "globex"); !strings.Contains(other.out, "there is no such run") {
		t.Errorf("another tenant reads:\n%s", other.out)
	}
	if p := w.pawl("", "agent", "run", "nobody", "go"); p.status != 1 || !strings.Contains(p.err, "failed: the run cannot start: there is no such agent") {
		t.Errorf("an agent that does not exist: %+v", p)
	}
	result := w.pawl("go again", "agent", "run", "helper", "--json")
	has(t, result.out, `"runId": "run-`, `"outcome": "completed"`, `"text": "It is done."`, `"rounds": 2`)
}

// TestStopCommands: a person stops a run whose model does not answer, and a run that stays after its answer.
func TestStopCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "openai", func(r modelserver.Request) modelserver.Reply {
		if lastOf(r) == "hang" {
			return modelserver.Reply{Text: "long", Delay: make(chan struct{})}
		}
		return modelserver.Reply{Text: "you said " + lastOf(r)}
	})
	w.work()
	w.apply(w.document("openai"))
	for i, now := range []string{"", "--now"} {
		id := "stopped" + now
		has(t, w.pawl("", "agent", "run", "helper", "hang", "--run", id, "--detach").out, "started "+id)
		w.Until(func() bool { return len(w.model.Requests()) == i+1 }, "the model is asked")
		stop := []string{"agent", "stop", "--run", id}
		if now != "" {
			stop = append(stop, now)
		}
		has(t, w.pawl("", stop...).out, "is told to stop")
		p := w.pawl("", "agent", "watch", "--run", id)
		if outcome := []string{"interrupted", "cancelled"}[i]; p.status != 6 || !strings.Contains(p.err, outcome) {
			t.Errorf("want %s: %+v", outcome, p)
		}
	}
	if !w.Log.Has("Activity error") || w.Log.Has("level=ERROR") {
		t.Errorf("the requests that were given up are no errors:\n%s", w.Log.String())
	}
	p := w.pawl("", "agent", "run", "helper", "hello", "--run", "stays", "--stay")
	if p.status != 0 || p.out != "you said hello\n" {
		t.Errorf("a run that stays: %+v", p)
	}
	has(t, p.err, "the run waits: `pawl agent say --run stays TEXT`")
	has(t, w.pawl("", "agent", "runs", "--open").out, "stays", "open")
	has(t, w.pawl("", "agent", "say", "--run", "stays", "more").out, "said to the run stays")
	// The command shows the first turn again, and waits for the end of the second turn.
	if p := w.pawl("", "agent", "watch", "--run", "stays", "--until-done"); p.status != 0 || p.out != "you said hello\nyou said more\n" {
		t.Errorf("the run until it waits: %+v", p)
	}
	if n := w.dones("stays"); n != 2 {
		t.Errorf("%d turns have ended, want 2", n)
	}
	w.phase("stays", agent.Waiting)
	has(t, w.pawl("", "agent", "stop", "--run", "stays").out, "is told to stop")
	has(t, w.pawl("", "agent", "watch", "--run", "stays", "--json").out, `"text":"you said more"`)
	has(t, w.pawl("", "agent", "runs", "show", "stays").out, "user> hello", "you said hello", "user:ann> more", "you said more")
	if p := w.pawl("", "agent", "say", "--run", "stays", "late"); p.status != 1 || !strings.Contains(p.err, `the run "stays" has ended`) {
		t.Errorf("a message to a run that has ended: %+v", p)
	}
}
