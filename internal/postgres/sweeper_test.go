package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

// ownersFunc is a function that answers in the place of Temporal.
type ownersFunc func(workflowID, runID string) (upkeep.Owner, error)

func (f ownersFunc) Owner(_ context.Context, workflowID, runID string) (upkeep.Owner, error) {
	return f(workflowID, runID)
}

// sweepCalls runs the sweeper's activity on a store.
func (b bench) sweepCalls(owners upkeep.Owners) (contract.SweepCallsOut, error) {
	b.t.Helper()
	return upkeep.NewSweeper(namespace, b.Store, b.Store, nil, owners, slog.New(slog.DiscardHandler), 400).
		Calls(b.t.Context(), contract.SweepCallsIn{})
}

// TestOwners: the latest run of a workflow says whether the call goes on, and the recorded run says how the call ended.
func TestOwners(t *testing.T) {
	b := open(t)
	const newer = "temporal-run-2"
	for _, c := range []struct {
		name             string
		latest, recorded upkeep.Owner
		want             string
	}{
		{"running", upkeep.Owner{Status: upkeep.OwnerRunning, RunID: ownRun}, upkeep.Owner{}, ""},
		{"a newer run goes on", upkeep.Owner{Status: upkeep.OwnerRunning, RunID: newer}, upkeep.Owner{Status: upkeep.OwnerTerminated}, ""},
		{"terminated", upkeep.Owner{Status: upkeep.OwnerTerminated, RunID: ownRun}, upkeep.Owner{}, "cancelled terminated"},
		{"timed out", upkeep.Owner{Status: upkeep.OwnerTimedOut, RunID: ownRun}, upkeep.Owner{}, "timeout timed_out"},
		{"failed", upkeep.Owner{Status: upkeep.OwnerFailed, RunID: ownRun}, upkeep.Owner{}, "internal failed"},
		{"cancelled", upkeep.Owner{Status: upkeep.OwnerCancelled, RunID: ownRun}, upkeep.Owner{}, "cancelled cancelled"},
		{"deleted", upkeep.Owner{Status: upkeep.OwnerDeleted}, upkeep.Owner{}, "cancelled deleted"},
		{"completed and did not settle", upkeep.Owner{Status: upkeep.OwnerCompleted, RunID: ownRun}, upkeep.Owner{}, "internal completed"},
		{"a newer run completed with a conflict", upkeep.Owner{Status: upkeep.OwnerCompleted, RunID: newer}, upkeep.Owner{Status: upkeep.OwnerTimedOut, RunID: ownRun}, "timeout timed_out"},
		{"and nobody remembers the recorded one", upkeep.Owner{Status: upkeep.OwnerCompleted, RunID: newer}, upkeep.Owner{Status: upkeep.OwnerDeleted}, "cancelled deleted"},
		{"a newer run timed out", upkeep.Owner{Status: upkeep.OwnerTimedOut, RunID: newer}, upkeep.Owner{Status: upkeep.OwnerTerminated, RunID: ownRun}, "cancelled terminated"},
		{"and nobody remembers this one", upkeep.Owner{Status: upkeep.OwnerTimedOut, RunID: newer}, upkeep.Owner{Status: upkeep.OwnerDeleted}, "timeout timed_out"},
		{"the recorded one goes on", upkeep.Owner{Status: upkeep.OwnerTerminated, RunID: newer}, upkeep.Owner{Status: upkeep.OwnerRunning, RunID: ownRun}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.sql(`TRUNCATE invocations, events CASCADE`)
			b.admit("call_1")
			out, err := b.sweepCalls(ownersFunc(func(_, runID string) (upkeep.Owner, error) {
				switch runID {
				case "":
					return c.latest, nil
				case ownRun:
					return c.recorded, nil
				}
				return upkeep.Owner{}, fmt.Errorf("no run %s", runID)
			}))
			if err != nil {
				t.Fatal(err)
			}
			got := value[string](b, `SELECT coalesce(error_code || ' ' || (SELECT detail->>'workflowStatus' FROM events WHERE kind = 'swept'), '') FROM invocations`)
			if got != c.want {
				t.Errorf("the call ended %q, want %q", got, c.want)
			}
			if swept := c.want != ""; out.Open != 1 || (out.Swept() == 1) != swept || (out.Running == 1) == swept {
				t.Errorf("counted %+v", out)
			}
		})
	}
}

// TestARunThatIsAdmittedMeanwhileWins: a call is not swept if a new run is admitted while Temporal answers about the old run.
func TestARunThatIsAdmittedMeanwhileWins(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	out, err := b.sweepCalls(ownersFunc(func(string, string) (upkeep.Owner, error) {
		b.admit("call_1")
		return upkeep.Owner{Status: upkeep.OwnerTerminated, RunID: ownRun}, nil
	}))
	if err != nil || out.MovedOn != 1 || out.Swept() != 0 {
		t.Errorf("counted %+v, %v", out, err)
	}
	if d := b.show("call_1"); d.Result != nil || d.Epoch != 2 {
		t.Errorf("the record is %+v", d)
	}
	if got := b.claim(claimRow("call_1", 2, 1)); got != contract.Done {
		t.Errorf("the new run's claim: %s", got)
	}
}

// TestTemporalAway: no call is swept while Temporal does not answer. An error about one call does not prevent the sweep of the others.
func TestTemporalAway(t *testing.T) {
	b := open(t)
	for i := range 20 {
		b.admit(fmt.Sprint("call_", i))
	}
	terminated := upkeep.Owner{Status: upkeep.OwnerTerminated, RunID: ownRun}
	open := func() int { return value[int](b, `SELECT count(*) FROM invocations WHERE state = 'open'`) }
	var mu sync.Mutex
	asked := 0
	if _, err := b.sweepCalls(ownersFunc(func(string, string) (upkeep.Owner, error) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked < 10 {
			return terminated, nil
		}
		return upkeep.Owner{}, errs.Transient(errors.New("unreachable"))
	})); !errs.IsTransient(err) {
		t.Errorf("the sweep ended with %v", err)
	}
	if n := open(); n != 20 {
		t.Errorf("%d calls are open", n)
	}
	odd := toolspec.Identity{TenantID: tenant, RunID: "run_1", ToolCallID: "call_3"}.WorkflowID()
	out, err := b.sweepCalls(ownersFunc(func(workflowID, _ string) (upkeep.Owner, error) {
		if workflowID == odd {
			return upkeep.Owner{}, errors.New("odd")
		}
		return terminated, nil
	}))
	if err != nil || out.Open != 20 || out.Unclear != 1 || out.Cancelled != 19 || open() != 1 {
		t.Errorf("counted %+v, %v; %d calls are open", out, err, open())
	}
}

// TestBusyWorkflows: a workflow about which Temporal does not answer, for example because others keep it busy, does not keep the calls of other
// workflows open.
func TestBusyWorkflows(t *testing.T) {
	b := open(t)
	busy := map[string]bool{}
	for i := range 20 {
		b.admit(fmt.Sprint("call_", i))
		busy[toolspec.Identity{TenantID: tenant, RunID: "run_1", ToolCallID: fmt.Sprint("call_", i)}.WorkflowID()] = i < 7
	}
	out, err := b.sweepCalls(ownersFunc(func(workflowID, _ string) (upkeep.Owner, error) {
		if busy[workflowID] {
			return upkeep.Owner{}, errs.Transient(errors.New("busy"))
		}
		return upkeep.Owner{Status: upkeep.OwnerTerminated, RunID: ownRun}, nil
	}))
	if want := (contract.SweepCallsOut{Open: 20, Unclear: 7, Cancelled: 13}); err != nil || out != want {
		t.Errorf("counted %+v, %v; want %+v", out, err, want)
	}
	// Seven calls are left. If there is no answer about any of them, Temporal is away.
	if _, err := b.sweepCalls(ownersFunc(func(string, string) (upkeep.Owner, error) {
		return upkeep.Owner{}, errs.Transient(errors.New("unreachable"))
	})); !errs.IsTransient(err) {
		t.Errorf("without any answer the sweep ended with %v", err)
	}
}

// TestRefusedCall: a call that the database refuses to settle stays open, and does not keep the younger calls open.
func TestRefusedCall(t *testing.T) {
	b := open(t)
	for i := range 3 {
		b.admit(fmt.Sprint("call_", i))
	}
	b.sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'data_corrupted'; END $$`)
	b.sql(`CREATE TRIGGER refuse BEFORE UPDATE ON invocations FOR EACH ROW WHEN (NEW.tool_call_id = 'call_0') EXECUTE FUNCTION refuse()`)
	owners := ownersFunc(func(string, string) (upkeep.Owner, error) {
		return upkeep.Owner{Status: upkeep.OwnerTerminated, RunID: ownRun}, nil
	})
	out, err := b.sweepCalls(owners)
	if left := value[string](b, `SELECT string_agg(tool_call_id, ' ') FROM invocations WHERE state = 'open'`); err != nil || left != "call_0" {
		t.Errorf("%v, and left are %s", err, left)
	}
	if want := (contract.SweepCallsOut{Open: 3, Refused: 1, Cancelled: 2}); out != want {
		t.Errorf("counted %+v, want %+v", out, want)
	}
	b.sql(`DROP TRIGGER refuse ON invocations`)
	if out, err = b.sweepCalls(owners); err != nil || out.Refused != 0 || out.Cancelled != 1 {
		t.Errorf("later it counted %+v, %v", out, err)
	}
}

// TestManyOpenCalls: a running call costs one question to Temporal and no write. A page of calls costs one read, and calls of other namespaces cost nothing.
func TestManyOpenCalls(t *testing.T) {
	b := open(t)
	b.admit("first")
	// 1000 more calls, of which two hundred have the same time of creation.
	b.sql(`
		INSERT INTO invocations (invocation_id, tenant_id, run_id, tool_call_id, tool_id, actor_id, workflow_id, temporal_run_id, namespace, input_digest, plan, started_at, created_at)
		SELECT encode(set_byte(set_byte(h, 6, (get_byte(h, 6) & 15) | 128), 8, (get_byte(h, 8) & 63) | 128), 'hex')::uuid,
			'acme', 'run_1', 'call_' || n, 'core__read', 'user:ann', 'tool:acme:run_1:call_' || n, 'temporal-run-1',
			CASE WHEN n <= 999 THEN 'tools' WHEN n <= 1049 THEN 'others' ELSE '' END, 'digest-1', '{}', now(), now() - make_interval(secs => least(n, 800))
		FROM generate_series(1, 1099) n,
			LATERAL (SELECT substring(sha256(convert_to('acme', 'UTF8') || '\x00'::bytea || convert_to('run_1', 'UTF8') || '\x00'::bytea || convert_to('call_' || n, 'UTF8')) FROM 1 FOR 16) AS h) s`)
	var mu sync.Mutex
	asked := map[string]int{}
	most, now := 0, 0
	b.trips.Store(0)
	out, err := b.sweepCalls(ownersFunc(func(workflowID, runID string) (upkeep.Owner, error) {
		mu.Lock()
		asked[workflowID+runID]++
		now++
		most = max(most, now)
		mu.Unlock()
		runtime.Gosched()
		mu.Lock()
		now--
		mu.Unlock()
		return upkeep.Owner{Status: upkeep.OwnerRunning, RunID: ownRun}, nil
	}))
	if err != nil || out.Open != 1000 || out.Running != 1000 {
		t.Errorf("counted %+v, %v", out, err)
	}
	for name, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", name, n)
		}
	}
	if len(asked) != 1000 || most > 8 {
		t.Errorf("asked for %d, %d at once", len(asked), most)
	}
	// Five reads for the full pages, one for the end, one for expired places, and one for due endings.
	if n := b.trips.Load(); n > 8 {
		t.Errorf("%d round trips for 1000 calls", n)
	}
}

// TestSweepEndsThoughCallsCome: a sweep looks only at the calls that exist when it begins, so it ends although new calls come.
func TestSweepEndsThoughCallsCome(t *testing.T) {
	b := open(t)
	for i := range 200 {
		b.admit(fmt.Sprint("call_", i))
	}
	var mu sync.Mutex
	n := 0
	out, err := b.sweepCalls(ownersFunc(func(string, string) (upkeep.Owner, error) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n > 300 {
			return upkeep.Owner{}, errs.Transient(errors.New("this has no end"))
		}
		b.admit(fmt.Sprint("more_", n))
		return upkeep.Owner{Status: upkeep.OwnerRunning, RunID: ownRun}, nil
	}))
	if err != nil || out.Open != 200 || n != 200 {
		t.Errorf("counted %+v, %v, %d questions", out, err, n)
	}
}

// TestSweepersAtOnce: two sweepers on the same calls end each of them once.
func TestSweepersAtOnce(t *testing.T) {
	b := open(t)
	const calls = 60
	for i := range calls {
		b.admit(fmt.Sprint("call_", i))
	}
	outs := make([]contract.SweepCallsOut, 2)
	together(2, func(i int) {
		out, err := b.sweepCalls(ownersFunc(func(string, string) (upkeep.Owner, error) {
			return upkeep.Owner{Status: upkeep.OwnerTerminated, RunID: ownRun}, nil
		}))
		if err != nil {
			t.Error(err)
		}
		outs[i] = out
	})
	if outs[0].Swept()+outs[1].Swept() != calls {
		t.Errorf("counted %+v", outs)
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'swept'`); n != calls {
		t.Errorf("%d audit rows", n)
	}
}
