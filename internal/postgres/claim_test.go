package postgres_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows"
)

func claimRow(call string, epoch, dispatch int) activities.ClaimRow {
	return activities.ClaimRow{InvocationID: id(call), Epoch: epoch, Dispatch: dispatch}
}

func TestClaims(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	repeatable := func(row activities.ClaimRow) activities.ClaimRow { row.Repeatable = true; return row }
	answered := func(row activities.ClaimRow, dispatches ...int) activities.ClaimRow {
		row.Answered = dispatches
		return row
	}
	for _, c := range []struct {
		why  string
		row  activities.ClaimRow
		want workflows.Outcome
	}{
		{"the first", claimRow("call_1", 1, 1), workflows.Done},
		{"the same again", claimRow("call_1", 1, 1), workflows.Claimed},
		{"the same of a tool that may be repeated", repeatable(claimRow("call_1", 1, 1)), workflows.Claimed},
		{"an older epoch", claimRow("call_1", 0, 2), workflows.Superseded},
		{"an epoch that is not there yet", claimRow("call_1", 2, 2), workflows.Superseded},
		{"no such call", claimRow("call_2", 1, 1), workflows.Superseded},
		{"another while the first is unanswered", claimRow("call_1", 1, 2), workflows.Claimed},
		{"the answer of another does not help", answered(claimRow("call_1", 1, 2), 7), workflows.Claimed},
		{"the first was answered", answered(claimRow("call_1", 1, 2), 1), workflows.Done},
		{"only the first was answered", answered(claimRow("call_1", 1, 3), 1), workflows.Claimed},
		{"both were answered", answered(claimRow("call_1", 1, 3), 1, 2), workflows.Done},
		{"the tool may be repeated now, and might not then", repeatable(claimRow("call_1", 1, 4)), workflows.Claimed},
		{"the tool may be repeated now, and all before it were answered", repeatable(answered(claimRow("call_1", 1, 4), 1, 2, 3)), workflows.Done},
		{"the tool may be repeated, now and then", repeatable(answered(claimRow("call_1", 1, 5), 1, 2, 3)), workflows.Done},
		{"the tool might be repeated, and may not now", answered(claimRow("call_1", 1, 6), 1, 2, 3), workflows.Claimed},
	} {
		if got := b.claim(c.row); got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
	if n := value[int](b, `SELECT count(*) FROM claims`); n != 5 {
		t.Errorf("%d claims", n)
	}
}

func TestTombstone(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	if got := b.check("call_1", 1, 1); got.Outcome != workflows.Free || got.Epoch != 2 {
		t.Fatalf("%+v", got)
	}
	if got := b.claim(claimRow("call_1", 1, 1)); got != workflows.Superseded {
		t.Errorf("a claim of the buried dispatch: %s", got)
	}
	if got := b.claim(claimRow("call_1", 2, 1)); got != workflows.Tombstoned {
		t.Errorf("a claim of the buried dispatch in the new epoch: %s", got)
	}
	if got := b.check("call_1", 2, 1); got.Outcome != workflows.Free || got.Epoch != 2 {
		t.Errorf("a second look: %+v", got)
	}
	if got := b.check("call_1", 1, 1); got.Outcome != workflows.Superseded {
		t.Errorf("a look of the old epoch: %+v", got)
	}
	if got := b.claim(claimRow("call_1", 2, 2)); got != workflows.Done {
		t.Errorf("a tombstone stands in the way of the next dispatch: %s", got)
	}
}

func TestCheckFindsTheClaim(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.claim(claimRow("call_1", 1, 1))
	if got := b.check("call_1", 1, 1); got.Outcome != workflows.Lost {
		t.Errorf("%+v", got)
	}
	if epoch := value[int](b, `SELECT epoch FROM invocations`); epoch != 1 {
		t.Errorf("epoch %d", epoch)
	}
}

func TestSettledCallsAreNeitherClaimedNorChecked(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.settle(settleIn("call_1", 1))
	if got := b.claim(claimRow("call_1", 1, 1)); got != workflows.Superseded {
		t.Error(got)
	}
	if got := b.check("call_1", 1, 1); got.Outcome != workflows.Superseded {
		t.Error(got)
	}
	if n := value[int](b, `SELECT count(*) FROM claims`); n != 0 {
		t.Errorf("%d claims", n)
	}
}

// TestClaimAndCheckRace: a dispatch is never both begun and free, whoever comes first.
func TestClaimAndCheckRace(t *testing.T) {
	b := open(t)
	begun := 0
	for i := range 100 {
		call := "call_" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		b.admit(call)
		var claimed workflows.Outcome
		var checked workflows.CheckOut
		swap := rand.IntN(2)
		together(2, func(who int) {
			if who == swap {
				out, err := b.Claim(t.Context(), claimRow(call, 1, 1))
				if err != nil {
					t.Error(err)
				}
				claimed = out
				return
			}
			out, err := b.Check(t.Context(), workflows.CheckIn{InvocationID: id(call), Epoch: 1, Dispatch: 1})
			if err != nil {
				t.Error(err)
			}
			checked = out
		})
		switch {
		case claimed == workflows.Done && checked.Outcome == workflows.Lost:
			begun++
		case claimed == workflows.Superseded && checked.Outcome == workflows.Free:
		default:
			t.Fatalf("claim %s, check %s", claimed, checked.Outcome)
		}
	}
	t.Logf("%d of 100 began", begun)
}

// TestClaimWaitsForCheck orders the race by hand, so that each waits for the other's row with a snapshot that shows nothing of it.
func TestClaimWaitsForCheck(t *testing.T) {
	for _, c := range []struct {
		why    string
		before string
		check  workflows.Outcome
		claim  workflows.Outcome
	}{
		{"a claim is committed meanwhile", `INSERT INTO claims (invocation_id, dispatch, kind, epoch) VALUES ($1, 1, 'claim', 1)`, workflows.Lost, workflows.Claimed},
		{"a tombstone is committed meanwhile", `INSERT INTO claims (invocation_id, dispatch, kind, epoch) VALUES ($1, 1, 'tombstone', 1)`, workflows.Free, workflows.Tombstoned},
	} {
		for _, claims := range []bool{true, false} {
			b := open(t)
			b.admit("call_1")
			tx := b.holds(`SELECT 1 FROM invocations FOR NO KEY UPDATE`)
			if _, err := tx.Exec(t.Context(), c.before, id("call_1")); err != nil {
				t.Fatal(err)
			}
			got := make(chan workflows.Outcome, 1)
			go func() {
				if claims {
					out, err := b.Claim(t.Context(), claimRow("call_1", 1, 1))
					if err != nil {
						t.Error(err)
					}
					got <- out
					return
				}
				out, err := b.Check(t.Context(), workflows.CheckIn{InvocationID: id("call_1"), Epoch: 1, Dispatch: 1})
				if err != nil {
					t.Error(err)
				}
				got <- out.Outcome
			}()
			b.waitForLock()
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := c.check
			if claims {
				want = c.claim
			}
			if out := <-got; out != want {
				t.Errorf("%s: %s, want %s", c.why, out, want)
			}
		}
	}
}

// TestOneOfManyClaims: two dispatches of one epoch at once, of a tool that must not be repeated.
func TestOneOfManyClaims(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	var mu sync.Mutex
	outcomes := map[workflows.Outcome]int{}
	together(10, func(i int) {
		out, err := b.Claim(t.Context(), claimRow("call_1", 1, i+1))
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		outcomes[out]++
	})
	if outcomes[workflows.Done] != 1 || outcomes[workflows.Claimed] != 9 {
		t.Error(outcomes)
	}
}

func TestClaimConsumesTheApproval(t *testing.T) {
	b := open(t)
	for _, call := range []string{"call_1", "call_2"} {
		b.admit(call)
		b.request(requestRow(call, 1))
	}
	approved := func(call string, epoch, dispatch int) activities.ClaimRow {
		row := claimRow(call, epoch, dispatch)
		row.ApprovalID, row.Repeatable = toolspec.ApprovalID(id("call_1"), 1), true
		return row
	}
	if got := b.claim(approved("call_1", 1, 1)); got != workflows.Refused {
		t.Errorf("an open request: %s", got)
	}
	if r := b.review(reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))); r.State != workflows.RequestApproved {
		t.Fatalf("%+v", r)
	}
	if got := b.claim(approved("call_2", 1, 1)); got != workflows.Refused {
		t.Errorf("another call's approval: %s", got)
	}
	if n := value[int](b, `SELECT count(*) FROM claims`); n != 0 {
		t.Errorf("%d claims", n)
	}
	for dispatch := 1; dispatch <= 2; dispatch++ {
		if got := b.claim(approved("call_1", 1, dispatch)); got != workflows.Done {
			t.Errorf("dispatch %d: %s", dispatch, got)
		}
	}
	if by := value[int](b, `SELECT consumed_dispatch FROM approvals WHERE state = 'approved'`); by != 1 {
		t.Errorf("consumed by dispatch %d", by)
	}
	missing := approved("call_1", 1, 3)
	missing.ApprovalID = toolspec.ApprovalID(id("call_1"), 9)
	if got := b.claim(missing); got != workflows.Refused {
		t.Errorf("no such approval: %s", got)
	}
}

func TestClaimAndCheckAreOneRoundTrip(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.claim(claimRow("call_1", 1, 1))
	b.check("call_1", 1, 1)
	b.trips.Store(0)
	b.claim(claimRow("call_1", 1, 2))
	b.check("call_1", 1, 2)
	if n := b.trips.Load(); n != 2 {
		t.Errorf("%d round trips for two", n)
	}
}
