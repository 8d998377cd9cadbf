package e2etest

import (
	"context"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// An outage is a way in which a database is away behind a proxy.
type outage struct {
	name   string
	begin  func(t *testing.T, p *tcpproxy.Proxy)
	length time.Duration // 0 = it does not end, and only concerns what was open
	events int           // at most, in the history of a call
}

// TestDatabaseAwayInEveryStep: whatever a call is about to write or read when its database goes, and however it goes, the call parks on a
// timer of Temporal's and goes on when the database is back. The outages are longer than what tries inside of a workflow task could
// bridge, which is five seconds, so those of many minutes look the same: one more timer each fifteen seconds.
func TestDatabaseAwayInEveryStep(t *testing.T) {
	t.Parallel()
	for _, o := range []outage{
		{"refused", func(t *testing.T, p *tcpproxy.Proxy) {
			set(t, p, tcpproxy.Refuse)
			p.Cut()
		}, 26 * time.Second, 90},
		{"silent", func(t *testing.T, p *tcpproxy.Proxy) { set(t, p, tcpproxy.BlackHole) }, 26 * time.Second, 90},
		{"stranded", func(_ *testing.T, p *tcpproxy.Proxy) { p.Strand() }, 0, 60},
	} {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			awayInEveryStep(t, o)
		})
	}
}

func awayInEveryStep(t *testing.T, o outage) {
	w := newWorld(t, plainPolicy)
	proxy := w.proxied()
	var effects ledger
	entered, reached := make(chan struct{}, 4), map[string]chan struct{}{}
	gone := make(chan struct{})
	held := func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		entered <- struct{}{}
		<-gone
		return echo(ctx, in, call)
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
	w.work(
		worker.Tools(
			tool("test__read", effects.counted(echo), fast),
			tool("test__write", effects.counted(echo), once, risky),
			tool("test__asking", effects.counted(echo), once, risky),
			tool("test__send", effects.counted(held), once, within(2*time.Minute)),
			tool("test__slow", effects.counted(held), fast),
			tool("test__gated", effects.counted(echo), once),
			tool("test__claiming", effects.counted(echo), once),
		),
		worker.ToolHooks("test__gated", hook.New("hold-gate", hook.DidCreateInvokeContext.Do(func(context.Context, *hook.Begin) error { return hold("test__gated") }))),
		worker.ToolHooks("test__asking", hook.New("hold-input", hook.WillValidateInput.Do(func(context.Context, *hook.Input) error { return hold("test__asking") }))),
		worker.ToolHooks("test__claiming", hook.New("hold-secrets", hook.WillInjectSecrets.Do(func(context.Context, *hook.Check) error { return hold("test__claiming") }))),
	)
	calls := map[string]toolspec.Invocation{}
	begin := func(toolID string) toolspec.Invocation {
		inv := invocation(toolID, toolID, `{"text":"hello"}`)
		calls[inv.Identity().WorkflowID()] = inv
		w.start(inv)
		return inv
	}
	deciding := begin("test__write").Identity().WorkflowID()
	view := w.waiting(deciding)
	// Before willAuthorize reads the policy, requestApproval, the claim; while the tool runs, in both lanes; and while a person is asked.
	for toolID, there := range reached {
		begin(toolID)
		receive(t, there)
	}
	begin("test__send")
	receive(t, entered)
	// The last one: in the local lane a tool has two seconds before it is tried again.
	begin("test__slow")
	receive(t, entered)

	o.begin(t, proxy)
	began := time.Now()
	close(gone)
	begin("test__read")
	if err := w.temporal.SignalWorkflow(t.Context(), deciding, "", toolspec.DecideName, approval(view.ApprovalID, ann)); err != nil {
		t.Fatal(err)
	}
	if o.length > 0 {
		for _, step := range []string{"admit", "reviewDecision", "requestApproval", "settle"} {
			w.retried(step)
		}
		w.until(func() bool { return w.log.has("the claim has no answer") }, "a claim is not answered")
		// Not asleep, but until the outage is as long as it is to be.
		w.until(func() bool { return time.Since(began) >= o.length }, "the outage is over")
		// What was held back is lost: a claim that arrives now would be nobody's.
		proxy.Cut()
		set(t, proxy, tcpproxy.Pass)
	}
	w.approve(calls["tool:acme:run:test__asking"].Identity().WorkflowID())
	most := o.events + longer(began, o.length+10*time.Second)
	for id, inv := range calls {
		r, n := w.ended(w.temporal.GetWorkflow(t.Context(), id, "")), effects.of(inv.ToolCallID)
		// A read of the local lane that a busy machine holds up for its two seconds is made again.
		local := inv.ToolID == "test__read" || inv.ToolID == "test__slow"
		if record := w.record(inv); !r.OK || n < 1 || n > 1 && !local || record.Outcome != "ok" || len(record.Stages) == 0 {
			t.Errorf("%s: %+v with %d effects; the record is %s with %d stages", id, r, n, record.Outcome, len(record.Stages))
		}
		w.bounded(id, most)
		w.replay(id)
	}
	if o.length > 0 {
		admitting := w.history("tool:acme:run:test__read", "")
		if n := count(admitting, enumspb.EVENT_TYPE_TIMER_FIRED); n == 0 {
			t.Error("no timer: the call waited inside of a workflow task")
		}
	}
	t.Logf("%s: everything had ended %s after the database went", o.name, time.Since(began).Round(100*time.Millisecond))
}
