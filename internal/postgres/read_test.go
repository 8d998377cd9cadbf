package postgres_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func TestShowByAnyName(t *testing.T) {
	b := open(t)
	b.admit("functions.f:0")
	b.claim(claimRow("functions.f:0", 1, 1))
	b.request(requestRow("functions.f:0", 1))
	b.review(reviewRow("functions.f:0", 1, 1, decision("functions.f:0", 1, toolspec.Approve)))
	for _, name := range []string{id("functions.f:0"), admitRow("functions.f:0").WorkflowID, "functions.f:0"} {
		d, err := b.Show(t.Context(), tenant, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.InvocationID != id("functions.f:0") || d.Status != toolspec.StatusRunning || d.Plan.MaxAttempts != 1 || d.Result != nil {
			t.Errorf("%s: %+v", name, d)
		}
		if len(d.Claims) != 1 || d.Claims[0].Kind != "claim" || len(d.Approvals) != 1 || len(d.Approvals[0].Decisions) != 1 ||
			!d.Approvals[0].Decisions[0].Counted || d.Approvals[0].Decisions[0].Reason != "because" || string(d.Approvals[0].Args) != `{"path":"a.txt"}` {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestForeignIsNotFound: a call of another tenant is reported as a call that does not exist.
func TestForeignIsNotFound(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	ref, err := b.SaveOutput(t.Context(), attempt.OutputRow{InvocationID: id("call_1"), TenantID: tenant, Dispatch: 1, Value: []byte(`"big"`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"other", ""} {
		for _, name := range []string{"call_1", id("call_1"), admitRow("call_1").WorkflowID, "nobody", "", "\x00"} {
			if d, err := b.Show(t.Context(), who, name); !errors.Is(err, postgres.ErrNotFound) || d.ToolID != "" {
				t.Errorf("show %q to %q: %+v, %v", name, who, d, err)
			}
		}
		for _, name := range []string{ref, "nothing"} {
			if v, err := b.Output(t.Context(), who, name); !errors.Is(err, postgres.ErrNotFound) || v != nil {
				t.Errorf("output %q to %q: %s, %v", name, who, v, err)
			}
		}
		if got, err := b.Approvals(t.Context(), client.ApprovalFilter{TenantID: who, Decided: true}); err != nil || len(got) != 0 {
			t.Errorf("approvals to %q: %+v, %v", who, got, err)
		}
		if got, err := b.List(t.Context(), reads.Filter{TenantID: who}); err != nil || len(got) != 0 {
			t.Errorf("list to %q: %+v, %v", who, got, err)
		}
	}
	if _, err := b.SaveOutput(t.Context(), attempt.OutputRow{InvocationID: id("call_1"), TenantID: "other", Dispatch: 1, Value: []byte(`1`)}); err == nil {
		t.Error("another tenant overwrote the output")
	}
	if v, err := b.Output(t.Context(), tenant, ref); err != nil || string(v) != `"big"` {
		t.Errorf("%s, %v", v, err)
	}
}

func TestOutputIsKeptAsSettled(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	row := attempt.OutputRow{InvocationID: id("call_1"), TenantID: tenant, Dispatch: 2, Value: []byte(`1`)}
	first, err := b.SaveOutput(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	row.Value = []byte(`{"b":2,"a":1.0}`)
	if again, err := b.SaveOutput(t.Context(), row); err != nil || again != first {
		t.Errorf("%s, %s, %v", first, again, err)
	}
	in := settleIn("call_1", 1)
	in.Result.OutputRef = first
	b.settle(in)
	row.Value = []byte(`"too late"`)
	if _, err := b.SaveOutput(t.Context(), row); err == nil {
		t.Error("a settled call's output was overwritten")
	}
	if v, err := b.Output(t.Context(), tenant, first); err != nil || string(v) != `{"b":2,"a":1.0}` {
		t.Errorf("%s, %v", v, err)
	}
}

// TestOutputOfARecord: a value that is stored in the result of a call can be read by its reference, only by its tenant.
func TestOutputOfARecord(t *testing.T) {
	b := open(t)
	for _, call := range []string{"value", "failed", "stored", "open"} {
		b.admit(call)
	}
	for call, r := range map[string]toolspec.Result{
		"value":  {OK: true, Value: []byte(`{"b":2,"a":"x\u0000y"}`), Attempts: 1},
		"stored": {OK: true, OutputRef: "elsewhere", Attempts: 1},
		"failed": toolspec.Failure(toolspec.CodeTimeout, "", nil),
	} {
		b.settle(contract.SettleIn{InvocationID: id(call), TenantID: tenant, Epoch: 1, Result: r})
	}
	if v, err := b.Output(t.Context(), tenant, toolspec.ResultRef(id("value"))); err != nil || string(v) != `{"b":2,"a":"x\u0000y"}` {
		t.Errorf("%s, %v", v, err)
	}
	for _, tc := range [][2]string{{"other", "value"}, {"", "value"}, {tenant, "failed"}, {tenant, "stored"}, {tenant, "open"}, {tenant, "nobody"}} {
		if v, err := b.Output(t.Context(), tc[0], toolspec.ResultRef(id(tc[1]))); !errors.Is(err, postgres.ErrNotFound) || v != nil {
			t.Errorf("%s to %q: %s, %v", tc[1], tc[0], v, err)
		}
	}
}

func TestList(t *testing.T) {
	b := open(t)
	for _, call := range []string{"a", "b", "c", "d", "e"} {
		b.admit(call)
	}
	b.request(requestRow("b", 1))
	b.settle(settleIn("c", 1))
	b.settle(contract.SettleIn{InvocationID: id("d"), TenantID: tenant, Epoch: 1, Result: toolspec.Failure(toolspec.CodeTimeout, "", nil)})
	// The calls are created at the same moment, and the pages must not lose any of them.
	b.sql(`UPDATE invocations SET created_at = '2026-01-01Z' WHERE tool_call_id <> 'e'`)
	names := func(f reads.Filter) (got string) {
		t.Helper()
		f.TenantID = tenant
		calls, err := b.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			got += c.ToolCallID
		}
		return got
	}
	for want, f := range map[string]reads.Filter{
		"b": {Status: toolspec.StatusWaitingApproval},
		"c": {Outcome: "ok"},
		"d": {Outcome: string(toolspec.CodeTimeout)},
		"e": {Limit: 1},
		"":  {ToolID: "core__other"},
	} {
		if got := names(f); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
	if got := names(reads.Filter{Status: toolspec.StatusSettled, ToolID: "core__write_file"}); len(got) != 2 {
		t.Errorf("settled: %q", got)
	}
	var paged string
	f := reads.Filter{TenantID: tenant, Limit: 2}
	for range 4 {
		calls, err := b.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for i := range calls {
			paged += calls[i].ToolCallID
			f.After = &calls[i]
		}
	}
	if paged != names(reads.Filter{}) || len(paged) != 5 {
		t.Errorf("pages %q, list %q", paged, names(reads.Filter{}))
	}
}

func TestOpenApprovals(t *testing.T) {
	b := open(t)
	for _, call := range []string{"open", "overdue", "denied"} {
		b.admit(call)
		b.request(requestRow(call, 1))
	}
	b.sql(`UPDATE approvals SET expires_at = now() WHERE invocation_id = $1`, id("overdue"))
	b.review(reviewRow("denied", 1, 1, decision("denied", 1, toolspec.Deny)))
	all, err := b.Approvals(t.Context(), client.ApprovalFilter{TenantID: tenant, Decided: true})
	if err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	// The pages of one request each, with an empty last page, must be the whole list.
	var paged []reads.Approval
	for f := (client.ApprovalFilter{TenantID: tenant, Decided: true, Limit: 1}); len(paged) <= len(all); f.After = &paged[len(paged)-1] {
		page, err := b.Approvals(t.Context(), f)
		if err != nil || len(page) > 1 {
			t.Fatalf("a page: %+v, %v", page, err)
		}
		if paged = append(paged, page...); len(page) == 0 {
			break
		}
	}
	if !reflect.DeepEqual(paged, all) {
		t.Errorf("the pages are %+v, the list is %+v", paged, all)
	}
	open, err := b.Approvals(t.Context(), client.ApprovalFilter{TenantID: tenant})
	if err != nil || len(open) != 1 || open[0].ApprovalID != toolspec.ApprovalID(id("open"), 1) || open[0].WorkflowID != admitRow("open").WorkflowID {
		t.Errorf("%+v, %v", open, err)
	}
}
