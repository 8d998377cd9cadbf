package deploycheck

import (
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestMonitoringOfLocks: somebody locks a table for long. A real Prometheus reads the worker. The alerts about waits fire and end, and no call is lost.
// The worker has the fewest connections that it may have, so that few calls are enough.
func TestMonitoringOfLocks(t *testing.T) {
	t.Parallel()
	program := needProgram(t, "prometheus")
	w := newWatchedWorld(t)
	at := devstacktest.FreeAddress(t)
	w.ServeInChildWith("PAWL_HEALTH_LISTEN="+at, "PAWL_WORKSPACE="+w.Workspace, "PAWL_DATABASE_CONNECTIONS=4")
	p := startPrometheus(t, program, steady, at)
	l := &load{w: w.World}
	l.batch()

	alerts := []string{"PawlPoolExhausted", "PawlWorkersBusy", "PawlStepsFail"}
	firing := p.firing()
	for _, name := range alerts {
		if firing[name] {
			t.Errorf("%s fires without a fault", name)
		}
	}
	for _, fault := range []struct {
		table string
		fires []string
	}{
		{"claims", alerts[:2]},      // attempts wait for their claims, and the steps of other calls for a connection, in workflow tasks
		{"invocations", alerts[2:]}, // calls wait for their first step; no further workflow task starts, so PawlWorkersBusy has nothing to judge
	} {
		var calls []toolspec.Invocation
		release := w.LockTable(fault.table)
		p.fire(t, w.World, every(func() {
			for range 2 {
				calls = append(calls, w.call(fault.table, "test__send", ""))
			}
		}), fault.fires...)
		release()
		for _, inv := range calls {
			if r := w.ResultOf(inv.Identity().WorkflowID(), ""); !r.OK {
				t.Errorf("%s: %+v", inv.ToolCallID, r)
			}
		}
	}
	p.clear(t, w.World, alerts...)
	if len(p.broken) > 0 {
		t.Errorf("annotations of alerts are faulty: %q", p.broken)
	}
}
