package workflows_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestClaimedLane: a fast tool with an effect runs inside the workflow task, with a claim. After a lost
// task, the call uses the kept answer of the attempt. Without a kept answer, the attempt is lost.
func TestClaimedLane(t *testing.T) {
	t.Parallel()
	kept := json.RawMessage(`{"outcome":"done","value":{"text":"before"}}`)
	for name, tc := range map[string]struct {
		tool, policy string
		// before is the claim of an execution that was lost, or nil. Without an answer, its tool ended long ago; with an answer, its
		// tool has ended just now.
		before     *claimed
		fails      int
		connection string
		code       toolspec.Code
		text       string
		ran        int
		// attempts are the recorded lanes and dispatches.
		attempts []contract.AttemptEvent
	}{
		"a write":                          {tool: "core__quick", text: "hello", ran: 1, attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 1, Outcome: "ok"}}},
		"an idempotent write":              {tool: "core__quick_put", text: "hello", ran: 1, attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 1, Outcome: "ok"}}},
		"with a connection":                {tool: "core__quick", connection: "conn-1", text: "hello", ran: 1, attempts: []contract.AttemptEvent{{Lane: hook.RegularLane, Dispatch: 1, Outcome: "ok"}}},
		"a second attempt":                 {tool: "core__quick_put", fails: 1, text: "hello", ran: 2, attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 1, Outcome: "failed_safely"}, {Lane: hook.ClaimedLane, Dispatch: 2, Outcome: "ok"}}},
		"failed":                           {tool: "core__quick", fails: 1, code: toolspec.CodeExecution, ran: 1, attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 1, Outcome: "failed"}}},
		"lost":                             {tool: "core__quick", before: &claimed{}, code: toolspec.CodeOutcomeUnknown, attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 2, Outcome: "lost"}}},
		"lost and idempotent":              {tool: "core__quick_put", before: &claimed{repeatable: true}, text: "hello", ran: 1, attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 2, Outcome: "ok"}}},
		"kept":                             {tool: "core__quick", before: &claimed{answer: kept}, text: "before", attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 1, Outcome: "ok"}}},
		"kept and idempotent":              {tool: "core__quick_put", before: &claimed{answer: kept, repeatable: true}, text: "before", attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 1, Outcome: "ok"}}},
		"kept of another call, idempotent": {tool: "core__quick_put", before: &claimed{answer: kept, subject: "another", repeatable: true}, text: "hello", ran: 1, attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 2, Outcome: "ok"}}},
		"kept of another call":             {tool: "core__quick", before: &claimed{answer: kept, subject: "another"}, code: toolspec.CodeOutcomeUnknown, attempts: []contract.AttemptEvent{{Lane: hook.ClaimedLane, Dispatch: 2, Outcome: "lost"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *rig
			run := func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
				if n := int(r.runs.Add(1)); n <= tc.fails {
					return echoOut{}, errPlain
				}
				return echoOut{Text: in.Text}, nil
			}
			def := toolspec.Definition{
				ID: "core__quick", Description: "test tool", Version: "1", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, Fast: true,
				Redaction: toolspec.Redaction{Allow: []string{"/text"}},
			}
			put := def
			put.ID, put.Idempotent = "core__quick_put", true
			r = newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{toolspec.Define(def, run), toolspec.Define(put, run)}})
			if tc.before != nil {
				r.records.onAdmit = func(n int, row *admit.Record) {
					if n == 1 {
						row.Epoch, row.Rounds.Dispatch = 2, 1
					}
				}
				r.records.onClaim = func(n int) (contract.Outcome, error) {
					if before := *tc.before; n == 1 {
						if before.id = "before"; before.answer != nil {
							before.over = r.records.now().Add(time.Second + overMargin)
						}
						if before.answer != nil && before.subject == "" {
							before.subject = r.records.rows[0].Subject
						}
						r.records.claims[1] = before
					}
					return "", nil
				}
			}
			inv := call(tc.tool, `{"text":"hello"}`)
			inv.Context.ConnectionID = tc.connection
			if tc.connection != "" {
				inv.AllowedConnectionIDs = []string{tc.connection}
			}
			result := r.run(inv)
			if result.ErrorCode != tc.code || result.OK != (tc.code == "") || r.ran() != tc.ran || result.Attempts != len(tc.attempts) {
				t.Errorf("got %+v with %+v after %d runs", result, result.Details, r.ran())
			}
			if want := `{"text":"` + tc.text + `"}`; tc.text != "" && string(result.Value) != want {
				t.Errorf("the value is %s, want %s", result.Value, want)
			}
			if len(r.records.settled) != 1 {
				t.Fatalf("settled %d times", len(r.records.settled))
			}
			attempts := r.records.settled[0].Attempts
			for i := range attempts {
				attempts[i] = contract.AttemptEvent{Lane: attempts[i].Lane, Dispatch: attempts[i].Dispatch, Outcome: attempts[i].Outcome}
			}
			if !reflect.DeepEqual(attempts, tc.attempts) {
				t.Errorf("recorded %+v, want %+v", attempts, tc.attempts)
			}
			for _, row := range r.records.rows {
				if (row.Subject != "") != (tc.connection == "") {
					t.Errorf("claimed with the subject %q", row.Subject)
				}
			}
		})
	}
}

// TestClaimedLaneStaysAfterALostAttempt: a call whose attempt gave no answer does not move to another task queue, because
// the move starts another Temporal run, which would not know of this attempt.
func TestClaimedLaneStaysAfterALostAttempt(t *testing.T) {
	t.Parallel()
	run := func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
		return echoOut{Text: in.Text}, nil
	}
	r := newRig(t, rigOptions{policy: freePolicy, source: lacks(4, never), workers: pools{"media"}, tools: []toolspec.Tool{toolspec.Define(toolspec.Definition{
		ID: "core__quick", Description: "test tool", Version: "1", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, Fast: true, Idempotent: true,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, run)}})
	r.records.onClaim = func(int) (contract.Outcome, error) {
		r.records.written(true)
		return dies, nil
	}
	inv := call("core__quick", `{"text":"hello"}`)
	r.env.SetStartWorkflowOptions(startOptions(inv.Identity().WorkflowID()))
	r.env.ExecuteWorkflow(toolspec.WorkflowType, inv)
	if queue, _ := r.queueOf(inv); queue != "" {
		t.Fatalf("the call moves to %q", queue)
	}
	if result := r.result(); result.ErrorCode != toolspec.CodeUnavailable || r.records.claimed != 1 {
		t.Errorf("got %+v after %d claims", result, r.records.claimed)
	}
}

// TestClaimedLaneIsNotForApprovedCalls: a call that asked for an approval runs its tool in the regular lane.
func TestClaimedLaneIsNotForApprovedCalls(t *testing.T) {
	t.Parallel()
	run := func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
		return echoOut{Text: in.Text}, nil
	}
	r := newRig(t, rigOptions{tools: []toolspec.Tool{toolspec.Define(toolspec.Definition{
		ID: "core__quick", Description: "test tool", Version: "1", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, run)}})
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	result := r.run(call("core__quick", `{"text":"hello"}`))
	if attempts := r.records.settled[0].Attempts; !result.OK || len(attempts) != 1 || attempts[0].Lane != hook.RegularLane || r.records.rows[0].Subject != "" {
		t.Errorf("got %+v with %+v", result, attempts)
	}
}
