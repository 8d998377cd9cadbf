package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pawlagent "github.com/pawl-run/pawl/agent"

	activity "github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestStartChild: runs that calls start at the same moment reserve no more than the calling run has left (BU-06).
func TestStartChild(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	for n := range 20 { // the first starts open connections, and so they do not come at the same moment
		parent := opened(t, s, fmt.Sprintf("run%d", n))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if _, err := s.StartChild(t.Context(), child(parent, i)); err != nil && !errors.Is(err, activity.ErrSpent) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var tokens, money, runs int
		sums := "SELECT sum(token_limit), sum(micro_usd_limit), count(*) FROM agent_runs WHERE parent_run_id = $1 AND ended_at IS NULL"
		if err := conn.QueryRow(t.Context(), sums, parent.RunID).Scan(&tokens, &money, &runs); err != nil {
			t.Fatal(err)
		}
		if tokens != 90 || money != 50 || runs != 3 { // the third gets the rest of the money, 10
			t.Fatalf("%d runs have %d tokens and %d of the money", runs, tokens, money)
		}
	}
}

// TestStartChildWhileItStarts: a start is repeated while the first start of the same call waits for the calling run. Both return the run, although the first
// reserves all that the calling run has left.
func TestStartChildWhileItStarts(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	ctx, parent := t.Context(), opened(t, s, "run")
	all := child(parent, 1)
	all.Document.Limits.Tokens, all.Document.Limits.MicroUSD = 0, 0
	held, err := pgx.ConnectConfig(ctx, conn.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close(context.WithoutCancel(ctx)) }()
	tx, err := held.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "SELECT FROM agent_runs FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 2)
	for range cap(started) {
		go func() {
			run, err := s.StartChild(ctx, all)
			if err == nil && (run.Parent == nil || run.Document.Limits.Tokens != 100 || run.Document.Limits.MicroUSD != 50) {
				err = fmt.Errorf("the run is %+v", run)
			}
			started <- err
		}()
	}
	if !devstacktest.Eventually(ctx, time.Minute, func() bool {
		var waiting int
		const count = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
		if err := conn.QueryRow(ctx, count).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		return waiting == cap(started)
	}) {
		t.Fatal("not in a minute: both starts wait")
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-started, <-started); err != nil {
		t.Error(err)
	}
	if _, err := s.StartChild(ctx, child(parent, 2)); !errors.Is(err, activity.ErrSpent) {
		t.Errorf("a start of another call: %v", err)
	}
}

// opened returns an open run with 100 tokens and 50 millionths of a dollar.
func opened(t *testing.T, s *Store, runID string) contract.AgentRun {
	t.Helper()
	of, d := contract.AgentRun{TenantID: "acme", RunID: runID}, document("1", "")
	d.Limits.Tokens, d.Limits.MicroUSD = 100, 50
	if _, err := s.OpenAgentRun(t.Context(), activity.NewRun{Run: of, Document: d}); err != nil {
		t.Fatal(err)
	}
	return of
}

// child returns a run that the call number i of a run starts, with at most 30 tokens and 20 millionths of a dollar.
func child(parent contract.AgentRun, i int) activity.NewChild {
	d := document("1", "")
	d.Limits.Tokens, d.Limits.MicroUSD = 30, 20
	call := fmt.Sprintf("c%d", i)
	return activity.NewChild{Parent: parent, ToolCallID: call, RunID: "agent-" + parent.RunID + call, Document: d}
}

// TestCloseChild: a repeated start changes nothing. When a child run ends, the calling run is charged once, with the tokens and the money that the child has
// used. A run that has ended, or that has a parent itself, cannot start a child (GT-03).
func TestCloseChild(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	ctx, parent := t.Context(), opened(t, s, "run")
	of := contract.AgentRun{TenantID: "acme", RunID: child(parent, 1).RunID}
	for range 2 {
		if run, err := s.StartChild(ctx, child(parent, 1)); err != nil || run.Parent == nil || run.Parent.ToolCallID != "c1" || run.Document.Limits.Tokens != 30 {
			t.Fatalf("a start: %+v, %v", run, err)
		}
	}
	cost := int64(1)
	for range 2 {
		if err := s.RecordRound(ctx, of, activity.Round{Round: 1, MicroUSD: &cost}, "", 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CloseAgentRun(ctx, of, pawlagent.Result{Outcome: pawlagent.Completed}, "text"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RecordRound(ctx, of, activity.Round{Round: 2, MicroUSD: &cost}, "", 0); !errors.Is(err, activity.ErrNotFound) {
		t.Errorf("a round of a run that has ended: %v", err)
	}
	if run, err := s.AgentRun(ctx, parent); err != nil || run.Totals.MicroUSD != 1 || run.Totals.Rounds != 0 {
		t.Errorf("the calling run has %+v, %v", run.Totals, err)
	}
	if _, err := s.StartChild(ctx, child(of, 2)); !errors.Is(err, activity.ErrNotFound) {
		t.Errorf("a run with a parent: %v", err)
	}
	if _, err := s.CloseAgentRun(ctx, parent, pawlagent.Result{Outcome: pawlagent.Completed}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.StartChild(ctx, child(parent, 3)); !errors.Is(err, activity.ErrNotFound) {
		t.Errorf("a run that has ended: %v", err)
	}
}
