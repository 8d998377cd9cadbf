package agents

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// talking is the script of a model that answers each message. The message "hang" makes it hang, and a message with the prefix "write" makes it call
// test__write.
func talking(r modelserver.Request) modelserver.Reply {
	switch said := lastOf(r); {
	case said == "hang":
		return modelserver.Reply{Text: "this answer never ends", Hang: make(chan struct{})}
	case strings.HasPrefix(said, "write") && !isAnswered(r):
		return calls(call("test__write", said))
	case isAnswered(r) && strings.Contains(r.Messages[len(r.Messages)-1].Results[0].Text, "approval_denied"):
		return modelserver.Reply{Text: "I may not."}
	default:
		return modelserver.Reply{Text: "you said " + said}
	}
}

func newTalk(t *testing.T) (w *world, stop func()) {
	w = newWorld(t, "openai", talking)
	stop = w.work(e2etest.Tool("test__write", e2etest.Echo, e2etest.Risky))
	w.apply(w.document("openai", "test__write"))
	return w, stop
}

// TestChatOfLines: without a terminal, each line of the input is a message or a decision. A person can continue the run in another chat.
func TestChatOfLines(t *testing.T) {
	t.Parallel()
	w, stop := newTalk(t)
	defer stop()
	p := w.pawl("hello\nwrite one\na\nwrite two\nwhat?\nd not this file\n", "chat", "--agent", "helper", "--run", "talk")
	if p.status != 0 {
		t.Errorf("the exit status is %d: %s", p.status, p.err)
	}
	has(t, p.out, "talking to helper as the run talk", "you said hello\n", "tool     test__write", "a = approve", "approve counted",
		"result    test__write ok", "you said write one\n", "tool     test__write", `"what?" is no decision`, "deny counted", "I may not.\n", "`pawl chat --run talk` comes back")
	reasons := e2etest.Query[string](w.World, "SELECT reason FROM decisions WHERE decision = 'deny' AND approver = 'user:ann'")
	if strings.Join(reasons, "|") != "not this file" {
		t.Errorf("the reasons of the denials are %q", reasons)
	}
	p = w.pawl("and now\n", "chat", "--run", "talk")
	has(t, p.err+p.out, "run talk of helper 1", "user> hello", "you said hello", "user:ann> write one", "user:ann> write two", "I may not.", "you said and now\n")
	if strings.Contains(p.out, "\nuser:ann> and now") {
		t.Errorf("the old turns have the new message:\n%s", p.out)
	}
	if err := w.Pawl.InterruptAgent(t.Context(), "acme", "talk"); err != nil {
		t.Fatal(err)
	}
	w.phase("talk", agent.Ended)
	p = w.pawl("late\n", "chat", "--run", "talk")
	has(t, p.out, "you said and now", "interrupted: a person stopped the run", "6 rounds, 2 calls", "`pawl agent fork talk TEXT` goes on")
	if p.status != 1 {
		t.Errorf("a message to a run that has ended: the status is %d", p.status)
	}
	if strings.Count(p.out, "you said and now") != 1 {
		t.Errorf("the last answer is printed twice:\n%s", p.out)
	}
	has(t, w.pawl("", "agent", "run", "helper", "write three", "--run", "asks", "--detach").out, "started asks")
	w.Until(func() bool {
		return len(e2etest.Query[string](w.World, "SELECT approval_id FROM approvals WHERE state = 'open'")) == 1
	}, "a call waits for an approval")
	has(t, w.pawl("", "agent", "stop", "--run", "asks").out, "its call test__write goes on, and may wait for an approval; --now cancels it")
	has(t, w.pawl("", "agent", "stop", "--run", "asks", "--now").out, "is told to stop now")
	if p := w.pawl("", "chat"); p.status != 2 {
		t.Errorf("a chat with nobody: %+v", p)
	}
	p = w.pawl("first\n"+strings.Repeat("x", 2*agent.MaxMessage)+"\n", "chat", "--agent", "helper", "--run", "long")
	if p.status != 1 || !strings.Contains(p.err, "a line of standard input is longer than a message can be: 32768 bytes") {
		t.Errorf("a line that is too long: %d %s", p.status, p.err)
	}
	has(t, p.out, "you said first\n", "`pawl chat --run long` comes back")
	// The input ends before anybody has decided: the command ends, although the turn waits.
	p = w.pawl("write four\n\n", "chat", "--agent", "helper", "--run", "left")
	has(t, p.out, "decides later; the turn waits", "`pawl chat --run left` comes back")
	has(t, w.pawl("", "agent", "runs", "show", "left").out, "call 1    test__write   open")
	// The same for a parked call, for which the chat has no decision.
	e2etest.Query[string](w.World, "UPDATE approvals SET parked = 'lost' WHERE state = 'open' RETURNING approval_id")
	has(t, w.pawl("", "chat", "--run", "left").out, "tool     test__write", "`pawl resolve` decides", "`pawl chat --run left` comes back")
	p = w.pawl("hello\n", "chat", "--agent", "helper", "--run", strings.Repeat("r", 65))
	if p.status != 1 || !strings.Contains(p.out, "not said: ") {
		t.Errorf("a run that cannot begin: %+v", p)
	}
}

// person is a person who uses a command in a terminal.
type person struct {
	w      *world
	cmd    *exec.Cmd
	file   *os.File
	screen *devstacktest.Log
}

// sit starts a command in a terminal.
func (w *world) sit(args ...string) *person {
	w.T.Helper()
	cmd := w.Child(w.T.Context(), e2etest.ChildCommand, args...)
	cmd.Env = append(cmd.Env, "PAWL_APPROVER=user:ann", "TERM=xterm")
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 150})
	if err != nil {
		w.T.Fatal(err)
	}
	p := &person{w: w, cmd: cmd, file: file, screen: &devstacktest.Log{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for {
			n, err := file.Read(buffer)
			_, _ = p.screen.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	w.T.Cleanup(func() {
		e2etest.Kill(cmd)
		_ = file.Close()
		<-read
		if w.T.Failed() {
			w.T.Logf("the screen: %q", p.screen)
		}
	})
	return p
}

// sees waits until a text has appeared on the screen this number of times.
func (p *person) sees(text string, times int) {
	p.w.T.Helper()
	p.w.Until(func() bool { return strings.Count(p.screen.String(), text) >= times }, "the screen has "+text)
}

func (p *person) types(text string) {
	p.w.T.Helper()
	if _, err := p.file.WriteString(text); err != nil {
		p.w.T.Fatal(err)
	}
}

// TestChatInATerminal: during a turn, Ctrl-C ends the turn and not the chat. At the prompt Ctrl-C clears a line, and at an empty line it leaves the chat, while
// the run waits. A line that was typed before a request is no decision, and `a` approves a request.
func TestChatInATerminal(t *testing.T) {
	t.Parallel()
	w, stop := newTalk(t)
	defer stop()
	p := w.sit("chat", "--agent", "helper", "--run", "talk")
	p.sees("> ", 1)
	p.types("hang\r")
	p.sees("this answer", 1)
	p.types("\x03")
	p.sees("interrupted: the turn ends", 1)
	w.Until(func() bool { return w.dones("talk") == 1 }, "the turn ends")
	w.phase("talk", agent.Waiting)
	p.types("write it\ra\r") // the second line was typed before the question
	p.sees("d REASON = deny", 1)
	p.types("d not now\r")
	p.sees("deny counted", 1)
	p.sees("I may not.", 1)
	p.types("write more\r")
	p.sees("d REASON = deny", 2)
	p.types("a\r")
	p.sees("you said write more", 1)
	decided := e2etest.Query[string](w.World, "SELECT d.decision FROM decisions d JOIN approvals a USING (approval_id) ORDER BY a.created_at")
	if strings.Join(decided, " ") != "deny approve" {
		t.Errorf("the decisions are %v", decided)
	}
	w.phase("talk", agent.Waiting)
	p.types("never said\x03")
	p.types("bye\r")
	p.sees("you said bye", 1)
	w.phase("talk", agent.Waiting)
	p.sees("> ", 7)
	p.types("\x03")
	p.sees("comes back", 1)
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if state := w.phase("talk", agent.Waiting); state.Result != nil {
		t.Errorf("the run has ended: %+v", state.Result)
	}
	if said := e2etest.Query[string](w.World, "SELECT text FROM agent_messages WHERE run_id = 'talk' ORDER BY seq"); strings.Join(said, "|") != "write it|write more|bye" {
		t.Errorf("the person said %q", said)
	}
}
