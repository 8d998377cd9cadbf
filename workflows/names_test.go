package workflows_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows"
)

// TestNames: histories and clients hold these names. A line may be added to the
// golden file, never changed or removed.
func TestNames(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "workflow %s\ntask queue %s\n", toolspec.WorkflowType, toolspec.TaskQueue)
	fmt.Fprintf(&b, "signal and update %s\nsignal %s\nquery %s\n", toolspec.DecideName, toolspec.RecheckName, toolspec.StateName)
	fmt.Fprintf(&b, "workflow %s\nschedule %s\n", workflows.SweepType, workflows.SweepID)
	fmt.Fprintf(&b, "workflow %s\nschedule %s\n", workflows.VerifyType, workflows.VerifyID)
	for _, name := range workflows.ActivityNames() {
		fmt.Fprintf(&b, "activity %s\n", name)
	}
	for _, name := range workflows.SearchAttributeNames() {
		fmt.Fprintf(&b, "search attribute %s\n", name)
	}
	if *update {
		if err := os.WriteFile("testdata/names.golden", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/names.golden")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s", &b)
	}
	if n := len(workflows.SearchAttributeNames()); n > 10 {
		t.Errorf("%d search attributes: SQL visibility has room for 10 keywords", n)
	}
}

// names collects what is registered.
type names []string

func (n *names) RegisterActivityWithOptions(_ any, o activity.RegisterOptions) {
	*n = append(*n, o.Name)
}

// TestEveryNameIsRegistered: a call in flight may need any of them, whatever
// hooks this worker has.
func TestEveryNameIsRegistered(t *testing.T) {
	var got names
	new(activities.Activities).Register(&got)
	new(activities.Sweeper).Register(&got)
	new(activities.Verifier).Register(&got)
	new(activities.Resealer).Register(&got)
	want := workflows.ActivityNames()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("registered %v, want %v", got, want)
	}
}
