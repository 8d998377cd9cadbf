package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestApprovalRacingTimeoutAndCancel: five things happen to a call within a few milliseconds (fault 44): two decisions, the expiry of the request, the claim
// that needs the approval, and the end of the cancelled call. At most one decision counts, and the request says which. A claim exists only under an approval,
// and none is written after the end of the call.
func TestApprovalRacingTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	b := open(t)
	races := 1000
	if testing.Short() {
		races = 50
	}
	var mu sync.Mutex
	seen := map[string]int{}
	var next atomic.Int64
	together(5, func(int) {
		for n := int(next.Add(1)) - 1; n < races; n = int(next.Add(1)) - 1 {
			how := b.race(n)
			mu.Lock()
			seen[how]++
			mu.Unlock()
		}
	})
	for _, want := range []string{"approved and claimed", "approved", "denied", "expired", "closed"} {
		if seen[want] < races/100 {
			t.Errorf("%d requests ended %s: %v", seen[want], want, seen)
		}
	}
	t.Log(seen)
}

// race runs these five things once, with delays that depend on n, and returns how the request ended.
func (b bench) race(n int) string {
	random := rand.New(rand.NewPCG(uint64(n), 44))
	call := fmt.Sprintf("race_%d", n)
	b.admit(call)
	row := requestRow(call, 1)
	row.ExpireAfter = time.Duration(1+random.IntN(12)) * time.Millisecond
	if random.IntN(2) == 0 {
		row.ExpireAfter = time.Hour
	}
	b.request(row)
	late := make([]time.Duration, 5)
	for i := range late {
		late[i] = time.Duration(random.IntN(9000)) * time.Microsecond
	}
	verbs := []toolspec.Verb{toolspec.Approve, toolspec.Approve}
	if random.IntN(2) == 0 {
		verbs[1] = toolspec.Deny
	}
	cancels := random.IntN(2) == 0
	answered := make([]bool, len(verbs))
	claimed := false
	together(5, func(i int) {
		<-time.After(late[i]) // the delays decide which statement comes first
		switch i {
		case 0, 1:
			d := decision(call, 1, verbs[i])
			d.Approver = fmt.Sprint("user:", i)
			got, err := b.Review(own(b.t), reviewRow(call, 1, 1, d))
			if err != nil {
				b.t.Error(err)
			}
			answered[i] = got.Answer.Counted
		case 2:
			if _, err := b.Review(own(b.t), reviewRow(call, 1, 1, nil)); err != nil {
				b.t.Error(err)
			}
		case 3:
			claim := claimRow(call, 1, 1)
			claim.ApprovalID, claim.ApprovalDigest = toolspec.ApprovalID(id(call), 1), "approval-digest"
			// The claim is tried three times, as a call does that asks again, because the approval may come later.
			for range 3 {
				out, err := b.Claim(own(b.t), claim)
				if err != nil {
					b.t.Error(err)
				}
				if claimed = out == contract.Done; claimed || out == contract.Superseded {
					break
				}
			}
		case 4:
			if cancels {
				in := settleIn(call, 1)
				in.Result.OK, in.Result.Value, in.Result.ErrorCode = false, nil, toolspec.CodeCancelled
				if _, err := b.Settle(own(b.t), in); err != nil {
					b.t.Error(err)
				}
			}
		}
	})
	state := value[string](b, `SELECT state FROM approvals WHERE invocation_id = $1`, id(call))
	counted := value[[]string](b, `SELECT coalesce(array_agg(decision), '{}') FROM decisions WHERE approval_id = $1 AND counted`, toolspec.ApprovalID(id(call), 1))
	claims := value[int](b, `SELECT count(*) FROM claims WHERE invocation_id = $1`, id(call))
	if late := claimRow(call, 1, 2); cancels && b.claim(late) != contract.Superseded {
		b.t.Errorf("%d: a claim after the end of the call", n)
	}
	answers := 0
	for _, yes := range answered {
		if yes {
			answers++
		}
	}
	switch decided := state == "approved" || state == "denied"; {
	case len(counted) > 1 || len(counted) != answers || decided != (len(counted) == 1):
		b.t.Errorf("%d: %v count, %d heard that theirs does, and the request is %s", n, counted, answers, state)
	case decided && (counted[0] == "approve") != (state == "approved"):
		b.t.Errorf("%d: %v counts, and the request is %s", n, counted, state)
	case (claims == 1) != claimed || claims > 0 && state != "approved":
		b.t.Errorf("%d: %d claims (told %v), and the request is %s", n, claims, claimed, state)
	}
	if claimed {
		return state + " and claimed"
	}
	return state
}
