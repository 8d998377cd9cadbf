package workflows_test

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/activities/join"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
	upkeepflow "github.com/pawl-run/pawl/workflows/upkeep"
)

// TestNames: histories and clients use these names. Add lines to the golden file; never change or
// remove a line.
func TestNames(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "workflow %s\ntask queue %s\n", toolspec.WorkflowType, toolspec.TaskQueue)
	fmt.Fprintf(&b, "signal and update %s\nsignal %s\nquery %s\n", toolspec.DecideName, toolspec.RecheckName, toolspec.StateName)
	fmt.Fprintf(&b, "workflow %s\nschedule %s\n", upkeepflow.SweepType, upkeepflow.SweepID)
	fmt.Fprintf(&b, "workflow %s\nschedule %s\n", upkeepflow.VerifyType, upkeepflow.VerifyID)
	fmt.Fprintf(&b, "workflow %s\n", contract.FireTriggerType)
	for _, name := range contract.ActivityNames() {
		fmt.Fprintf(&b, "activity %s\n", name)
	}
	for _, name := range contract.SearchAttributeNames() {
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
	if n := len(contract.SearchAttributeNames()); n > 10 {
		t.Errorf("%d search attributes: SQL visibility has room for 10 keywords", n)
	}
}

// names collects the names of registered activities.
type names []string

func (n *names) RegisterActivityWithOptions(_ any, o activity.RegisterOptions) {
	*n = append(*n, o.Name)
}

// TestEveryNameIsRegistered: a worker registers all activities, because a running call may need any of
// them, also the stages at which this worker has no hooks.
func TestEveryNameIsRegistered(t *testing.T) {
	var got names
	activities.New(nil, nil, nil, nil, slog.New(slog.DiscardHandler), activities.Config{}).Register(&got)
	new(upkeep.Sweeper).Register(&got)
	new(upkeep.Verifier).Register(&got)
	new(upkeep.Resealer).Register(&got)
	new(join.Joiner).Register(&got)
	new(agent.Agents).Register(&got)
	want := contract.ActivityNames()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("registered %v, want %v", got, want)
	}
}
