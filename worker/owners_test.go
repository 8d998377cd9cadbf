package worker

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// TestOwners: a workflow counts as deleted only if a server that knows the namespace does not know the
// workflow.
func TestOwners(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{})
	dial := func(namespace string) client.Client {
		c, err := client.DialContext(t.Context(), client.Options{
			HostPort: server.Address(), Namespace: namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
			ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: waitTimeout},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	c := dial("owners")
	devstacktest.Namespace(t, c, "owners")
	run := func(id string) string {
		r, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, "Any")
		if err != nil {
			t.Fatal(err)
		}
		return r.GetRunID()
	}
	first := run("call")
	if err := c.TerminateWorkflow(t.Context(), "call", "", ""); err != nil {
		t.Fatal(err)
	}
	second := run("call")
	const absent = "11111111-1111-4111-8111-111111111111"
	for _, tc := range []struct {
		name, workflowID, runID string
		want                    upkeep.Owner
	}{
		{"latest", "call", "", upkeep.Owner{Status: upkeep.OwnerRunning, RunID: second}},
		{"older", "call", first, upkeep.Owner{Status: upkeep.OwnerTerminated, RunID: first}},
		{"no such run", "call", absent, upkeep.Owner{Status: upkeep.OwnerDeleted, RunID: absent}},
		{"no such workflow", "nothing", "", upkeep.Owner{Status: upkeep.OwnerDeleted}},
	} {
		if got, err := (owners{c}).Owner(t.Context(), tc.workflowID, tc.runID); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v; want %+v", tc.name, got, err, tc.want)
		}
	}
	if got, err := (owners{c}).Owner(t.Context(), "call", "no run id"); err == nil || errs.IsTransient(err) {
		t.Errorf("a run id that is none: %+v, %v", got, err)
	}
	if got, err := (owners{dial("nowhere")}).Owner(t.Context(), "call", ""); !errs.IsTransient(err) {
		t.Errorf("no such namespace: %+v, %v", got, err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := askShortly(t, owners{c}); !errs.IsTransient(err) {
		t.Errorf("no server: %+v, %v", got, err)
	}
}

// askShortly asks for an owner. If the server is away, it waits for less time than a sweep.
func askShortly(t *testing.T, o owners) (upkeep.Owner, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	return o.Owner(ctx, "call", "")
}
