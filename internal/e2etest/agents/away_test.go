package agents

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

// TestChatWhileTemporalIsAway: a person can give up a message that Temporal does not accept, and can leave the chat, with a run and without one.
func TestChatWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{FileStore: true})
	w := &world{e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy), modelserver.Serve(t, "openai", talking)}
	w.work()
	w.apply(w.document("openai"))
	old, young := w.sit("chat", "--agent", "helper", "--run", "old"), w.sit("chat", "--agent", "helper", "--run", "young")
	old.sees("> ", 1)
	young.sees("> ", 1)
	old.types("hello\r")
	old.sees("you said hello", 1)
	w.phase("old", agent.Waiting)
	old.sees("> ", 2)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	for p, status := range map[*person]int{old: 0, young: 1} {
		n := strings.Count(p.screen.String(), "> ")
		p.types("more\r")
		p.sees("more", 1)
		p.types("\x03")
		p.sees("not said: ", 1)
		p.sees("> ", n+1)
		p.types("\x03")
		_ = p.cmd.Wait() // the exit status is checked below
		if got := p.cmd.ProcessState.ExitCode(); got != status {
			t.Errorf("the status is %d, want %d", got, status)
		}
	}
	old.sees("comes back", 1)
}

// TestSayWithoutWorker: without a worker that stores a message, `pawl agent say` ends with an error, and a person can leave a chat with the run.
func TestSayWithoutWorker(t *testing.T) {
	t.Parallel()
	w, stop := newTalk(t)
	in := input("talk", "hello")
	in.Stays = true
	w.start(in)
	w.phase("talk", agent.Waiting)
	stop()
	say := w.Command("agent", "say", "--run", "talk", "--id", "m1", "more")
	p := w.sit("chat", "--run", "talk")
	p.sees("you said hello", 1)
	p.sees("no worker answers yet", 1)
	p.types("\x03")
	p.sees("interrupted: the turn ends", 1)
	p.types("\x03")
	p.sees("comes back", 1)
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if status := say.Wait(); status != 1 || !say.Says("it is not known whether the message m1 is stored") || !say.Says("no worker answers yet; `pawl doctor`") {
		t.Errorf("the message ends with %d and %s", status, say.Err)
	}
}
