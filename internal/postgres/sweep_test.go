package postgres_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

const namespace = "tools"

func (b bench) sweep(call string, epoch int, cause upkeep.OwnerStatus, code toolspec.Code) toolspec.Code {
	b.t.Helper()
	got, err := b.Sweep(b.t.Context(), upkeep.SweepRow{
		InvocationID: id(call), Namespace: namespace, RunID: ownRun, Epoch: epoch, Cause: cause, Code: code,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

func (b bench) show(call string) (d struct {
	Result   *toolspec.Result
	Epoch    int
	Attempts int
	Outcome  string
	Events   int
},
) {
	b.t.Helper()
	found := b.detail(call)
	d.Result, d.Epoch, d.Attempts, d.Outcome, d.Events = found.Result, found.Epoch, found.Attempts, found.Outcome, len(found.Events)
	return d
}

// TestSweep: the claims of a swept call decide whether it ends with an unknown outcome or with the code of the sweep.
func TestSweep(t *testing.T) {
	b := open(t)
	repeatable := func(call string, dispatch int) {
		row := claimRow(call, 1, dispatch)
		row.Repeatable = true
		b.claim(row)
	}
	for _, c := range []struct {
		call   string
		claims func(call string)
		code   toolspec.Code
		want   toolspec.Code
		tries  int
	}{
		{"nothing", func(string) {}, toolspec.CodeCancelled, toolspec.CodeCancelled, 0},
		{"timeout", func(string) {}, toolspec.CodeTimeout, toolspec.CodeTimeout, 0},
		{"failed", func(string) {}, toolspec.CodeInternal, toolspec.CodeInternal, 0},
		{"idempotent", func(call string) { repeatable(call, 1); repeatable(call, 2) }, toolspec.CodeCancelled, toolspec.CodeCancelled, 2},
		{"effect", func(call string) { b.claim(claimRow(call, 1, 1)) }, toolspec.CodeCancelled, toolspec.CodeOutcomeUnknown, 1},
		{"effect_late", func(call string) { b.claim(claimRow(call, 1, 1)) }, toolspec.CodeTimeout, toolspec.CodeOutcomeUnknown, 1},
		{"buried", func(call string) { b.check(call, 1, 1) }, toolspec.CodeCancelled, toolspec.CodeCancelled, 0},
	} {
		t.Run(c.call, func(t *testing.T) {
			b.admit(c.call)
			c.claims(c.call)
			epoch := value[int](b, `SELECT epoch FROM invocations WHERE tool_call_id = $1`, c.call)
			before := time.Now()
			if got := b.sweep(c.call, epoch, upkeep.OwnerTerminated, c.code); got != c.want {
				t.Fatalf("swept as %q, want %q", got, c.want)
			}
			if err := oracle.CheckEvents(b.detail(c.call)); err != nil {
				t.Error(err)
			}
			d := b.show(c.call)
			info := toolspec.InfoOf(c.want)
			want := toolspec.Result{
				ToolCallID: c.call, InvocationID: id(c.call), InputDigest: "digest-1", ErrorCode: c.want, SafeMessage: info.Message, HTTPStatus: info.HTTP,
				Attempts: c.tries, StartedAtMs: 1_700_000_000_123, EndedAtMs: d.Result.EndedAtMs,
			}
			if c.want == toolspec.CodeOutcomeUnknown {
				want.Details = &toolspec.Details{Cause: "terminated"}
			}
			if !reflect.DeepEqual(*d.Result, want) {
				t.Errorf("result %+v, want %+v", *d.Result, want)
			}
			if d.Epoch != epoch+1 || d.Attempts != c.tries || d.Outcome != string(c.want) || d.Events != 3 {
				t.Errorf("record %+v", d)
			}
			if at := time.UnixMilli(d.Result.EndedAtMs); at.Before(before.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
				t.Errorf("it ended at %s", at)
			}
			// The stored result must not have a field that toolspec.Result does not have.
			decoder := json.NewDecoder(bytes.NewReader(value[json.RawMessage](b, `SELECT result FROM invocations WHERE tool_call_id = $1`, c.call)))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(new(toolspec.Result)); err != nil {
				t.Error(err)
			}
			if detail := value[string](b, `SELECT kind || ' ' || (detail->>'workflowStatus') || ' ' || (detail->>'errorCode') || ' ' || tenant_id || ' ' || workflow_id
				FROM events WHERE invocation_id = $1::uuid AND kind = 'swept'`, id(c.call)); detail != "swept terminated "+string(c.want)+" acme tool:acme:run_1:"+c.call {
				t.Errorf("the audit row is %s", detail)
			}
			// The call has ended: a repeated sweep and a late claim of the old run change nothing, and a new run gets the result.
			if got := b.sweep(c.call, epoch+1, upkeep.OwnerTimedOut, toolspec.CodeTimeout); got != "" {
				t.Errorf("swept twice: %q", got)
			}
			if got := b.claim(claimRow(c.call, epoch, 9)); got != contract.Superseded {
				t.Errorf("a zombie's claim: %s", got)
			}
			if out := b.settle(settleIn(c.call, epoch)); out.Outcome != contract.AlreadySettled || !reflect.DeepEqual(*out.Result, want) {
				t.Errorf("a zombie's settle: %+v", out)
			}
			row := admitRow(c.call)
			row.RunID = "temporal-run-2"
			if r := b.admitted(row); r.Result == nil || !reflect.DeepEqual(*r.Result, want) {
				t.Errorf("a new run was told %+v", r)
			}
			if again := b.show(c.call); !reflect.DeepEqual(again, d) {
				t.Errorf("the record became %+v, was %+v", again, d)
			}
		})
	}
}

// TestSweepGuards: a sweep changes no call of another namespace, no call that a newer run has, and no settled call.
func TestSweepGuards(t *testing.T) {
	b := open(t)
	b.admit("newer")
	b.admit("newer")
	nameless := admitRow("nameless")
	nameless.Namespace = ""
	b.admitted(nameless)
	other := admitRow("other")
	other.Namespace = "others"
	b.admitted(other)
	b.admit("settled")
	b.settle(settleIn("settled", 1))
	lines := func() string {
		return value[string](b, `SELECT string_agg(i::text, E'\n' ORDER BY i.invocation_id) FROM invocations i`)
	}
	before := lines()
	for _, call := range []string{"newer", "nameless", "other", "settled", "unheard_of"} {
		if got := b.sweep(call, 1, upkeep.OwnerDeleted, toolspec.CodeCancelled); got != "" {
			t.Errorf("%s was swept as %s", call, got)
		}
	}
	if got, err := b.Sweep(t.Context(), upkeep.SweepRow{InvocationID: id("nameless"), RunID: ownRun, Epoch: 1, Cause: "deleted", Code: toolspec.CodeCancelled}); err != nil || got != "" {
		t.Errorf("a call without a namespace was swept as %q, %v", got, err)
	}
	if after := lines(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'swept'`); n != 0 {
		t.Errorf("%d audit rows", n)
	}
}

// TestSweepClosesTheRequest: nobody can decide on a request after its call was swept.
func TestSweepClosesTheRequest(t *testing.T) {
	b := open(t)
	calls := []string{"call_1", "call_2", "call_3"}
	for _, call := range calls {
		b.admit(call)
		b.request(requestRow(call, 1))
	}
	b.sql(`UPDATE approvals SET expires_at = now() - interval '1 second' WHERE invocation_id = $1::uuid`, id("call_2"))
	b.review(reviewRow("call_3", 1, 1, decision("call_3", 1, toolspec.Approve)))
	for _, call := range calls {
		b.sweep(call, 1, upkeep.OwnerTerminated, toolspec.CodeCancelled)
	}
	if states := value[string](b, `SELECT string_agg(state, ' ' ORDER BY state) FROM approvals`); states != "approved closed expired" {
		t.Errorf("the requests are %s", states)
	}
	if r := b.review(reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))); !r.Superseded {
		t.Errorf("a decision that comes too late: %+v", r)
	}
}

// TestStartOfASweptCall: a swept call began with its first claim, or with the sweep if it has none.
func TestStartOfASweptCall(t *testing.T) {
	b := open(t)
	b.admit("claimed")
	b.admit("buried")
	b.claim(claimRow("claimed", 1, 1))
	b.check("buried", 1, 1)
	b.sql(`UPDATE claims SET at = at - interval '1 hour'`)
	b.sweep("claimed", 1, upkeep.OwnerTerminated, toolspec.CodeCancelled)
	b.sweep("buried", 2, upkeep.OwnerTerminated, toolspec.CodeCancelled)
	for call, want := range map[string]time.Duration{"claimed": time.Hour, "buried": 0} {
		ago := time.Duration(value[float64](b, `SELECT extract(epoch FROM now() - at)::float8 FROM events WHERE kind = 'tool_call_start' AND invocation_id = $1::uuid`, id(call))) * time.Second
		if ago < want || ago > want+time.Minute {
			t.Errorf("%s began %s ago, want %s", call, ago, want)
		}
	}
}

// TestSweepAndClaimRace: when a claim and a sweep race, a call whose claim succeeds never gets a result that says it did not begin.
func TestSweepAndClaimRace(t *testing.T) {
	b := open(t)
	began := 0
	for i := range 100 {
		call := "call_" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		b.admit(call)
		var claimed contract.Outcome
		var code toolspec.Code
		together(2, func(who int) {
			if who == i%2 {
				out, err := b.Claim(own(t), claimRow(call, 1, 1))
				if err != nil {
					t.Error(err)
				}
				claimed = out
				return
			}
			got, err := b.Sweep(t.Context(), upkeep.SweepRow{
				InvocationID: id(call), Namespace: namespace, RunID: ownRun, Epoch: 1, Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled,
			})
			if err != nil {
				t.Error(err)
			}
			code = got
		})
		switch {
		case claimed == contract.Done && code == toolspec.CodeOutcomeUnknown:
			began++
		case claimed == contract.Superseded && code == toolspec.CodeCancelled:
		default:
			t.Fatalf("the claim was %s and the call ended %s", claimed, code)
		}
	}
	t.Logf("%d of 100 began", began)
}

// TestSweepSeesAClaimThatIsCommittedMeanwhile makes the sweep wait for the row of the call with a snapshot that does not show the claim.
func TestSweepSeesAClaimThatIsCommittedMeanwhile(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	tx := b.holds(`SELECT 1 FROM invocations FOR NO KEY UPDATE`)
	if _, err := tx.Exec(t.Context(), `INSERT INTO claims (invocation_id, dispatch, kind, epoch) SELECT invocation_id, 1, 'claim', 1 FROM invocations`); err != nil {
		t.Fatal(err)
	}
	got := make(chan toolspec.Code, 1)
	go func() {
		code, err := b.Sweep(t.Context(), upkeep.SweepRow{
			InvocationID: id("call_1"), Namespace: namespace, RunID: ownRun, Epoch: 1, Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled,
		})
		if err != nil {
			t.Error(err)
		}
		got <- code
	}()
	b.waitForLock()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := <-got; code != toolspec.CodeOutcomeUnknown {
		t.Errorf("the call ended %s", code)
	}
}

// TestSweepsAtOnce: when many sweeps of one call run at the same moment, the call ends once.
func TestSweepsAtOnce(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	var mu sync.Mutex
	codes := map[toolspec.Code]int{}
	together(10, func(i int) {
		code := toolspec.CodeCancelled
		if i%2 == 1 {
			code = toolspec.CodeTimeout
		}
		got, err := b.Sweep(t.Context(), upkeep.SweepRow{InvocationID: id("call_1"), Namespace: namespace, RunID: ownRun, Epoch: 1, Cause: "terminated", Code: code})
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		codes[got]++
	})
	if codes[""] != 9 {
		t.Errorf("swept as %v", codes)
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'swept'`); n != 1 {
		t.Errorf("%d audit rows", n)
	}
}

func TestSweepIsOneRoundTrip(t *testing.T) {
	b := open(t)
	for _, call := range []string{"call_1", "call_2"} {
		b.admit(call)
	}
	b.sweep("call_1", 1, upkeep.OwnerTerminated, toolspec.CodeCancelled)
	b.trips.Store(0)
	b.sweep("call_2", 1, upkeep.OwnerTerminated, toolspec.CodeCancelled)
	if n := b.trips.Load(); n != 1 {
		t.Errorf("%d round trips", n)
	}
}
