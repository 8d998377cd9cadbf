package e2etest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestTemporalSilentForAMoment: a tool with an effect runs while the server is silent for longer than the pause between two heartbeats, and
// shorter than it waits for one. Nothing stops the tool.
func TestTemporalSilentForAMoment(t *testing.T) {
	t.Parallel()
	// A heartbeat falls due within two seconds, and the SDK alone would wait for its answer for one more; the worker gives it four.
	const silence, slack = 3500 * time.Millisecond, 300 * time.Millisecond
	w := newWorld(t, plainPolicy)
	proxy := proxyTo(t, w.address)
	entered, release := make(chan struct{}, 1), make(chan struct{}, 1)
	c := w.config()
	c.Temporal.HostPort = proxy.Address()
	w.workWith(c, worker.Tools(tool("test__send", func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		entered <- struct{}{}
		select {
		case <-ctx.Done():
			return out{}, ctx.Err()
		case <-release:
			return echo(ctx, in, call)
		}
	}, once, within(2*time.Minute))))
	for try := 1; ; try++ {
		call := w.start(invocation(fmt.Sprint("send-", try), "test__send", `{"text":"hello"}`))
		receive(t, entered)
		w.beatsWithin(call.WorkflowID, time.Minute)
		began := time.Now()
		set(t, proxy, tcpproxy.BlackHole)
		<-time.After(silence)
		set(t, proxy, tcpproxy.Pass)
		w.until(func() bool {
			pending := w.describe(call.WorkflowID).GetPendingActivities()
			return len(pending) == 0 || pending[0].GetLastHeartbeatTime().AsTime().After(began.Add(silence))
		}, "it beats again")
		heard := time.Since(began)
		release <- struct{}{}
		r := w.result(call)
		if !r.OK && heard > silence+slack && try < 5 {
			// A machine that stands still makes the server silent for longer.
			select {
			case <-release:
			default:
			}
			continue
		}
		wantText(t, r, "hello")
		if r.Attempts != 1 {
			t.Errorf("%d attempts", r.Attempts)
		}
		return
	}
}
