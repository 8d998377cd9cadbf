package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/worker"
)

// TestSlowAdmission: a worker gives up each admit after two seconds, and an admit that was given up does not take effect later.
func TestSlowAdmission(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once)))
	release := w.LockTable("invocations")
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	began := time.Now()
	call := w.Start(inv)
	// Each try takes two seconds, with pauses of 0.1, 0.8 and 6.4 seconds between them.
	const gaveUp = `will be tried again" activity=admit reason="postgres: admit: `
	w.Until(func() bool { return strings.Count(w.Log.String(), gaveUp) >= 3 }, "admit is given up three times")
	release()
	e2etest.WantText(t, w.Result(call), "hello")
	record := w.Record(inv)
	if record.Epoch != 1 || effects.Of("send") != 1 {
		t.Errorf("epoch %d and %d effects: what was given up was admitted all the same", record.Epoch, effects.Of("send"))
	}
	w.BoundedHistory(call.WorkflowID, 40+e2etest.SecondsOver(began, 20*time.Second))
}

// TestAbandonedAdmit: if an admit takes effect although its worker has given it up, there is still one record, and the call goes on with it.
func TestAbandonedAdmit(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	proxy := w.Proxied()
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once)))
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("before", "test__send", `{"text":"hello"}`)), "hello")
	_, release := w.Hold("INSERT ON invocations FOR EACH ROW")
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	waits := func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`) > 0
	}
	tries := func() int { return strings.Count(w.Log.String(), `will be tried again" activity=admit `) }
	before := 0
	w.Until(func() bool {
		if !waits() {
			return false
		}
		// From here on no answer comes back, and no request to cancel the statement reaches the server. Such a request may have arrived before.
		before = tries()
		e2etest.SetProxy(t, proxy, tcpproxy.BlackHole)
		if waits() && tries() == before {
			return true
		}
		e2etest.SetProxy(t, proxy, tcpproxy.Pass)
		return false
	}, "admit waits for the lock, out of reach")
	w.Until(func() bool { return tries() > before }, "admit is given up")
	release()
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM invocations WHERE tool_call_id = 'send'`) == 1
	}, "what was given up is admitted")
	proxy.Cut()
	e2etest.SetProxy(t, proxy, tcpproxy.Pass)
	e2etest.WantText(t, w.Result(call), "hello")
	record := w.Record(inv)
	if record.Epoch < 2 || effects.Of("send") != 1 || record.Attempts != 1 {
		t.Errorf("epoch %d, %d effects, %d attempts; want at least 2, one and one", record.Epoch, effects.Of("send"), record.Attempts)
	}
	w.Replay(call.WorkflowID)
}
