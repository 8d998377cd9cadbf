package workflows_test

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/workflows/historytest"
)

// historyDir holds the recorded histories; `task history` adds to them.
const historyDir = "testdata/history"

// fewest is the least number of recorded histories. With fewer files, the tests would check nothing.
const fewest = 12

func corpus(t *testing.T) []historytest.Recorded {
	t.Helper()
	all, err := historytest.Load(historyDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < fewest {
		t.Fatalf("%d recorded histories, want at least %d: run `task history`", len(all), fewest)
	}
	return all
}

// TestReplayCorpus (DU-03, DU-10): the current code replays the history of every recorded version, with the same result. If it fails, put
// the change of the workflow behind a version gate, and do not change the old files.
func TestReplayCorpus(t *testing.T) {
	all := corpus(t)
	for _, c := range historytest.Cases() {
		if !slices.ContainsFunc(all, func(r historytest.Recorded) bool { return r.Case == c.Name }) {
			t.Errorf("no history of %s: run `task history`", c.Name)
		}
	}
	for _, r := range all {
		t.Run(r.Name(), func(t *testing.T) {
			t.Parallel()
			// A case may be removed from the list. Its recorded histories stay and must replay.
			for _, c := range historytest.Cases() {
				if c.Name == r.Case && r.Version == historytest.Version {
					if err := c.Check(r.History); err != nil {
						t.Error(err)
					}
				}
			}
			if err := historytest.Replay(r.History); err != nil {
				t.Errorf("does not replay: %v", err)
			}
		})
	}
}
