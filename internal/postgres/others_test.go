package postgres_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// running admits a call that has all that an open call can have: a claim with a kept answer, an output, and an open request.
func (b bench) running(call string) {
	b.t.Helper()
	b.admit(call)
	b.request(requestRow(call, 1))
	row := claimRow(call, 1, 1)
	row.Subject = "subject"
	b.claim(row)
	b.keep(call, claimsOf(1)[0], `{"of": "`+call+`"}`)
	b.saved(call, 1, row.ClaimID)
}

// rowsOf returns the rows of a call.
func (b bench) rowsOf(call string) string {
	b.t.Helper()
	var own []string
	for row := range strings.Lines(b.everything()) {
		if strings.Contains(row, id(call)) {
			own = append(own, row)
		}
	}
	return strings.Join(own, "")
}

// closing closes the first request of a call.
func closing(call string) review {
	row := reviewRow(call, 1, 1, nil)
	row.Close = true
	return row
}

// TestOtherCallsAreLeftAlone: a statement of one call changes no row of another call. The other call has the same dispatches, claims and digests. A
// statement that refuses its input changes no row of its own call either.
func TestOtherCallsAreLeftAlone(t *testing.T) {
	b := open(t)
	b.running("bystander")
	b.admit("idle")
	bystander, idle := b.rowsOf("bystander"), b.rowsOf("idle")
	for name, do := range map[string]func(call string){
		"another request": func(call string) {
			other := requestRow(call, 1)
			other.View.Digest, other.Last = "other-digest", 1
			b.request(other)
		},
		"approve": func(call string) { b.review(reviewRow(call, 1, 1, decision(call, 1, toolspec.Approve))) },
		"close":   func(call string) { b.review(closing(call)) },
		"claim": func(call string) {
			row := claimRow(call, 1, 2)
			row.Answered = claimsOf(1)
			b.claim(row)
		},
		"check":  func(call string) { b.check(call, 1, 2) },
		"settle": func(call string) { b.settle(settleIn(call, 1)) },
		"sweep":  func(call string) { b.sweep(call, 1, upkeep.OwnerTerminated, toolspec.CodeCancelled) },
	} {
		b.running(name)
		before := b.rowsOf(name)
		do(name)
		if b.rowsOf(name) == before {
			t.Errorf("%s does nothing", name)
		}
		if after := b.rowsOf("bystander"); after != bystander {
			t.Fatalf("%s of another call:\n%s\nbefore:\n%s", name, after, bystander)
		}
		if after := b.rowsOf("idle"); after != idle {
			t.Fatalf("%s of another call:\n%s\nbefore:\n%s", name, after, idle)
		}
	}
	for name, do := range map[string]func() (refused bool, err error){
		"settle of a newer epoch": func() (bool, error) {
			out, err := b.Settle(own(t), settleIn("bystander", 2))
			return out.Outcome == contract.Superseded, err
		},
		"request of a newer epoch": func() (bool, error) {
			other := requestRow("bystander", 2)
			other.View.Digest, other.Last = "other-digest", 1
			out, err := b.Request(own(t), other)
			return out.Superseded, err
		},
		"request of another tenant": func() (bool, error) {
			other := requestRow("bystander", 1)
			other.View.Digest, other.Last, other.TenantID = "other-digest", 1, "globex"
			out, err := b.Request(own(t), other)
			return out.Superseded, err
		},
		"the same request of a newer epoch": func() (bool, error) {
			out, err := b.Request(own(t), requestRow("bystander", 2))
			return out.Superseded, err
		},
		"look of another tenant": func() (bool, error) {
			out, err := b.Review(own(t), review{LookRow: approval.LookRow{InvocationID: id("bystander"), TenantID: "globex", Epoch: 1, Gate: 7}})
			return out.Superseded, err
		},
		"request of another run": func() (bool, error) {
			out, err := b.Request(executes(t.Context(), "another-run"), requestRow("bystander", 1))
			return out.Superseded, err
		},
		"request of a settled call": func() (bool, error) {
			out, err := b.Request(own(t), requestRow("settle", 1)) // settled above
			return out.Superseded, err
		},
		"close of a newer epoch": func() (bool, error) {
			row := closing("bystander")
			row.Epoch = 2
			out, err := b.Review(own(t), row)
			return out.Superseded, err
		},
		"close of another tenant": func() (bool, error) {
			row := closing("bystander")
			row.TenantID = "globex"
			out, err := b.Review(own(t), row)
			return out.Superseded, err
		},
		"close of another run": func() (bool, error) {
			out, err := b.Review(executes(t.Context(), "another-run"), closing("bystander"))
			return out.Superseded, err
		},
		"close of the request of another call": func() (bool, error) {
			row := closing("idle")
			row.ApprovalID = toolspec.ApprovalID(id("bystander"), 1)
			_, err := b.Review(own(t), row)
			return true, err
		},
		"settle without its claim": func() (bool, error) {
			in := settleIn("bystander", 1)
			in.Claims = nil
			out, err := b.Settle(own(t), in)
			return out.Outcome == contract.Unaccounted, err
		},
		"sweep of a newer epoch": func() (bool, error) {
			code, err := b.Sweep(t.Context(), upkeep.SweepRow{InvocationID: id("bystander"), Namespace: namespace, RunID: ownRun, Epoch: 2, Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled})
			return code == "", err
		},
		"keep of another claim": func() (bool, error) {
			b.keep("bystander", contract.Claim{Dispatch: 1, ID: "another"}, `{}`)
			return true, nil
		},
		"keep of another dispatch": func() (bool, error) {
			b.keep("bystander", contract.Claim{Dispatch: 2, ID: claimID(1)}, `{}`)
			return true, nil
		},
	} {
		if refused, err := do(); err != nil || !refused {
			t.Errorf("%s: refused %t, %v", name, refused, err)
		}
		if after := b.rowsOf("bystander"); after != bystander {
			t.Fatalf("%s:\n%s\nbefore:\n%s", name, after, bystander)
		}
	}
}

// approving returns the row of an approval of the first request of a call. The approval counts, and does not end the request.
func approving(call string) approval.DecideRow {
	return approval.DecideRow{
		InvocationID: id(call), TenantID: tenant, ApprovalID: toolspec.ApprovalID(id(call), 1), Epoch: 1, Decision: *decision(call, 1, toolspec.Approve),
		Judgement: approval.Judgement{Answer: toolspec.Answer{Counted: true}},
	}
}

// TestDecideRefuses: a decision that was judged for another call, or for what the call was before, is not written.
func TestDecideRefuses(t *testing.T) {
	b := open(t)
	for _, call := range []string{"bystander", "done"} {
		b.running(call)
	}
	b.admit("idle")
	b.settle(settleIn("done", 1))
	decide := func(ctx context.Context, call string, change func(*approval.DecideRow)) {
		t.Helper()
		before, row := b.rowsOf(call), approving(call)
		row.Judgement.Final, row.Becomes = true, contract.RequestApproved
		change(&row)
		if out, err := b.Decide(ctx, row); err != nil || !out.Superseded {
			t.Errorf("%+v: %+v, %v", row, out, err)
		}
		if after := b.rowsOf(call); after != before {
			t.Errorf("%+v:\n%s\nbefore:\n%s", row, after, before)
		}
	}
	decide(own(t), "bystander", func(r *approval.DecideRow) { r.Epoch = 2 })
	decide(own(t), "bystander", func(r *approval.DecideRow) { r.TenantID = "globex" })
	decide(own(t), "bystander", func(r *approval.DecideRow) { r.InvocationID = id("idle") })
	decide(own(t), "bystander", func(r *approval.DecideRow) { r.ApprovalID = toolspec.ApprovalID(id("bystander"), 2) })
	decide(executes(t.Context(), "another-run"), "bystander", func(*approval.DecideRow) {})
	decide(own(t), "done", func(*approval.DecideRow) {})
}

// TestDecideOnce: a decision is written once, only with the votes that it was judged with, and is remembered only if it counts.
func TestDecideOnce(t *testing.T) {
	b := open(t)
	b.running("call_1")
	row, before := approving("call_1"), b.rowsOf("call_1")
	row.Votes = 1
	if out, err := b.Decide(own(t), row); err != nil || !out.Stale || b.rowsOf("call_1") != before {
		t.Errorf("votes of another look: %+v, %v", out, err)
	}
	row.Votes = 0
	for try := 1; try <= 2; try++ {
		if out, err := b.Decide(own(t), row); err != nil || !out.Answer.Counted {
			t.Errorf("try %d: %+v, %v", try, out, err)
		}
		if n := value[int](b, `SELECT votes FROM approvals WHERE invocation_id = $1`, id("call_1")); n != 1 {
			t.Errorf("try %d: %d votes", try, n)
		}
	}

	b.sql(`UPDATE approvals SET expires_at = now() WHERE invocation_id = $1`, id("call_1"))
	late := row
	late.Votes, late.Decision.Approver, late.Judgement.Grant = 1, "user:carol", &approval.GrantRow{For: time.Hour}
	if out, err := b.Decide(own(t), late); err != nil || out.Answer.Counted {
		t.Errorf("after the end of the request: %+v, %v", out, err)
	}
	if n := value[int](b, `SELECT count(*)::int FROM approval_grants`); n != 0 {
		t.Errorf("%d approvals are remembered", n)
	}
}

// TestOneRequestExpires: a look expires the overdue request of its call that it is about, and no request that people have decided.
func TestOneRequestExpires(t *testing.T) {
	b := open(t)
	calls := []string{"decided", "looks", "waits"}
	for _, call := range calls {
		b.admit(call)
		b.request(requestRow(call, 1))
	}
	b.review(reviewRow("decided", 1, 1, decision("decided", 1, toolspec.Approve)))
	b.sql(`UPDATE approvals SET expires_at = now()`)
	states := func() string {
		return value[string](b, `SELECT string_agg(a.state, ' ' ORDER BY tool_call_id) FROM approvals a JOIN invocations USING (invocation_id)`)
	}
	other := reviewRow("looks", 1, 1, nil)
	other.ApprovalID = toolspec.ApprovalID(id("waits"), 1)
	b.review(other)
	b.review(reviewRow("decided", 1, 1, nil))
	if got := states(); got != "approved open open" {
		t.Errorf("the requests are %s", got)
	}
	b.review(reviewRow("looks", 1, 1, nil))
	if got := states(); got != "approved expired open" {
		t.Errorf("the requests are %s", got)
	}
}

// TestBeginOnce: a call without a claim begins once, for the run that owns it and before it is settled.
func TestBeginOnce(t *testing.T) {
	b := open(t)
	for _, call := range []string{"call_1", "call_2", "settled"} {
		b.admit(call)
	}
	b.settle(settleIn("settled", 1))
	begin := func(ctx context.Context, call string, change func(*attempt.BeginRow)) {
		t.Helper()
		row := attempt.BeginRow{InvocationID: id(call), TenantID: tenant, Epoch: 1, SafeArgs: []byte(`{"n":1}`)}
		change(&row)
		if err := b.Begin(ctx, row); err != nil {
			t.Fatal(err)
		}
	}
	unchanged := func(*attempt.BeginRow) {}
	before := b.everything()
	begin(own(t), "call_1", func(r *attempt.BeginRow) { r.TenantID = "globex" })
	begin(own(t), "call_1", func(r *attempt.BeginRow) { r.Epoch = 2 })
	begin(executes(t.Context(), "another-run"), "call_1", unchanged)
	begin(own(t), "settled", unchanged)
	if after := b.everything(); after != before {
		t.Fatalf("begun:\n%s\nbefore:\n%s", after, before)
	}
	begin(own(t), "call_1", unchanged)
	begun := b.rowsOf("call_1")
	if n := value[int](b, `SELECT count(*) FROM invocations WHERE begun_at IS NOT NULL AND tool_call_id <> 'settled'`); n != 1 {
		t.Errorf("%d calls have begun", n)
	}
	if begin(own(t), "call_1", func(r *attempt.BeginRow) { r.SafeArgs = []byte(`{"n":2}`) }); b.rowsOf("call_1") != begun {
		t.Errorf("it begins again: %s", b.rowsOf("call_1"))
	}
}

// TestOpenCalls: the sweeper gets the open calls of its namespace.
func TestOpenCalls(t *testing.T) {
	b := open(t)
	for call, namespace := range map[string]string{"open": namespace, "settled": namespace, "elsewhere": "elsewhere", "nowhere": ""} {
		row := admitRow(call)
		row.Namespace = namespace
		b.admitted(row)
	}
	b.settle(settleIn("settled", 1))
	for namespace, want := range map[string][]string{namespace: {id("open")}, "elsewhere": {id("elsewhere")}, "": nil} {
		calls, err := b.OpenCalls(t.Context(), upkeep.OpenPage{Namespace: namespace, Limit: 10})
		var got []string
		for _, c := range calls {
			got = append(got, c.InvocationID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("open in %q are %q, %v; want %q", namespace, got, err, want)
		}
	}
}
