package postgres_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

func TestSettleWritesEverything(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	in := settleIn("call_1", 1)
	if out := b.settle(in); out.Outcome != contract.Done || out.Result != nil {
		t.Fatalf("%+v", out)
	}
	d, err := b.Show(t.Context(), tenant, "call_1")
	if err != nil {
		t.Fatal(err)
	}
	if d.Result == nil || !reflect.DeepEqual(*d.Result, in.Result) || string(d.SafeArgs) != string(in.SafeArgs) ||
		d.Outcome != "ok" || d.Status != toolspec.StatusSettled || d.Attempts != 1 || d.PolicyDigest != in.PolicyDigest || d.SettledAt == nil {
		t.Errorf("%+v", d)
	}
	// A history of outputs with one value is empty, because that value is the one of the result.
	if got := fmt.Sprintf("%s %s", d.InputHistory, d.OutputHistory); got != `[{"path":"***"} null {"path":"a.txt"}] []` {
		t.Errorf("histories %s", got)
	}
	if len(d.Stages) != 2 || d.Stages[0].Stage != "pawl.admit" || d.Stages[1].ByHook != "audit" || d.Stages[1].At.UnixMilli() != in.Stages[1].AtMs ||
		string(d.Stages[1].Notes) != `[{"hook":"h","reason":"r"}]` || d.Stages[0].Notes != nil {
		t.Errorf("stages %+v", d.Stages)
	}
	if len(d.AttemptList) != 1 || d.AttemptList[0].Lane != hook.RegularLane || d.AttemptList[0].DurationUs != 99 {
		t.Errorf("attempts %+v", d.AttemptList)
	}
	if len(d.Events) != 4 || d.Events[1].AuditID != toolspec.AuditID(id("call_1"), 1) || string(d.Events[1].Detail) != `{"n":1}` ||
		d.Events[2].AuditID != toolspec.AuditID(id("call_1"), 2) || d.Events[2].Detail != nil {
		t.Errorf("events %+v", d.Events)
	}
}

// TestSettledOnce: a settled call has one start event and one result event (C-12), which agree with its record.
func TestSettledOnce(t *testing.T) {
	b := open(t)
	valid := []contract.StageEvent{{Stage: "pawl.admit", Outcome: "ok"}, {Stage: contract.Hydrate.Name(), Outcome: "ok"}, {Stage: "willAudit", Outcome: "ok"}}
	broken := append(slices.Clone(valid), contract.StageEvent{Stage: contract.Hydrate.Name(), Outcome: "validation"})
	ran := []contract.AttemptEvent{{Attempt: 1, Outcome: "ok", AtMs: time.Now().Add(time.Hour).UnixMilli()}}
	for _, c := range []struct {
		call     string
		stages   []contract.StageEvent
		attempts []contract.AttemptEvent
		asked    bool
		start    string
	}{
		{call: "ran", stages: valid, attempts: ran, start: `{"toolCallId" : "ran", "args" : {"path":"a.txt"}}`},
		{call: "asked", stages: valid, attempts: ran, asked: true, start: `{"toolCallId" : "asked", "args" : {"path":"a.txt"}}`},
		{call: "denied", stages: valid, asked: true, start: `{"toolCallId" : "denied", "args" : {"path":"a.txt"}}`},
		{call: "malformed", stages: valid[:1], start: `{"toolCallId" : "malformed"}`},
		{call: "changed", stages: broken, start: `{"toolCallId" : "changed"}`},
	} {
		t.Run(c.call, func(t *testing.T) {
			b.admit(c.call)
			if c.asked {
				b.request(requestRow(c.call, 1))
			}
			if err := oracle.CheckEvents(b.detail(c.call)); err != nil {
				t.Errorf("before the end: %v", err)
			}
			in := settleIn(c.call, 1)
			in.Stages, in.Attempts, in.Result.Attempts = c.stages, c.attempts, len(c.attempts)
			for range 2 {
				b.settle(in)
			}
			d := b.detail(c.call)
			if err := oracle.CheckEvents(d); err != nil {
				t.Error(err)
			}
			for _, e := range d.Events {
				if e.Kind == toolspec.EventStart && string(e.Detail) != c.start {
					t.Errorf("the start tells %s, want %s", e.Detail, c.start)
				}
				if e.At.After(time.Now().Add(time.Minute)) {
					t.Errorf("%s is of the future: %s", e.Kind, e.At)
				}
			}
		})
	}
}

func TestSettleWithNothingBesides(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	in := contract.SettleIn{InvocationID: id("call_1"), TenantID: tenant, Epoch: 1, Result: toolspec.Failure(toolspec.CodePolicyDenied, "", nil)}
	if out := b.settle(in); out.Outcome != contract.Done {
		t.Errorf("%+v", out)
	}
	if code := value[string](b, `SELECT error_code FROM invocations WHERE NOT ok`); code != "policy_denied" {
		t.Error(code)
	}
}

func TestSettleTwice(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	first := settleIn("call_1", 1)
	b.settle(first)
	second := settleIn("call_1", 1)
	second.Result = toolspec.Failure(toolspec.CodeCancelled, "", nil)
	out := b.settle(second)
	if out.Outcome != contract.AlreadySettled || out.Result == nil || !reflect.DeepEqual(*out.Result, first.Result) {
		t.Errorf("%+v", out)
	}
	b.unchanged(2, 1, 4)
}

func TestSettleAtOnce(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	var mu sync.Mutex
	outcomes := map[contract.Outcome]int{}
	together(10, func(int) {
		out, err := b.Settle(own(t), settleIn("call_1", 1))
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		outcomes[out.Outcome]++
	})
	if outcomes[contract.Done] != 1 || outcomes[contract.AlreadySettled] != 9 {
		t.Error(outcomes)
	}
	b.unchanged(2, 1, 4)
}

// TestStaleEpochWritesNothing: a settle of a superseded run, of another tenant or of a call that does not exist changes no row.
func TestStaleEpochWritesNothing(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.admit("call_1")
	b.request(requestRow("call_1", 2))
	before := value[string](b, `SELECT string_agg(r, ' ') FROM (SELECT i::text r FROM invocations i UNION ALL SELECT a::text FROM approvals a) x`)

	foreign := settleIn("call_1", 2)
	foreign.TenantID = "other"
	for why, in := range map[string]contract.SettleIn{"stale": settleIn("call_1", 1), "foreign": foreign, "no such call": settleIn("call_2", 1)} {
		if out := b.settle(in); out.Outcome != contract.Superseded || out.Result != nil {
			t.Errorf("settle, %s: %+v", why, out)
		}
	}
	if r := b.request(requestRow("call_1", 1)); !r.Superseded {
		t.Errorf("request: %+v", r)
	}
	other := requestRow("call_1", 1)
	other.View.Digest, other.Last = "another", 1
	if r := b.request(other); !r.Superseded {
		t.Errorf("request: %+v", r)
	}
	foreignRequest := requestRow("call_1", 2)
	foreignRequest.TenantID = "other"
	if r := b.request(foreignRequest); !r.Superseded {
		t.Errorf("foreign request: %+v", r)
	}
	look := reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))
	look.Gate = 9
	if r := b.review(look); !r.Superseded {
		t.Errorf("review: %+v", r)
	}
	look.Epoch, look.TenantID = 2, "other"
	if r := b.review(look); !r.Superseded {
		t.Errorf("foreign review: %+v", r)
	}

	b.unchanged(0, 0, 1) // the event belongs to the open request
	after := value[string](b, `SELECT string_agg(r, ' ') FROM (SELECT i::text r FROM invocations i UNION ALL SELECT a::text FROM approvals a) x`)
	if after != before {
		t.Errorf("%s\nbefore\n%s", after, before)
	}
}

func (b bench) unchanged(stages, attempts, events int) {
	b.t.Helper()
	for table, want := range map[string]int{"stage_events": stages, "attempts": attempts, "events": events} {
		if n := value[int](b, `SELECT count(*) FROM `+table); n != want {
			b.t.Errorf("%s has %d rows, want %d", table, n, want)
		}
	}
}

func TestSettleClosesRequests(t *testing.T) {
	b := open(t)
	for _, call := range []string{"open", "overdue", "approved"} {
		b.admit(call)
		b.request(requestRow(call, 1))
	}
	b.sql(`UPDATE approvals SET expires_at = now() WHERE invocation_id = $1`, id("overdue"))
	b.review(reviewRow("approved", 1, 1, decision("approved", 1, toolspec.Approve)))
	for call, want := range map[string]string{"open": "closed", "overdue": "expired", "approved": "approved"} {
		b.settle(settleIn(call, 1))
		if got := value[string](b, `SELECT state FROM approvals WHERE invocation_id = $1`, id(call)); got != want {
			t.Errorf("%s: %s", call, got)
		}
	}
}

// TestSettleTakesWhatPostgresRefuses: a call settles even if its texts have characters that a column cannot store. It would stay open for ever otherwise.
func TestSettleTakesWhatPostgresRefuses(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	in := settleIn("call_1", 1)
	in.Result.Value = []byte("\"a\xffb\\u0000\\ud800\"")
	in.Result.SafeMessage, in.PolicyDigest = "nul \x00 and \xff", "\x00"
	in.SafeArgs = []byte("{\"a\":\"\xff\"}")
	in.Stages[0].By, in.Stages[0].Rule = "nul \x00", "\xfe"
	in.Audit[0].Kind, in.Audit[0].Detail = "nul \x00", []byte("\"\xff\\u0000\"")
	if out := b.settle(in); out.Outcome != contract.Done {
		t.Fatalf("%+v", out)
	}
	got := b.admit("call_1")
	if got.Result == nil || string(got.Result.Value) != "\"a\uFFFDb\\u0000\\ud800\"" {
		t.Errorf("%+v", got.Result)
	}
}

// TestLargeSettle settles a call with as many events as a call can have in practice.
func TestLargeSettle(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	in := settleIn("call_1", 1)
	for len(in.Stages) < 2000 {
		in.Stages = append(in.Stages, in.Stages[0])
	}
	in.Result.Value = []byte(`"` + strings.Repeat("x", toolspec.MaxInline) + `"`)
	b.settle(in)
	b.unchanged(2000, 1, 4)
}

func TestSettleIsOneRoundTrip(t *testing.T) {
	b := open(t)
	for _, call := range []string{"warm", "call_1"} {
		b.admit(call)
		b.trips.Store(0)
		b.settle(settleIn(call, 1))
	}
	if n := b.trips.Load(); n != 1 {
		t.Errorf("%d round trips", n)
	}
}

// BenchmarkCall measures the time that a call without a queue spends in the database.
func BenchmarkCall(bb *testing.B) {
	b := open(bb)
	b.admit("warm")
	b.settle(settleIn("warm", 1))
	i := 0
	for bb.Loop() {
		call := fmt.Sprint("call_", i)
		b.admit(call)
		b.settle(settleIn(call, 1))
		i++
	}
}
