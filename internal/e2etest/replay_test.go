package e2etest

import "github.com/pawl-run/pawl/workflows/historytest"

// replay runs the workflow's code over the history of a call.
func (w *world) replay(workflowID string) {
	w.t.Helper()
	if err := historytest.Replay(w.history(workflowID, "")); err != nil {
		w.t.Errorf("%s does not replay: %v", workflowID, err)
	}
}
