package histories

import (
	"flag"
	"slices"
	"sync"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/historytest"
)

var record = flag.Bool("record", false, "write the histories of this version into workflows/testdata/history")

// historyDir is the directory of the recorded histories, relative to this package.
const historyDir = "../../../workflows/testdata/history"

// recorder collects the histories of one execution of TestRecordHistories.
type recorder struct {
	mu    sync.Mutex
	taken []string
}

// take checks that a history has the form of its case and replays. With the flag -record it also writes the history to a file.
func (r *recorder) take(w *e2etest.World, shape string, h *historypb.History) {
	w.T.Helper()
	cases := historytest.Cases()
	i := slices.IndexFunc(cases, func(c historytest.Case) bool { return c.Name == shape })
	if i < 0 {
		w.T.Fatalf("%s is no case of historytest.Cases", shape)
	}
	if err := cases[i].Check(h); err != nil {
		w.T.Errorf("%s: %v", shape, err)
		return
	}
	if err := historytest.Replay(h); err != nil {
		w.T.Errorf("%s does not replay: %v", shape, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = append(r.taken, shape)
	if *record {
		if err := historytest.Write(historyDir, shape, h); err != nil {
			w.T.Error(err)
		}
	}
}

// ended takes the history of a call that has a result.
func (r *recorder) ended(w *e2etest.World, shape string, inv toolspec.Invocation) {
	w.T.Helper()
	r.take(w, shape, w.History(inv.Identity().WorkflowID(), ""))
}

// waits takes the history of an open call when its last event is the one for which the call waits and no workflow task is pending.
func (r *recorder) waits(w *e2etest.World, shape, last string, inv toolspec.Invocation) {
	w.T.Helper()
	r.rests(w, shape, last, inv.Identity().WorkflowID())
}

// rests is waits for any workflow.
func (r *recorder) rests(w *e2etest.World, shape, last, workflowID string) {
	w.T.Helper()
	var h *historypb.History
	w.Until(func() bool {
		h = w.History(workflowID, "")
		lines := historytest.Outline(h)
		return !inTask(h) && len(lines) > 0 && lines[len(lines)-1] == last
	}, shape+" waits")
	r.take(w, shape, h)
}

// inTask reports whether a workflow task is scheduled or runs.
func inTask(h *historypb.History) bool {
	open := false
	for _, e := range h.GetEvents() {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
			open = true
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			open = false
		default:
		}
	}
	return open
}

// TestRecordHistories makes a call of every shape, and checks that its history replays. With the flag -record, as `task history` runs it, it writes the
// histories to files.
func TestRecordHistories(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	t.Run("groups", func(t *testing.T) {
		for name, group := range map[string]func(*recorder, *testing.T){
			"plain": (*recorder).plain, "approvals": (*recorder).approvals, "waiting": (*recorder).waiting, "ended badly": (*recorder).failing,
			"all stages": (*recorder).allStages, "lost": (*recorder).lost, "deploys": (*recorder).deploys, "database": (*recorder).databaseAway,
			"limits": (*recorder).limits, "doubt": (*recorder).doubt, "cache": (*recorder).cached, "connections": (*recorder).connections,
			"pools": (*recorder).pools, "agents": (*recorder).agents, "continued": (*recorder).continued, "triggers": (*recorder).fired,
			"denied": (*recorder).denied, "doubt later": (*recorder).doubtLater, "doubt claimed": (*recorder).doubtClaimed,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				group(r, t)
			})
		}
	})
	for _, c := range historytest.Cases() {
		if !slices.Contains(r.taken, c.Name) {
			t.Errorf("nobody recorded %s", c.Name)
		}
	}
}
