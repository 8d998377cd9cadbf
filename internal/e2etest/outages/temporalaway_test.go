package outages

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestTemporalKilled: the server is killed during a stream of calls and comes back some seconds later. Clients wait for it, calls go on, and signals that could
// not be delivered are delivered then.
func TestTemporalKilled(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{FileStore: true})
	w := e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy)
	s := newStream(w)
	entered, release := make(chan struct{}, 2), make(chan struct{})
	held := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		entered <- struct{}{}
		<-release
		return e2etest.Echo(ctx, in, call)
	}
	w.Work(s.tools(), worker.Tools(
		e2etest.Tool("test__asked", s.effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
		e2etest.Tool("test__held", s.effects.Counted(held), e2etest.Once, e2etest.Within(2*time.Minute)),
	))
	asked := w.Start(e2etest.Invocation("asked", "test__asked", `{"text":"hello"}`))
	view := w.Waiting(asked.WorkflowID)
	running := w.Start(e2etest.Invocation("held", "test__held", `{"text":"hello"}`))
	e2etest.Receive(t, entered)
	command := w.Command("invoke", "test__asked", "--run", "run", "--call", "asked", "--args", `{"text":"hello"}`, "--actor", e2etest.Actor)
	w.Until(func() bool { return command.Says("waits for a person") }, "the command waits")
	for range 12 {
		s.invoke(w.Pawl)
	}
	w.Until(func() bool { return s.effects.Of("fast-0")+s.effects.Of("read-1") > 0 }, "calls run")
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	close(release) // the tool answers while the server is down
	for range 8 {
		s.invoke(w.Pawl)
	}

	impatient, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	late := e2etest.Invocation("late", "test__read", `{"text":"hello"}`)
	if _, err := w.Pawl.Start(impatient, late); !errors.Is(err, pawl.ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "tool:acme:run:late") {
		t.Errorf("a start without an answer ended with %v", err)
	}
	impatient, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := w.Pawl.Result(impatient, asked); !errors.Is(err, pawl.ErrNoAnswer) {
		t.Errorf("waiting for a result ended with %v", err)
	}
	impatient, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := w.Pawl.Decide(impatient, asked.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ann)); !errors.Is(err,
		pawl.ErrNotConfirmed) {
		t.Errorf("a decision without an answer ended with %v", err)
	}
	impatient, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if state, err := w.Pawl.State(impatient, asked.WorkflowID); err == nil {
		t.Errorf("a state from nowhere: %+v", state)
	}
	w.Until(func() bool { return command.Says("Temporal does not answer at " + server.Address()) }, "the command says what it waits for")
	command.Interrupt()
	if status := command.Wait(); status != 1 || !command.Says("--run run --call asked") {
		t.Errorf("interrupted, the command ended with %d:\n%s", status, command.Err)
	}
	// A new version of the policy sends a recheck to the calls that are not settled.
	w.Apply(strings.Replace(e2etest.PlainPolicy, "globex", "other", 1))
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM outbox WHERE sent_at IS NULL AND attempts > 0 AND workflow_id = '`+asked.WorkflowID+`'`) == 1
	}, "the signal is tried and kept")

	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM outbox WHERE sent_at IS NULL`) == 0
	}, "the signal is sent")
	if answer := w.Decide(asked.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ann)); !answer.Counted {
		t.Errorf("the decision did not count: %s", answer.Reason)
	}
	e2etest.WantText(t, w.Result(asked), "hello")
	if n := s.effects.Of("asked"); n != 1 || len(w.Record(e2etest.Invocation("asked", "", "")).Approvals[0].Decisions) != 1 {
		t.Errorf("one decision, sent twice, had %d effects", n)
	}
	e2etest.WantText(t, w.Result(w.Start(late)), "hello")
	// The answer of the attempt could not be delivered while the server was down. The SDK may still deliver it later.
	r := w.Result(running)
	if s.effects.Of("held") != 1 || !r.OK && r.ErrorCode != toolspec.CodeOutcomeUnknown {
		t.Errorf("the attempt that was running ended with %+v and %d effects", r, s.effects.Of("held"))
	}
	s.verdict(t, 12/4) // only calls that were running may have an unknown outcome
	t.Logf("everything had ended %s after the server was back", time.Since(began).Round(100*time.Millisecond))
}

// clientThrough returns a client of Pawl that connects to Temporal through a proxy.
func clientThrough(w *e2etest.World, address string) *pawl.Client {
	w.T.Helper()
	c, err := client.DialContext(w.T.Context(), client.Options{
		HostPort: address, Namespace: w.Namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: e2etest.WaitTimeout},
	})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(c.Close)
	return pawl.New(c, pawl.Options{})
}

// TestLostStartAnswer: if the answer to the start of a call is lost, the next try of the client attaches to the call, and so does the same command. There is
// one workflow, one effect and the same result.
func TestLostStartAnswer(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once)))
	proxy := e2etest.ProxyTo(t, w.Address)

	// No other request is as large as this one, even after compression.
	large := func(request []byte) bool { return len(request) > 2000 }
	text := noise(4000)
	args := fmt.Sprintf(`{"text":%q}`, text)
	chosen := e2etest.LoseAnswer(proxy, large)
	through := clientThrough(w, proxy.Address())
	inv := e2etest.Invocation("first", "test__send", args)
	results := make(chan toolspec.Result, 1)
	go func() {
		r, err := through.Invoke(t.Context(), inv)
		if err != nil {
			t.Errorf("the client ended with %v", err)
		}
		results <- r
	}()
	w.Until(func() bool { return chosen() && effects.Of("first") == 1 }, "the call runs, and its client does not know")
	proxy.Cut()
	r := e2etest.Receive(t, results)
	e2etest.WantText(t, r, text)
	startedOnce(w, inv)

	chosen = e2etest.LoseAnswer(proxy, large)
	direct := w.Address
	w.Address = proxy.Address()
	command := []string{"invoke", "test__send", "--run", "run", "--call", "second", "--args", args, "--actor", e2etest.Actor}
	unanswered := w.Command(command...)
	w.Until(func() bool { return chosen() && effects.Of("second") == 1 }, "the call runs, and the command does not know")
	w.Until(func() bool { return unanswered.Says("Temporal does not answer at " + proxy.Address()) }, "the command says what it waits for")
	unanswered.Interrupt()
	if status := unanswered.Wait(); status != 1 || !unanswered.Says("--run run --call second") {
		t.Errorf("interrupted, the command ended with %d:\n%s", status, unanswered.Err)
	}
	again := w.Command(command...)
	if status := again.Wait(); status != 0 || !strings.Contains(again.Out.String(), text) {
		t.Errorf("again, the command ended with %d: %s%s", status, again.Out, again.Err)
	}
	w.Address = direct
	startedOnce(w, e2etest.Invocation("second", "", ""))
	if effects.Of("first") != 1 || effects.Of("second") != 1 {
		t.Errorf("the tool ran %d and %d times", effects.Of("first"), effects.Of("second"))
	}
}

// noise returns a text that does not compress well.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()[:n]
}

// startedOnce fails unless a call has one run and one admission.
func startedOnce(w *e2etest.World, inv toolspec.Invocation) {
	w.T.Helper()
	if n := e2etest.CountEvents(w.History(inv.Identity().WorkflowID(), ""), enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED); n != 1 {
		w.T.Errorf("started %d times", n)
	}
	if record := w.Record(inv); record.Epoch > 1+w.LostTasks(inv) {
		w.T.Errorf("admitted %d times", record.Epoch)
	}
}

// TestLostDecisionAnswer: a decision counts, its answer is lost, and the call ends before the client sends it again. The client gets the answer that the
// decision counted, and not that it came too late.
func TestLostDecisionAnswer(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	call := w.Start(e2etest.Invocation("send", "test__send", `{"text":"hello"}`))
	view := w.Waiting(call.WorkflowID)
	proxy := e2etest.ProxyTo(t, w.Address)
	var sending atomic.Bool
	chosen := e2etest.LoseAnswer(proxy, func([]byte) bool { return sending.Load() })
	through := clientThrough(w, proxy.Address())
	type end struct {
		answer toolspec.Answer
		err    error
	}
	ends := make(chan end, 1)
	sending.Store(true)
	go func() {
		answer, err := through.Decide(t.Context(), call.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ann))
		ends <- end{answer, err}
	}()
	e2etest.WantText(t, w.Result(call), "hello")
	if !chosen() {
		t.Fatal("the decision did not pass the proxy")
	}
	proxy.Cut()
	if e := e2etest.Receive(t, ends); e.err != nil || !e.answer.Counted {
		t.Errorf("the client was told %+v, %v", e.answer, e.err)
	}
	if _, err := through.Decide(t.Context(), call.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ben)); !errors.Is(err,
		pawl.ErrSettled) {
		t.Errorf("another decision, after the end: %v", err)
	}
	if n := effects.Of("send"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}
