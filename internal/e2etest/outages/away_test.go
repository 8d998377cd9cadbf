package outages

import (
	"context"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// outage is a way in which a database behind a proxy can be unreachable.
type outage struct {
	name   string
	begin  func(t *testing.T, p *tcpproxy.Proxy)
	length time.Duration // 0 = the outage does not end, and concerns only connections that were open
	events int           // at most, in the history of a call
}

// TestDatabaseAwayInEveryStep: if the database becomes unreachable before any write or read of a call, in any way, the call waits with a timer of Temporal
// and goes on when the database is back. The outages are longer than the five seconds for which a step is tried inside a workflow task. An outage of many
// minutes looks the same, with one more timer every fifteen seconds.
func TestDatabaseAwayInEveryStep(t *testing.T) {
	t.Parallel()
	for _, o := range []outage{
		{"refused", func(t *testing.T, p *tcpproxy.Proxy) {
			e2etest.SetProxy(t, p, tcpproxy.Refuse)
			p.Cut()
		}, 26 * time.Second, 90},
		{"silent", func(t *testing.T, p *tcpproxy.Proxy) { e2etest.SetProxy(t, p, tcpproxy.BlackHole) }, 26 * time.Second, 90},
		{"stranded", func(_ *testing.T, p *tcpproxy.Proxy) { p.Strand() }, 0, 60},
	} {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			awayInEveryStep(t, o)
		})
	}
}

func awayInEveryStep(t *testing.T, o outage) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	proxy := w.Proxied()
	var effects e2etest.Ledger
	entered, reached := make(chan struct{}, 4), map[string]chan struct{}{}
	gone := make(chan struct{})
	held := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		entered <- struct{}{}
		<-gone
		return e2etest.Echo(ctx, in, call)
	}
	// A hook that takes more than two seconds is run again.
	for _, toolID := range []string{"test__gated", "test__asking", "test__claiming"} {
		reached[toolID] = make(chan struct{}, 100)
	}
	hold := func(toolID string) error {
		reached[toolID] <- struct{}{}
		<-gone
		return nil
	}
	w.Work(
		worker.Tools(
			e2etest.Tool("test__read", effects.Counted(e2etest.Echo), e2etest.Fast),
			e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
			e2etest.Tool("test__asking", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
			e2etest.Tool("test__send", effects.Counted(held), e2etest.Once, e2etest.Within(2*time.Minute)),
			e2etest.Tool("test__slow", effects.Counted(held), e2etest.Fast),
			e2etest.Tool("test__gated", effects.Counted(e2etest.Echo), e2etest.Once),
			e2etest.Tool("test__claiming", effects.Counted(e2etest.Echo), e2etest.Once),
		),
		worker.ToolHooks("test__gated", hook.New("hold-gate",
			hook.DidCreateInvokeContext.Do(func(context.Context, *hook.Begin) error { return hold("test__gated") }))),
		worker.ToolHooks("test__asking", hook.New("hold-input",
			hook.WillValidateInput.Do(func(context.Context, *hook.Input) error { return hold("test__asking") }))),
		worker.ToolHooks("test__claiming", hook.New("hold-secrets",
			hook.WillInjectSecrets.Do(func(context.Context, *hook.Check) error { return hold("test__claiming") }))),
	)
	calls := map[string]toolspec.Invocation{}
	begin := func(toolID string) toolspec.Invocation {
		inv := e2etest.Invocation(toolID, toolID, `{"text":"hello"}`)
		calls[inv.Identity().WorkflowID()] = inv
		w.Start(inv)
		return inv
	}
	deciding := begin("test__write").Identity().WorkflowID()
	view := w.Waiting(deciding)
	// The outage begins before willAuthorize reads the policy, before requestApproval, before the claim, while the tool runs in both lanes, and while a call waits
	// for a person.
	for toolID, there := range reached {
		begin(toolID)
		e2etest.Receive(t, there)
	}
	begin("test__send")
	e2etest.Receive(t, entered)
	// This call starts last, because in the local lane a tool has only two seconds before it is tried again.
	begin("test__slow")
	e2etest.Receive(t, entered)

	o.begin(t, proxy)
	began := time.Now()
	close(gone)
	begin("test__read")
	if err := w.Temporal.SignalWorkflow(t.Context(), deciding, "", toolspec.DecideName,
		e2etest.Approving(view.ApprovalID, e2etest.Ann)); err != nil {
		t.Fatal(err)
	}
	if o.length > 0 {
		for _, step := range []string{"admit", "reviewDecision", "requestApproval", "settle"} {
			w.Retried(step)
		}
		w.Until(func() bool { return w.Log.Has("the claim has no answer") }, "a claim is not answered")
		// The rest of the outage is a fixed time, and not a wait for something else.
		w.Until(func() bool { return time.Since(began) >= o.length }, "the outage is over")
		// The statements that the proxy holds back must be lost, because a claim that arrived now would belong to an attempt that has ended.
		proxy.Cut()
		e2etest.SetProxy(t, proxy, tcpproxy.Pass)
	}
	w.Approve(calls["tool:acme:run:test__asking"].Identity().WorkflowID())
	for id, inv := range calls {
		r, n := w.Ended(w.Temporal.GetWorkflow(t.Context(), id, "")), effects.Of(inv.ToolCallID)
		// On a busy machine a read of the local lane may take longer than its two seconds, and is repeated then.
		local := inv.ToolID == "test__read" || inv.ToolID == "test__slow"
		if record := w.Record(inv); !r.OK || n < 1 || n > 1 && !local || record.Outcome != "ok" || len(record.Stages) == 0 {
			t.Errorf("%s: %+v with %d effects; the record is %s with %d stages", id, r, n, record.Outcome, len(record.Stages))
		}
		w.BoundedHistory(id, o.events+e2etest.SecondsOver(began, o.length+10*time.Second))
		w.Replay(id)
	}
	if o.length > 0 {
		admitting := w.History("tool:acme:run:test__read", "")
		if n := e2etest.CountEvents(admitting, enumspb.EVENT_TYPE_TIMER_FIRED); n == 0 {
			t.Error("no timer: the call waited inside of a workflow task")
		}
	}
	t.Logf("%s: everything had ended %s after the database went", o.name, time.Since(began).Round(100*time.Millisecond))
}
