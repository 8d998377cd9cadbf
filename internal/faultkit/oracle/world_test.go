package oracle_test

import (
	"encoding/json"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// at returns a time of the run, in seconds from its start.
func at(seconds int) time.Time {
	return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func completed(r *toolspec.Result) oracle.Workflow {
	return oracle.Workflow{Status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, Events: 20, Result: r, Started: at(0), Ended: at(40)}
}

// end settles a call in the record, in its workflow and for its submitters.
func end(c *oracle.Call, r toolspec.Result) {
	inRecord, inWorkflow := r, r
	settledAt := at(40)
	c.Record.Result, c.Record.Status, c.Record.SettledAt, c.Record.Attempts = &inRecord, toolspec.StatusSettled, &settledAt, r.Attempts
	if c.Record.Outcome = "ok"; !r.OK {
		c.Record.Outcome = string(r.ErrorCode)
	}
	c.Record.SafeArgs = []byte(`{"n":1}`)
	c.Workflow = completed(&inWorkflow)
	c.Answers = []oracle.Answer{{Result: r}}
}

// writeEvents adds the events that correct records have.
func writeEvents(w *oracle.Snapshot) {
	for i := range w.Calls {
		d := w.Calls[i].Record
		if d == nil {
			continue
		}
		d.Events = nil
		for range d.Approvals {
			d.Events = append(d.Events, event(toolspec.EventApprovalRequested, nil))
		}
		if d.Result != nil {
			d.Events = append(d.Events, event(toolspec.EventStart, map[string]any{"toolCallId": d.ToolCallID, "args": d.SafeArgs}),
				event(toolspec.EventResult, map[string]any{"toolCallId": d.ToolCallID, "result": d.Result}))
		}
	}
}

func event(kind string, detail any) reads.EventRecord {
	raw, err := json.Marshal(detail)
	if err != nil {
		panic(err)
	}
	return reads.EventRecord{Kind: kind, Detail: raw}
}

func claim(c *oracle.Call, dispatch, second int) {
	c.Record.Claims = append(c.Record.Claims, reads.ClaimRecord{Dispatch: dispatch, Kind: "claim", At: at(second)})
}

// effect adds an effect of a call's tool, by the worker 7.
func effect(w *oracle.Snapshot, id string, second, attempt int) *ledger.Effect {
	c := find(w, id)
	w.Effects = append(w.Effects, ledger.Effect{
		Key: id, InvocationID: c.InvocationID, ToolCallID: id, ToolID: c.ToolID, Attempt: attempt, Digest: c.ArgsDigest, PID: 7, At: at(second),
	})
	return &w.Effects[len(w.Effects)-1]
}

func find(w *oracle.Snapshot, id string) *oracle.Call {
	for i := range w.Calls {
		if w.Calls[i].ToolCallID == id {
			return &w.Calls[i]
		}
	}
	panic("no call " + id)
}

func effectOf(w *oracle.Snapshot, id string) *ledger.Effect {
	for i := range w.Effects {
		if w.Effects[i].ToolCallID == id {
			return &w.Effects[i]
		}
	}
	panic("no effect of " + id)
}

// healthy returns a run in which worker 7 was killed at second 12, and every call ended correctly.
func healthy() oracle.Snapshot {
	w := oracle.Snapshot{Faults: []oracle.Fault{{Kind: oracle.Kill, PID: 7, From: at(12), To: at(12)}}}
	add := func(id, toolID string, lane hook.Lane) *oracle.Call {
		w.Calls = append(w.Calls, oracle.Call{
			ToolCallID: id, InvocationID: "invocation " + id, WorkflowID: "workflow " + id, ToolID: toolID, Repeatable: ledger.Repeatable(toolID),
			ArgsDigest: "arguments of " + id, Value: []byte(`{"text":"` + id + `"}`), Accepted: true,
			Record: &reads.Detail{CallSummary: reads.Call{ToolCallID: id}, Plan: hook.Plan{Lane: lane, Budgets: hook.Budgets{DeadlineMs: 60_000}}},
		})
		return &w.Calls[len(w.Calls)-1]
	}
	ok := func(id string, attempts int) toolspec.Result {
		return toolspec.Result{ToolCallID: id, OK: true, Value: []byte(`{"text":"` + id + `"}`), Attempts: attempts, EndedAtMs: 2000}
	}
	end(add("local", ledger.LocalRead, hook.LocalLane), ok("local", 1))
	effect(&w, "local", 10, 1)
	for _, id := range []string{"read", "rivalled", "plain", "usual", "common"} {
		c := add(id, ledger.Read, hook.RegularLane)
		claim(c, 1, 10)
		end(c, ok(id, 1))
		effect(&w, id, 11, 1)
	}
	find(&w, "rivalled").Rivals = []oracle.Answer{{Result: toolspec.Result{ErrorCode: toolspec.CodeConflict}}}

	put := add("put", ledger.Put, hook.RegularLane)
	claim(put, 1, 10)
	claim(put, 2, 20)
	end(put, ok("put", 2))
	effect(&w, "put", 11, 1)
	effect(&w, "put", 21, 2)

	send := add("send", ledger.Send, hook.RegularLane)
	claim(send, 1, 20)
	end(send, ok("send", 1))
	effect(&w, "send", 21, 1)

	hit := add("hit", ledger.Send, hook.RegularLane)
	claim(hit, 1, 10)
	end(hit, toolspec.Result{ErrorCode: toolspec.CodeOutcomeUnknown, Attempts: 1, EndedAtMs: 2000})
	effect(&w, "hit", 11, 1)

	decidedAt := at(19)
	ask := add("ask", ledger.Ask, hook.RegularLane)
	claim(ask, 1, 20)
	ask.ApprovalDigest = "digest of ask"
	ask.Decisions = []oracle.Decision{
		{Verb: toolspec.Approve, Approver: "user:ann", Answer: &toolspec.Answer{Counted: true}}, {Verb: toolspec.Deny, Approver: "user:bob"},
	}
	ask.Record.Approvals = []reads.Approval{{State: contract.RequestApproved, Approver: "user:ann", DecidedAt: &decidedAt}}
	ask.Record.Approvals[0].Digest = "digest of ask"
	end(ask, ok("ask", 1))
	effect(&w, "ask", 21, 1)

	denied := add("denied", ledger.Ask, hook.RegularLane)
	denied.ApprovalDigest = "digest of denied"
	denied.Decisions = []oracle.Decision{{Verb: toolspec.Deny, Approver: "user:bob", Answer: &toolspec.Answer{Counted: true}}}
	denied.Record.Approvals = []reads.Approval{{State: contract.RequestDenied, Approver: "user:bob", DecidedAt: &decidedAt}}
	end(denied, toolspec.Result{ErrorCode: toolspec.CodeApprovalDenied, EndedAtMs: 2000})

	end(add("stopped", ledger.Send, hook.RegularLane), toolspec.Result{ErrorCode: toolspec.CodeCancelled, EndedAtMs: 2000})

	waiting := add("waiting", ledger.Ask, hook.RegularLane)
	waiting.Undecided, waiting.Record.Status = true, toolspec.StatusWaitingApproval
	waiting.Workflow = oracle.Workflow{Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, Events: 10, Started: at(0)}
	waiting.Record.Approvals = []reads.Approval{{State: contract.RequestOpen}}
	writeEvents(&w)
	return w
}
