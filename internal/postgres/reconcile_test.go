package postgres_test

import (
	"errors"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/record"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestFences: Fence writes the claims that a restored record has lost. After that, an attempt of the old epoch is superseded, and an attempt of the new
// epoch is refused, as Claimed, until the lost claim is answered. Fence writes nothing for another namespace or epoch.
func TestFences(t *testing.T) {
	b := open(t)
	dispatched := func(call string) record.Dispatched {
		found, err := b.DispatchesOf(t.Context(), []string{id(call)})
		if err != nil {
			t.Fatal(err)
		}
		return found[id(call)]
	}
	fence := func(call, in string, epoch int) int {
		got, err := b.Fence(t.Context(), in, id(call), epoch, []record.LostClaim{{Claim: contract.Claim{Dispatch: 2, ID: "lost"}, OverAt: time.Now()}})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	b.admit("one")
	for _, other := range []struct {
		namespace string
		epoch     int
	}{{"another", 1}, {namespace, 7}} {
		if got := fence("one", other.namespace, other.epoch); got != other.epoch || len(dispatched("one").Dispatches) != 0 {
			t.Errorf("a fence of %+v gives epoch %d and %+v", other, got, dispatched("one"))
		}
	}
	b.admit("settled")
	b.settle(settleIn("settled", 1))
	before := b.rowsOf("settled")
	if got := fence("settled", namespace, 1); got != 1 || b.rowsOf("settled") != before {
		t.Errorf("a fence of a settled call gives epoch %d", got)
	}
	if got := fence("one", namespace, 1); got != 2 {
		t.Errorf("the epoch is %d", got)
	}
	// A repeated fence changes nothing.
	if got := fence("one", namespace, 2); got != 2 || len(dispatched("one").Dispatches) != 1 {
		t.Errorf("the epoch is %d, with %+v", got, dispatched("one"))
	}
	if got := b.claim(claimRow("one", 1, 3)); got != contract.Superseded {
		t.Errorf("an attempt of the epoch before: %s", got)
	}
	if got := b.claim(claimRow("one", 2, 3)); got != contract.Claimed {
		t.Errorf("an attempt after the lost one is not refused: %s", got)
	}
	answered := claimRow("one", 2, 3)
	answered.Answered = []contract.Claim{{Dispatch: 2, ID: "lost"}}
	if got := b.claim(answered); got != contract.Done {
		t.Errorf("an attempt after the lost one, which has said that nothing happened: %s", got)
	}

	// With FenceAll, nobody knows which dispatches the call had.
	b.admit("two")
	b.claim(claimRow("two", 1, 1))
	epoch, err := b.FenceAll(t.Context(), namespace, dispatched("two"), 1)
	if err != nil || epoch != 2 || !dispatched("two").Fenced {
		t.Errorf("epoch %d, %+v, %v", epoch, dispatched("two"), err)
	}
	row := claimRow("two", 2, 3)
	row.Answered = []contract.Claim{{Dispatch: 1, ID: claimRow("two", 1, 1).ClaimID}}
	if got := b.claim(row); got != contract.Claimed {
		t.Errorf("an attempt of a call that may have run: %s", got)
	}
}

// TestReadsForReconcile: what is read about some calls names no other call, and no call that is not open.
func TestReadsForReconcile(t *testing.T) {
	b := open(t)
	for _, call := range []string{"asked", "other", "settled", "not asked"} {
		b.admit(call)
		b.claim(claimRow(call, 1, 1))
	}
	b.admit("idle")
	b.settle(settleIn("settled", 1))
	if _, err := b.FenceAll(t.Context(), namespace, record.Dispatched{InvocationID: id("other"), Dispatches: []int{1}}, 1); err != nil {
		t.Fatal(err)
	}
	found, err := b.DispatchesOf(t.Context(), []string{id("asked"), id("other"), id("settled"), id("idle")})
	got := map[string]record.Dispatched{}
	for call, of := range found {
		got[call] = record.Dispatched{Dispatches: of.Dispatches, Fenced: of.Fenced}
	}
	want := map[string]record.Dispatched{id("asked"): {Dispatches: []int{1}}, id("other"): {Dispatches: []int{1, 2}, Fenced: true}, id("idle"): {Dispatches: []int{}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the dispatches are %+v, %v", got, err)
	}
	asked, settled := admitRow("asked").WorkflowID, admitRow("settled").WorkflowID
	recorded, err := b.RecordedCalls(t.Context(), []string{asked, settled, "tool:acme:run:nobody"})
	if err != nil || !maps.Equal(recorded, map[string]bool{asked: false, settled: true}) {
		t.Errorf("recorded are %v, %v", recorded, err)
	}
}

// TestRunsInTasks: the newest plan of a tool says whether its attempts run inside of workflow tasks and must not be repeated.
func TestRunsInTasks(t *testing.T) {
	b := open(t)
	for call, plan := range map[string]string{"claimed": `{"lane":"claimed"}`, "repeatable": `{"lane":"claimed","repeatable":true}`, "regular": `{"lane":"regular"}`, "none": `{}`} {
		b.admit(call)
		b.sql(`UPDATE invocations SET tool_id = $2, plan = $3::text::json WHERE invocation_id = $1`, id(call), "test__"+call, plan)
	}
	// The newest call of a tool has no plan with a lane.
	b.sql(`UPDATE invocations SET tool_id = 'test__regular', created_at = now() + interval '1 minute' WHERE invocation_id = $1`, id("none"))
	for tool, want := range map[string]bool{"test__claimed": true, "test__repeatable": false, "test__regular": false, "test__unknown": true} {
		if runs, err := b.RunsInTasks(t.Context(), tool); err != nil || runs != want {
			t.Errorf("%s: %t, %v", tool, runs, err)
		}
	}
}

// TestLostCalls checks that a lost call has an unknown outcome for every later start of the call, and that a call that the record has stays as it is.
func TestLostCalls(t *testing.T) {
	b := open(t)
	lost := func(call string) record.LostCall {
		in := admitRow(call)
		return record.LostCall{Invocation: in.Invocation, RunID: ownRun, Namespace: namespace, InputDigest: in.InputDigest, StartedAt: in.StartedAt, EndedAt: time.Now(), Attempts: 1}
	}
	if recorded, err := b.RecordLost(t.Context(), lost("one")); !recorded || err != nil {
		t.Fatal(recorded, err)
	}
	if r := b.admit("one").Result; r == nil || r.ErrorCode != toolspec.CodeOutcomeUnknown || r.Details.Cause != "restored" || r.Attempts != 1 {
		t.Errorf("a new run gets %+v", r)
	}
	if d := b.show("one"); d.Result == nil || d.Outcome != string(toolspec.CodeOutcomeUnknown) {
		t.Errorf("the record shows %+v", d)
	}
	b.admit("two")
	if recorded, err := b.RecordLost(t.Context(), lost("two")); recorded || err != nil || b.show("two").Result != nil {
		t.Errorf("a call of the record was replaced: %v, %v", recorded, err)
	}
}

// TestOrigin checks that a program notices when the rows of the database were written in another database, as after a restore.
func TestOrigin(t *testing.T) {
	b := open(t)
	if err := errors.Join(b.CheckOrigin(t.Context()), b.NoteOrigin(t.Context()), b.CheckOrigin(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`UPDATE database_origin SET database_oid = database_oid + 1`, `UPDATE database_origin SET system_identifier = '1'`} {
		b.sql(sql)
		var restored *postgres.Restored
		if err := b.CheckOrigin(t.Context()); !errors.As(err, &restored) {
			t.Errorf("after %s: %v", sql, err)
		}
		if err := errors.Join(b.NoteOrigin(t.Context()), b.CheckOrigin(t.Context())); err != nil {
			t.Error(err)
		}
	}
}
