package workflows_test

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/workflows/historytest"
)

// historyDir holds the recorded histories; `task history` adds to them.
const historyDir = "testdata/history"

// fewest is how many files there must be for the corpus to be one.
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

// TestReplayCorpus (DU-03, DU-10): today's code goes on with every call that any version recorded, to the same result. Where this fails,
// the change of the workflow needs a version gate; the old files stay as they are.
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
			// A case may be dropped from the list; what a version recorded stays and replays.
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
