package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func claimRow(call string, epoch, dispatch int) attempt.ClaimRow {
	return attempt.ClaimRow{
		InvocationID: id(call), TenantID: tenant, ToolID: "core__write_file", Epoch: epoch, Dispatch: dispatch, ClaimID: claimID(dispatch), Runtime: time.Minute,
	}
}

// claimID returns the id of the claim of a dispatch in tests that do not choose another id.
func claimID(dispatch int) string { return fmt.Sprintf("claim-%d", dispatch) }

func claimsOf(dispatches ...int) []contract.Claim {
	var claims []contract.Claim
	for _, d := range dispatches {
		claims = append(claims, contract.Claim{Dispatch: d, ID: claimID(d)})
	}
	return claims
}

// TestCheckReturnsClaims: Check returns all claims of the call, and how long the tools of the claims that are not over may still run.
func TestCheckReturnsClaims(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	for dispatch := 1; dispatch <= 2; dispatch++ {
		row := claimRow("call_1", 1, dispatch)
		row.Repeatable, row.Runtime = true, time.Duration(dispatch)*time.Hour
		b.claim(row)
	}
	for _, c := range []struct {
		over     []contract.Claim
		from, to time.Duration
	}{
		{nil, 2 * time.Hour, 2*time.Hour + time.Minute},
		{claimsOf(2), time.Hour, time.Hour + time.Minute},
		{[]contract.Claim{{Dispatch: 2, ID: claimID(1)}, {Dispatch: 1}}, 2 * time.Hour, 2*time.Hour + time.Minute},
		{[]contract.Claim{{Dispatch: 1, ID: claimID(2)}}, 2 * time.Hour, 2*time.Hour + time.Minute},
		{claimsOf(1, 2), 0, 0},
	} {
		out, err := b.Check(own(t), contract.CheckIn{InvocationID: id("call_1"), Epoch: 1, Dispatch: 2, Over: c.over})
		over := time.Duration(out.OverInMs) * time.Millisecond
		if err != nil || !slices.Equal(out.Claims, claimsOf(1, 2)) || over < c.from || over > c.to {
			t.Errorf("over %v: got %+v, %v", c.over, out, err)
		}
	}
	b.sql(`UPDATE claims SET over_at = now() - interval '1 hour'`)
	b.admit("call_2")
	b.claim(claimRow("call_2", 1, 1))
	if out := b.check("call_1", 1, 2); out.OverInMs != 0 {
		t.Errorf("what is over takes %d ms", out.OverInMs)
	}
}

// TestCheckOfAClaimWithoutADeadline: the attempt of a claim without a deadline, which an old release wrote, may still run for an hour.
func TestCheckOfAClaimWithoutADeadline(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.sql(`INSERT INTO claims (invocation_id, dispatch, kind, epoch) VALUES ('` + id("call_1") + `', 1, 'claim', 1)`)
	out := b.check("call_1", 1, 2)
	if over := time.Duration(out.OverInMs) * time.Millisecond; out.Outcome != contract.Free || over < 59*time.Minute || over > time.Hour {
		t.Errorf("got %+v", out)
	}
}

// TestClaimAndCheckRace: when a claim and a check of one dispatch race, the dispatch is never both claimed and free.
func TestClaimAndCheckRace(t *testing.T) {
	b := open(t)
	begun := 0
	for i := range 100 {
		call := "call_" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		b.admit(call)
		var claimed contract.Outcome
		var checked contract.CheckOut
		swap := rand.IntN(2)
		together(2, func(who int) {
			if who == swap {
				out, err := b.Claim(own(t), claimRow(call, 1, 1))
				if err != nil {
					t.Error(err)
				}
				claimed = out
				return
			}
			out, err := b.Check(own(t), contract.CheckIn{InvocationID: id(call), Epoch: 1, Dispatch: 1})
			if err != nil {
				t.Error(err)
			}
			checked = out
		})
		switch {
		case claimed == contract.Done && checked.Outcome == contract.Lost:
			begun++
		case claimed == contract.Superseded && checked.Outcome == contract.Free:
		default:
			t.Fatalf("claim %s, check %s", claimed, checked.Outcome)
		}
	}
	t.Logf("%d of 100 began", begun)
}

// TestClaimWaitsForCheck makes each of the two statements wait for an uncommitted row of the other one, which its snapshot does not show.
func TestClaimWaitsForCheck(t *testing.T) {
	for _, c := range []struct {
		why    string
		before string
		check  contract.Outcome
		claim  contract.Outcome
	}{
		{"a claim is committed meanwhile", `INSERT INTO claims (invocation_id, dispatch, kind, epoch) VALUES ($1, 1, 'claim', 1)`, contract.Lost, contract.Claimed},
		{"a tombstone is committed meanwhile", `INSERT INTO claims (invocation_id, dispatch, kind, epoch) VALUES ($1, 1, 'tombstone', 1)`, contract.Free, contract.Tombstoned},
	} {
		for _, claims := range []bool{true, false} {
			b := open(t)
			b.admit("call_1")
			tx := b.holds(`SELECT 1 FROM invocations FOR NO KEY UPDATE`)
			if _, err := tx.Exec(t.Context(), c.before, id("call_1")); err != nil {
				t.Fatal(err)
			}
			got := make(chan contract.Outcome, 1)
			go func() {
				if claims {
					out, err := b.Claim(own(t), claimRow("call_1", 1, 1))
					if err != nil {
						t.Error(err)
					}
					got <- out
					return
				}
				out, err := b.Check(own(t), contract.CheckIn{InvocationID: id("call_1"), Epoch: 1, Dispatch: 1})
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

// TestOneOfManyClaims: of many dispatches of one epoch at the same moment, one gets the claim, because the tool must not be repeated.
func TestOneOfManyClaims(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	var mu sync.Mutex
	outcomes := map[contract.Outcome]int{}
	together(10, func(i int) {
		out, err := b.Claim(own(t), claimRow("call_1", 1, i+1))
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		outcomes[out]++
	})
	if outcomes[contract.Done] != 1 || outcomes[contract.Claimed] != 9 {
		t.Error(outcomes)
	}
}

func TestClaimConsumesTheApproval(t *testing.T) {
	b := open(t)
	b.admit("call_2")
	b.request(requestRow("call_2", 1))
	b.admit("call_1")
	request := requestRow("call_1", 1)
	request.View.Preview, request.Granted.PreviewDigest = &toolspec.PreviewView{Text: "+a\n", Bytes: 3}, "preview-digest"
	b.request(request)
	// When the same request is found again, it has the preview that people have seen.
	request.View.Preview, request.Granted.PreviewDigest = &toolspec.PreviewView{Text: "+b\n"}, "another"
	if r := b.request(request); r.Preview == nil || *r.Preview != (toolspec.PreviewView{Text: "+a\n", Bytes: 3}) || r.Granted.PreviewDigest != "preview-digest" {
		t.Errorf("%+v, %+v", r.Preview, r.Granted)
	}
	approved := func(call string, epoch, dispatch int) attempt.ClaimRow {
		row := claimRow(call, epoch, dispatch)
		row.ApprovalID, row.ApprovalDigest, row.Repeatable = toolspec.ApprovalID(id("call_1"), 1), "approval-digest", true
		row.PreviewDigest = "preview-digest"
		return row
	}
	if got := b.claim(approved("call_1", 1, 1)); got != contract.Refused {
		t.Errorf("an open request: %s", got)
	}
	if r := b.review(reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))); r.State != contract.RequestApproved {
		t.Fatalf("%+v", r)
	}
	if got := b.claim(approved("call_2", 1, 1)); got != contract.Refused {
		t.Errorf("another call's approval: %s", got)
	}
	others := approved("call_1", 1, 1)
	others.ApprovalDigest = "of other arguments"
	if got := b.claim(others); got != contract.Refused {
		t.Errorf("an approval of something else: %s", got)
	}
	for _, digest := range []string{"", "another"} {
		others = approved("call_1", 1, 1)
		others.PreviewDigest = digest
		if got := b.claim(others); got != contract.Refused {
			t.Errorf("an approval of another preview: %s", got)
		}
	}
	if n := value[int](b, `SELECT count(*) FROM claims`); n != 0 {
		t.Errorf("%d claims", n)
	}
	for dispatch := 1; dispatch <= 2; dispatch++ {
		if got := b.claim(approved("call_1", 1, dispatch)); got != contract.Done {
			t.Errorf("dispatch %d: %s", dispatch, got)
		}
	}
	if by := value[int](b, `SELECT consumed_dispatch FROM approvals WHERE state = 'approved'`); by != 1 {
		t.Errorf("consumed by dispatch %d", by)
	}
	missing := approved("call_1", 1, 3)
	missing.ApprovalID = toolspec.ApprovalID(id("call_1"), 9)
	if got := b.claim(missing); got != contract.Refused {
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
