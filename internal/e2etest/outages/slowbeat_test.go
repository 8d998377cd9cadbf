package outages

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestTemporalSilentForAMoment: while a tool with an effect runs, the server is silent for longer than the pause between two heartbeats, but not as long as the
// server would wait for a heartbeat. The tool is not stopped.
func TestTemporalSilentForAMoment(t *testing.T) {
	t.Parallel()
	// A heartbeat is due every two seconds. By default the SDK would wait for its answer for one second. The worker makes that four seconds.
	const silence, slack = 3500 * time.Millisecond, 300 * time.Millisecond
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	proxy := e2etest.ProxyTo(t, w.Address)
	entered, release := make(chan struct{}, 1), make(chan struct{}, 1)
	c := w.Config()
	c.Temporal.HostPort = proxy.Address()
	w.WorkWith(c, worker.Tools(e2etest.Tool("test__send", func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		entered <- struct{}{}
		select {
		case <-ctx.Done():
			return e2etest.Out{}, ctx.Err()
		case <-release:
			return e2etest.Echo(ctx, in, call)
		}
	}, e2etest.Once, e2etest.Within(2*time.Minute))))
	for try := 1; ; try++ {
		call := w.Start(e2etest.Invocation(fmt.Sprint("send-", try), "test__send", `{"text":"hello"}`))
		e2etest.Receive(t, entered)
		w.BeatsWithin(call.WorkflowID, time.Minute)
		began := time.Now()
		e2etest.SetProxy(t, proxy, tcpproxy.BlackHole)
		<-time.After(silence)
		e2etest.SetProxy(t, proxy, tcpproxy.Pass)
		w.Until(func() bool {
			pending := w.Describe(call.WorkflowID).GetPendingActivities()
			return len(pending) == 0 || pending[0].GetLastHeartbeatTime().AsTime().After(began.Add(silence))
		}, "it beats again")
		silent := time.Since(began)
		release <- struct{}{}
		r := w.Result(call)
		if !r.OK && silent > silence+slack && try < 5 {
			// If the machine stalls, the server is silent for longer than the test wants, and the test tries again.
			select {
			case <-release:
			default:
			}
			continue
		}
		e2etest.WantText(t, r, "hello")
		if r.Attempts != 1 {
			t.Errorf("%d attempts", r.Attempts)
		}
		return
	}
}
