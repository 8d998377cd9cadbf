package e2etest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestTemporalKilled: the server is killed under a stream of calls and comes back some seconds later. Clients wait for it, calls go on,
// and signals that were not delivered are.
func TestTemporalKilled(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{FileStore: true})
	w := newWorldOn(t, server.Address(), devstacktest.Postgres(t), plainPolicy)
	s := newStream(w)
	entered, release := make(chan struct{}, 2), make(chan struct{})
	held := func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		entered <- struct{}{}
		<-release
		return echo(ctx, in, call)
	}
	w.work(s.tools(), worker.Tools(
		tool("test__asked", s.effects.counted(echo), once, risky), tool("test__held", s.effects.counted(held), once, within(2*time.Minute)),
	))
	asked := w.start(invocation("asked", "test__asked", `{"text":"hello"}`))
	view := w.waiting(asked.WorkflowID)
	running := w.start(invocation("held", "test__held", `{"text":"hello"}`))
	receive(t, entered)
	command := w.command("invoke", "test__asked", "--run", "run", "--call", "asked", "--args", `{"text":"hello"}`, "--actor", actor)
	w.until(func() bool { return command.says("waits for a person") }, "the command waits")
	for range 12 {
		s.invoke(w.pawl)
	}
	w.until(func() bool { return s.effects.of("fast-0")+s.effects.of("read-1") > 0 }, "calls run")
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	close(release) // an answer that nobody takes
	for range 8 {
		s.invoke(w.pawl)
	}

	impatient, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	late := invocation("late", "test__read", `{"text":"hello"}`)
	if _, err := w.pawl.Start(impatient, late); !errors.Is(err, pawl.ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "tool:acme:run:late") {
		t.Errorf("a start without an answer ended with %v", err)
	}
	impatient, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := w.pawl.Result(impatient, asked); !errors.Is(err, pawl.ErrNoAnswer) {
		t.Errorf("waiting for a result ended with %v", err)
	}
	impatient, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := w.pawl.Decide(impatient, asked.WorkflowID, approval(view.ApprovalID, ann)); !errors.Is(err, pawl.ErrNotConfirmed) {
		t.Errorf("a decision without an answer ended with %v", err)
	}
	impatient, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if state, err := w.pawl.State(impatient, asked.WorkflowID); err == nil {
		t.Errorf("a state from nowhere: %+v", state)
	}
	w.until(func() bool { return command.says("Temporal does not answer at " + server.Address()) }, "the command says what it waits for")
	command.interrupt()
	if status := command.wait(); status != 1 || !command.says("--run run --call asked") {
		t.Errorf("interrupted, the command ended with %d:\n%s", status, command.err)
	}
	// Another version of the policy tells calls that are not settled to look again.
	w.apply(strings.Replace(plainPolicy, "globex", "other", 1))
	w.until(func() bool {
		return scalar[int](w, `SELECT count(*)::int FROM outbox WHERE sent_at IS NULL AND attempts > 0 AND workflow_id = '`+asked.WorkflowID+`'`) == 1
	}, "the signal is tried and kept")

	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.until(func() bool {
		return scalar[int](w, `SELECT count(*)::int FROM outbox WHERE sent_at IS NULL`) == 0
	}, "the signal is sent")
	if answer := w.decide(asked.WorkflowID, approval(view.ApprovalID, ann)); !answer.Counted {
		t.Errorf("the decision did not count: %s", answer.Reason)
	}
	wantText(t, w.result(asked), "hello")
	if n := s.effects.of("asked"); n != 1 || len(w.record(invocation("asked", "", "")).Approvals[0].Decisions) != 1 {
		t.Errorf("one decision, sent twice, had %d effects", n)
	}
	wantText(t, w.result(w.start(late)), "hello")
	// Nobody could take its answer while the server was away; the SDK may still bring it.
	r := w.result(running)
	if s.effects.of("held") != 1 || !r.OK && r.ErrorCode != toolspec.CodeOutcomeUnknown {
		t.Errorf("the attempt that was running ended with %+v and %d effects", r, s.effects.of("held"))
	}
	s.verdict(t, 12/4) // what may be in doubt is what was running
	t.Logf("everything had ended %s after the server was back", time.Since(began).Round(100*time.Millisecond))
}

// clientThrough is a client of Pawl's that reaches Temporal through a proxy.
func (w *world) clientThrough(address string) *pawl.Client {
	w.t.Helper()
	c, err := client.DialContext(w.t.Context(), client.Options{
		HostPort: address, Namespace: w.namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: patience},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return pawl.New(c, pawl.Options{})
}

// TestLostStartAnswer: a call that was started and never confirmed is found by the next try of the client, and by the same command: one
// workflow, one effect, the same result.
func TestLostStartAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once)))
	proxy := proxyTo(t, w.address)

	// No other request is that large, however it is compressed.
	large := func(request []byte) bool { return len(request) > 2000 }
	text := noise(4000)
	args := fmt.Sprintf(`{"text":%q}`, text)
	heard := loseAnswer(proxy, large)
	through := w.clientThrough(proxy.Address())
	inv := invocation("first", "test__send", args)
	results := make(chan toolspec.Result, 1)
	go func() {
		r, err := through.Invoke(t.Context(), inv)
		if err != nil {
			t.Errorf("the client ended with %v", err)
		}
		results <- r
	}()
	w.until(func() bool { return heard() && effects.of("first") == 1 }, "the call runs, and its client does not know")
	proxy.Cut()
	r := receive(t, results)
	wantText(t, r, text)
	w.startedOnce(inv)

	heard = loseAnswer(proxy, large)
	direct := w.address
	w.address = proxy.Address()
	command := []string{"invoke", "test__send", "--run", "run", "--call", "second", "--args", args, "--actor", actor}
	unanswered := w.command(command...)
	w.until(func() bool { return heard() && effects.of("second") == 1 }, "the call runs, and the command does not know")
	w.until(func() bool { return unanswered.says("Temporal does not answer at " + proxy.Address()) }, "the command says what it waits for")
	unanswered.interrupt()
	if status := unanswered.wait(); status != 1 || !unanswered.says("--run run --call second") {
		t.Errorf("interrupted, the command ended with %d:\n%s", status, unanswered.err)
	}
	again := w.command(command...)
	if status := again.wait(); status != 0 || !strings.Contains(again.out.String(), text) {
		t.Errorf("again, the command ended with %d: %s%s", status, again.out, again.err)
	}
	w.address = direct
	w.startedOnce(invocation("second", "", ""))
	if effects.of("first") != 1 || effects.of("second") != 1 {
		t.Errorf("the tool ran %d and %d times", effects.of("first"), effects.of("second"))
	}
}

// noise is text that does not compress well.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()[:n]
}

// startedOnce fails unless a call has one run and one admission.
func (w *world) startedOnce(inv toolspec.Invocation) {
	w.t.Helper()
	if n := count(w.history(inv.Identity().WorkflowID(), ""), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED); n != 1 {
		w.t.Errorf("started %d times", n)
	}
	if record := w.record(inv); record.Epoch > 1+w.lostTasks(inv) {
		w.t.Errorf("admitted %d times", record.Epoch)
	}
}

// TestLostDecisionAnswer: a decision counted, its answer was lost, and the call is over before the client asks again. It is told that the
// decision counted, not that it came too late.
func TestLostDecisionAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	call := w.start(invocation("send", "test__send", `{"text":"hello"}`))
	view := w.waiting(call.WorkflowID)
	proxy := proxyTo(t, w.address)
	var sending atomic.Bool
	heard := loseAnswer(proxy, func([]byte) bool { return sending.Load() })
	through := w.clientThrough(proxy.Address())
	type end struct {
		answer toolspec.Answer
		err    error
	}
	ends := make(chan end, 1)
	sending.Store(true)
	go func() {
		answer, err := through.Decide(t.Context(), call.WorkflowID, approval(view.ApprovalID, ann))
		ends <- end{answer, err}
	}()
	wantText(t, w.result(call), "hello")
	if !heard() {
		t.Fatal("the decision did not pass the proxy")
	}
	proxy.Cut()
	if e := receive(t, ends); e.err != nil || !e.answer.Counted {
		t.Errorf("the client was told %+v, %v", e.answer, e.err)
	}
	if _, err := through.Decide(t.Context(), call.WorkflowID, approval(view.ApprovalID, ben)); !errors.Is(err, pawl.ErrSettled) {
		t.Errorf("another decision, after the end: %v", err)
	}
	if n := effects.of("send"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

// command is a command of the pawl program that runs.
type command struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *logbook
}

func (w *world) command(args ...string) *command {
	w.t.Helper()
	c := &command{t: w.t, cmd: w.child(context.WithoutCancel(w.t.Context()), childCommand, args...), out: &logbook{}, err: &logbook{}}
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.err
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { kill(c.cmd) })
	return c
}

func (c *command) says(text string) bool { return c.err.has(text) }

func (c *command) interrupt() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		c.t.Fatal(err)
	}
}

// wait waits for the end and returns the exit status.
func (c *command) wait() int {
	c.t.Helper()
	timer := time.AfterFunc(patience, func() {
		_ = c.cmd.Process.Kill()
		_, _ = io.WriteString(c.err, "killed: it did not end\n")
	})
	defer timer.Stop()
	var ended *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &ended) {
		c.t.Fatal(fmt.Errorf("wait for the command: %w", err))
	}
	return c.cmd.ProcessState.ExitCode()
}
