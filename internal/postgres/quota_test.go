package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func bucket(key string, tokens int64, every, maxWait time.Duration) capacity.Bucket {
	return capacity.Bucket{Key: key, Tokens: tokens, Every: every, MaxWait: maxWait}
}

// tokens takes tokens from buckets for a call.
func (b bench) tokens(call string, epoch int, buckets ...capacity.Bucket) capacity.Answer {
	b.t.Helper()
	answer, err := b.TakeTokens(own(b.t), capacity.TokensRow{InvocationID: id(call), TenantID: tenant, Epoch: epoch, Round: 1, Buckets: buckets})
	if err != nil {
		b.t.Error(err)
	}
	return answer
}

// ends settles a call that made this number of attempts.
func (b bench) ends(call string, epoch, attempts int) {
	b.t.Helper()
	in := settleIn(call, epoch)
	in.Result.Attempts, in.Attempts, in.Holds = attempts, nil, true
	if out := b.settle(in); out.Outcome != contract.Done {
		b.t.Errorf("%s: settle says %s", call, out.Outcome)
	}
}

func calls(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("call-%03d", i)
	}
	return names
}

// TestQuotaRace: a bucket of 50 tokens admits exactly 50 of 200 calls that come at the same moment. Tokens that calls have taken and not used go back, once,
// and other calls can take them.
func TestQuotaRace(t *testing.T) {
	b := open(t)
	names, day := calls(200), bucket("day", 50, 24*time.Hour, 0)
	together(200, func(i int) { b.admit(names[i]) })
	b.trips.Store(0)
	var taken []string
	ask := func() {
		taken = nil
		answers := make([]capacity.Answer, len(names))
		together(len(names), func(i int) { answers[i] = b.tokens(names[i], 1, day) })
		for i, a := range answers {
			if a.State == capacity.Taken && a.After <= 0 {
				taken = append(taken, names[i])
			} else if a.State != capacity.Refused || a.Key != "day" || a.After <= 0 || a.After > 24*time.Hour/50 {
				t.Errorf("%s: %+v", names[i], a)
			}
		}
	}
	ask()
	first := taken
	if len(first) != 50 {
		t.Fatalf("%d calls got a token, want 50", len(first))
	}
	if trips := b.trips.Load(); trips != 200 {
		t.Errorf("%d round trips for 200 calls", trips)
	}
	// A repeated statement takes no second token, also in a later epoch.
	for _, call := range first {
		b.admit(call)
		if a := b.tokens(call, 2, day); a.State != capacity.Taken {
			t.Errorf("%s has lost its token: %+v", call, a)
		}
		if a := b.tokens(call, 1, day); a.State != capacity.Superseded {
			t.Errorf("%s, an old epoch: %+v", call, a)
		}
	}
	for i, call := range first {
		switch {
		case i < 10: // nothing was dispatched
			b.ends(call, 2, 0)
		case i < 20: // an attempt was made
			b.ends(call, 2, 1)
		case i < 25: // an earlier run has claimed a dispatch, and this run knows of no attempt
			claim := claimRow(call, 2, 1)
			claim.Repeatable = true
			b.claim(claim)
			b.ends(call, 2, 0)
		default:
		}
		if i < 25 { // a repeated settle gives no token back
			again := settleIn(call, 2)
			again.Holds = true
			b.settle(again)
		}
	}
	names = slices.DeleteFunc(names, func(call string) bool { return slices.Contains(first, call) })
	if ask(); len(taken) != 10 {
		t.Errorf("%d calls got a token that was given back, want 10", len(taken))
	}
	if n := value[int](b, `SELECT count(*) FROM debits`); n != 50-25+10 {
		t.Errorf("%d debits are left, want those of open calls", n)
	}
}

// TestQuotaOfSweptCalls: a terminated call gives its token back if it was not dispatched.
func TestQuotaOfSweptCalls(t *testing.T) {
	b := open(t)
	two := bucket("k", 2, 24*time.Hour, 0)
	for _, call := range []string{"before", "after"} {
		row := admitRow(call)
		row.Namespace = "ns"
		b.admitted(row)
		b.tokens(call, 1, two)
	}
	b.claim(claimRow("after", 1, 1))
	for _, call := range []string{"before", "after"} {
		for range 2 {
			if _, err := b.Sweep(t.Context(), upkeep.SweepRow{
				InvocationID: id(call), Namespace: "ns", RunID: ownRun, Epoch: 1, Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled,
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := 0
	for _, call := range calls(3) {
		b.admit(call)
		if b.tokens(call, 1, two).State == capacity.Taken {
			got++
		}
	}
	if got != 1 {
		t.Errorf("%d calls got a token, want the one that was given back", got)
	}
}

// TestQuotaOfSeveralBuckets: if one of the buckets of a call is empty, no token of its other buckets is taken. Calls that name the buckets in different orders
// do not deadlock.
func TestQuotaOfSeveralBuckets(t *testing.T) {
	b := open(t)
	names := calls(60)
	a, z := bucket("a", 1000, 240*time.Hour, 0), bucket("z", 20, 24*time.Hour, 0)
	together(len(names), func(i int) { b.admit(names[i]) })
	var taken, refused atomic.Int64
	together(len(names), func(i int) {
		buckets := []capacity.Bucket{a, z}
		if i%2 == 0 {
			slices.Reverse(buckets)
		}
		switch answer := b.tokens(names[i], 1, buckets...); answer.State {
		case capacity.Taken:
			taken.Add(1)
		case capacity.Refused:
			refused.Add(1)
		default:
			t.Errorf("%+v", answer)
		}
	})
	if taken.Load() != 20 || refused.Load() != 40 {
		t.Errorf("%d calls got tokens and %d did not, want 20 and 40", taken.Load(), refused.Load())
	}
	if n := value[int](b, `SELECT count(*) FROM debits WHERE key = 'a'`); n != 20 {
		t.Errorf("%d tokens of the other bucket were taken, want 20", n)
	}
	left := value[float64](b, `SELECT 1000 - extract(epoch FROM full_at - now()) / extract(epoch FROM interval '240 hours') * 1000 FROM quotas WHERE key = 'a'`)
	// The bucket gains one token in about a quarter of an hour.
	if left < 979.9 || left > 980.9 {
		t.Errorf("the other bucket holds %f tokens, want 980", left)
	}
}

// TestQuotaWaits: calls get future tokens in the order in which they ask. A call does not take a token for which it would wait too long.
func TestQuotaWaits(t *testing.T) {
	b := open(t)
	names := calls(6)
	for _, call := range names {
		b.admit(call)
	}
	patient := bucket("k", 2, 2*time.Hour, 150*time.Minute)
	near := func(got, want time.Duration) bool { return got > want-10*time.Minute && got <= want+time.Second }
	for i, want := range []time.Duration{0, 0, time.Hour, 2 * time.Hour} {
		if a := b.tokens(names[i], 1, patient); a.State != capacity.Taken || want == 0 && a.After > 0 || want > 0 && !near(a.After, want) {
			t.Errorf("%d: %+v, want the token in %s", i, a, want)
		}
	}
	if a := b.tokens(names[4], 1, patient); a.State != capacity.Refused || !near(a.After, 3*time.Hour) {
		t.Errorf("%+v, want to be refused for three hours", a)
	}
	// A waiting call ends. The next call gets its token, at the end of the queue.
	b.ends(names[2], 1, 0)
	if a := b.tokens(names[4], 1, patient); a.State != capacity.Taken || !near(a.After, 2*time.Hour) {
		t.Errorf("%+v, want the token that was given back", a)
	}
	// A waiting call gets its token when the time of the token comes.
	b.sql(`UPDATE debits SET ready_at = now() - interval '1 second' WHERE invocation_id = $1`, id(names[3]))
	if a := b.tokens(names[3], 1, patient); a.State != capacity.Taken || a.After > 0 {
		t.Errorf("%+v, want the token", a)
	}
}

// TestTokensOfACall: a call pays for each bucket once. A token that it has is not refused, however long the call waits for it.
func TestTokensOfACall(t *testing.T) {
	b := open(t)
	for _, call := range []string{"one", "two", "settled"} {
		b.admit(call)
	}
	first, second := bucket("first", 1, time.Hour, 2*time.Hour), bucket("second", 1, time.Hour, 0)
	b.tokens("one", 1, first)
	if a := b.tokens("two", 1, first); a.State != capacity.Taken || a.After < 50*time.Minute {
		t.Errorf("%+v", a)
	}
	first.MaxWait = 0
	if a := b.tokens("two", 1, first); a.State != capacity.Taken || a.After < 50*time.Minute {
		t.Errorf("asked again for less time: %+v", a)
	}
	b.tokens("one", 1, first, second)
	b.tokens("one", 1, first, second)
	if paid := value[string](b, `SELECT string_agg(key, ' ' ORDER BY key) FROM debits WHERE invocation_id = $1::uuid`, id("one")); paid != "first second" {
		t.Errorf("it has paid for %q", paid)
	}
	b.settle(settleIn("settled", 1))
	before := b.everything()
	patient := bucket("first", 1, time.Hour, 9*time.Hour)
	for name, row := range map[string]capacity.TokensRow{
		"a settled call": {InvocationID: id("settled"), TenantID: tenant, Epoch: 1}, "an older epoch": {InvocationID: id("two"), TenantID: tenant},
		"another tenant": {InvocationID: id("two"), TenantID: "globex", Epoch: 1},
	} {
		for _, k := range []capacity.Bucket{patient, bucket("third", 1, time.Hour, 0)} {
			row.Round, row.Buckets = 1, []capacity.Bucket{k}
			if a, err := b.TakeTokens(own(t), row); err != nil || a.State != capacity.Superseded || b.everything() != before {
				t.Errorf("%s, %s: %+v, %v", name, k.Key, a, err)
			}
		}
	}
}

// TestQuotasAreApart: two tenants with the same key have two buckets. A bucket that is full has no row.
func TestQuotasAreApart(t *testing.T) {
	b := open(t)
	b.admit("one")
	row := admitRow("one")
	row.Invocation.Context.TenantID = "other"
	identity := row.Invocation.Identity()
	row.InvocationID, row.WorkflowID = identity.InvocationID(), identity.WorkflowID()
	b.admitted(row)
	k := bucket("k", 1, time.Hour, 0)
	if a := b.tokens("one", 1, k); a.State != capacity.Taken {
		t.Errorf("%+v", a)
	}
	bucketOf := func() string {
		return value[string](b, `SELECT full_at::text FROM quotas WHERE tenant_id = $1`, tenant)
	}
	b.sql(`UPDATE quotas SET full_at = full_at + interval '1 hour'`)
	before := bucketOf()
	a, err := b.TakeTokens(own(t), capacity.TokensRow{InvocationID: row.InvocationID, TenantID: "other", Epoch: 1, Round: 1, Buckets: []capacity.Bucket{k}})
	if err != nil || a.State != capacity.Taken {
		t.Errorf("%+v, %v: the tenants share a bucket", a, err)
	}
	if after := bucketOf(); after != before {
		t.Errorf("the bucket of another tenant is full at %s, and was at %s", after, before)
	}
	// A call of one tenant cannot take tokens of another tenant.
	a, err = b.TakeTokens(own(t), capacity.TokensRow{InvocationID: row.InvocationID, TenantID: tenant, Epoch: 1, Round: 1, Buckets: []capacity.Bucket{k}})
	if err != nil || a.State != capacity.Superseded {
		t.Errorf("%+v, %v", a, err)
	}
	b.sql(`UPDATE quotas SET full_at = now() - interval '2 hours' WHERE tenant_id = 'other'`)
	if n, err := b.DeleteIdleCapacity(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d rows deleted, %v; want the full one", n, err)
	}
	if left := value[string](b, `SELECT string_agg(tenant_id, ' ') FROM quotas`); strings.TrimSpace(left) != tenant {
		t.Errorf("left are %q", left)
	}
}
