package oracle_test

import (
	"slices"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// violated returns the names of the oracles that a snapshot violates.
func violated(s oracle.Snapshot) (names []string) {
	for _, v := range oracle.Judge(s) {
		if !v.Held() {
			names = append(names, v.Name)
		}
	}
	return names
}

// TestHealthy: a run in which faults hit calls and every call ended correctly has no violation, and
// every oracle checked something.
func TestHealthy(t *testing.T) {
	for _, v := range oracle.Judge(healthy()) {
		if !v.Held() {
			t.Errorf("%s: %v", v.Name, v.Violations)
		}
		if v.Checked == 0 {
			t.Errorf("%s had nothing to check", v.Name)
		}
	}
}

// TestViolations: each defect is found by the oracle with its name, by no other oracle, and for the
// right call.
func TestViolations(t *testing.T) {
	type world = oracle.Snapshot
	seen := map[string]bool{}
	for _, test := range []struct {
		oracle, what, call string
		wreck              func(*world)
	}{
		{"settled", "a call without a record", "lost", func(w *world) {
			w.Calls = append(w.Calls, oracle.Call{ToolCallID: "lost", Accepted: true, Workflow: completed(nil)})
		}},
		{"settled", "a call that goes on for ever", "read", func(w *world) {
			c := find(w, "read")
			c.Workflow.Status, c.Workflow.Result = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
			c.Record.Result, c.Record.Status, c.Record.Outcome = nil, toolspec.StatusRunning, ""
		}},
		{"settled", "a workflow that does not notice that its record is settled", "read", func(w *world) {
			c := find(w, "read")
			c.Workflow.Status, c.Workflow.Result = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
		}},
		{"agreed", "a workflow that ended without a result", "read", func(w *world) { find(w, "read").Workflow.Result = nil }},
		{"settled", "a call that waits invisibly", "waiting", func(w *world) {
			find(w, "waiting").Record.Status = toolspec.StatusRunning
		}},
		{"unbroken", "a workflow that failed", "read", func(w *world) {
			find(w, "read").Workflow.Status = enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
		}},
		{"unbroken", "a workflow that was terminated", "read", func(w *world) {
			find(w, "read").Workflow.Status = enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
		}},
		{"once", "two effects of what must not be repeated", "send", func(w *world) {
			claim(find(w, "send"), 2, 30)
			effect(w, "send", 31, 1)
		}},
		{"once", "effects under two keys", "send", func(w *world) {
			claim(find(w, "send"), 2, 30)
			effect(w, "send", 31, 1).Key = "another"
		}},
		{"once", "two effects where a person wanted one retry of another call", "send", func(w *world) {
			find(w, "hit").Record.Approvals = []reads.Approval{{State: contract.RequestRetried}}
			claim(find(w, "send"), 2, 30)
			effect(w, "send", 31, 1)
		}},
		{"accounted", "cancelled with an effect", "hit", func(w *world) {
			c := find(w, "hit")
			end(c, toolspec.Result{ErrorCode: toolspec.CodeCancelled, Attempts: 1, EndedAtMs: 2000})
		}},
		{"accounted", "denied by policy with an effect", "hit", func(w *world) {
			c := find(w, "hit")
			end(c, toolspec.Result{ErrorCode: toolspec.CodePolicyDenied, Attempts: 1, EndedAtMs: 2000})
		}},
		{"genuine", "a value that no tool gave", "put", func(w *world) {
			end(find(w, "put"), toolspec.Result{OK: true, Value: []byte(`{"text":"` + oracle.MadeUp + `"}`), Attempts: 2, EndedAtMs: 2000})
		}},
		{"genuine", "a large value that is not kept", "put", func(w *world) {
			end(find(w, "put"), toolspec.Result{OK: true, OutputRef: "ref", Attempts: 2, EndedAtMs: 2000})
		}},
		{"genuine", "a failure that no tool had", "waiting", func(w *world) {
			c := find(w, "waiting")
			c.Undecided, c.Record.Approvals[0].State = false, contract.RequestClosed
			end(c, toolspec.Result{ErrorCode: toolspec.CodeRateLimited, SafeMessage: oracle.MadeUp, Attempts: 1, EndedAtMs: 2000})
		}},
		{"done", "ok without an effect", "read", func(w *world) {
			w.Effects = slices.DeleteFunc(w.Effects, func(e ledger.Effect) bool { return e.ToolCallID == "read" })
		}},
		{"claimed", "two effects of one claim", "put", func(w *world) { effect(w, "put", 31, 2) }},
		{"exact", "an effect of nobody's call", "nobody", func(w *world) {
			w.Effects = append(w.Effects, ledger.Effect{Key: "nobody", InvocationID: "nobody", ToolCallID: "nobody"})
		}},
		{"exact", "an effect with other arguments", "read", func(w *world) { effectOf(w, "read").Digest = "other" }},
		{"exact", "an effect of another tool", "read", func(w *world) { effectOf(w, "read").ToolID = ledger.Put }},
		{"agreed", "the workflow has another result", "read", func(w *world) {
			find(w, "read").Workflow.Result = &toolspec.Result{OK: true, Value: []byte(`{"text":"other"}`), Attempts: 1, EndedAtMs: 2000}
		}},
		{"agreed", "a submitter was told another result", "read", func(w *world) {
			find(w, "read").Answers[0].Result.ErrorCode = toolspec.CodeInternal
		}},
		{"agreed", "a submitter was told nothing but an error", "read", func(w *world) {
			find(w, "read").Answers[0] = oracle.Answer{Err: "broken"}
		}},
		{"agreed", "an attempt of a local read that nobody ended", "local", func(w *world) {
			end(find(w, "local"), toolspec.Result{ErrorCode: toolspec.CodeTimeout, EndedAtMs: 60_000})
		}},
		{"agreed", "more attempts in the ledger than in the record", "put", func(w *world) {
			claim(find(w, "put"), 3, 30)
			effect(w, "put", 31, 3)
		}},
		{"told", "a result that nobody was told of", "read", func(w *world) {
			d := find(w, "read").Record
			d.Events = d.Events[:1]
		}},
		{"told", "a call that starts twice", "read", func(w *world) {
			d := find(w, "read").Record
			d.Events = append(d.Events[:1:1], d.Events...)
		}},
		{"told", "a call that waits and has started", "waiting", func(w *world) {
			d := find(w, "waiting").Record
			d.Events = append(d.Events, event(toolspec.EventStart, nil))
		}},
		{"told", "a start ahead of the request", "ask", func(w *world) {
			d := find(w, "ask").Record
			d.Events[0], d.Events[1] = d.Events[1], d.Events[0]
		}},
		{"told", "a request of which there is no event", "waiting", func(w *world) { find(w, "waiting").Record.Events = nil }},
		{"told", "an event after the result", "denied", func(w *world) {
			d := find(w, "denied").Record
			d.Events = append(d.Events, event(toolspec.EventDecision, nil))
		}},
		{"told", "another call's start", "read", func(w *world) {
			find(w, "read").Record.Events[0] = event(toolspec.EventStart, map[string]any{"toolCallId": "other"})
		}},
		{"told", "a start with other arguments", "read", func(w *world) { find(w, "read").Record.SafeArgs = []byte(`{"n":2}`) }},
		{"told", "a start without the arguments that ran", "read", func(w *world) {
			find(w, "read").Record.Events[0] = event(toolspec.EventStart, map[string]any{"toolCallId": "read"})
		}},
		{"told", "another result", "hit", func(w *world) {
			find(w, "hit").Record.Events[1] = event(toolspec.EventResult, map[string]any{"toolCallId": "hit", "result": toolspec.Result{OK: true}})
		}},
		{"released", "a request that stays open", "ask", func(w *world) {
			c := find(w, "ask")
			c.Record.Approvals = append([]reads.Approval{{State: contract.RequestOpen}}, c.Record.Approvals...)
		}},
		{"survived", "a read that was cancelled where somebody cancelled another call", "read", func(w *world) {
			end(find(w, "read"), toolspec.Result{ErrorCode: toolspec.CodeCancelled, Attempts: 1, EndedAtMs: 2000})
			w.Faults = append(w.Faults, oracle.Fault{Kind: oracle.Cancel, Call: "put", From: at(10), To: at(10)})
		}},
		{"survived", "a read that failed in time", "read", func(w *world) {
			end(find(w, "read"), toolspec.Result{ErrorCode: toolspec.CodeTimeout, Attempts: 1, EndedAtMs: 2000})
		}},
		{"unknown", "unknown without a claim", "hit", func(w *world) {
			find(w, "hit").Record.Claims = nil
			w.Effects = slices.DeleteFunc(w.Effects, func(e ledger.Effect) bool { return e.ToolCallID == "hit" })
		}},
		{"unknown", "unknown with a tombstone only", "hit", func(w *world) {
			find(w, "hit").Record.Claims[0].Kind = "tombstone"
			w.Effects = slices.DeleteFunc(w.Effects, func(e ledger.Effect) bool { return e.ToolCallID == "hit" })
		}},
		{"unknown", "unknown without a fault in its time", "hit", func(w *world) { w.Faults[0].From, w.Faults[0].To = at(500), at(500) }},
		{"unknown", "unknown where another call was hit", "hit", func(w *world) {
			w.Faults = []oracle.Fault{{Kind: oracle.ResetLast, Call: "send", From: at(15), To: at(15)}}
		}},
		{"unknown", "unknown where another worker was hit", "hit", func(w *world) { w.Faults[0].PID = 99 }},
		{"approved", "an effect without an approval", "ask", func(w *world) {
			find(w, "ask").Record.Approvals = nil
		}},
		{"approved", "an effect before its approval", "ask", func(w *world) { effectOf(w, "ask").At = at(1) }},
		{"approved", "an approval of something else", "ask", func(w *world) {
			find(w, "ask").Record.Approvals[0].Digest = "other"
		}},
		{"approved", "an approval by somebody who never approved", "ask", func(w *world) {
			find(w, "ask").Record.Approvals[0].Approver = "user:mallory"
		}},
		{"decided", "two decisions that counted", "denied", func(w *world) {
			c := find(w, "denied")
			c.Decisions = append(c.Decisions, oracle.Decision{Verb: toolspec.Approve, Answer: &toolspec.Answer{Counted: true}})
		}},
		{"decided", "somebody is asked again after a denial", "denied", func(w *world) {
			c := find(w, "denied")
			c.Decisions[0].Answer = nil // the decision was a signal
			c.Record.Approvals = append(c.Record.Approvals, reads.Approval{State: contract.RequestClosed})
		}},
		{"decided", "an effect of what was denied", "denied", func(w *world) {
			c := find(w, "denied")
			claim(c, 1, 20)
			c.ApprovalDigest = "" // so that no other oracle is violated
			c.Record.Result.Attempts, c.Workflow.Result.Attempts, c.Answers[0].Result.Attempts = 1, 1, 1
			effect(w, "denied", 21, 1)
		}},
		{"decided", "another end than the denial", "denied", func(w *world) {
			c := find(w, "denied")
			end(c, toolspec.Result{ErrorCode: toolspec.CodeCancelled})
			c.Record.Outcome = "cancelled"
		}},
		{"refused", "a rival is shown a result", "rivalled", func(w *world) {
			find(w, "rivalled").Rivals[0].Result = toolspec.Result{OK: true}
		}},
		{"refused", "a rival is shown a value", "rivalled", func(w *world) {
			find(w, "rivalled").Rivals[0].Result.Value = []byte(`{"text":"secret"}`)
		}},
		{"manned", "a worker that ended by itself", "", func(w *world) {
			w.Faults = append(w.Faults, oracle.Fault{Kind: oracle.Crash, PID: 7, From: at(30), To: at(30)})
		}},
		{"bounded", "a history without end", "read", func(w *world) { find(w, "read").Workflow.Events = 5000 }},
		{"progress", "most calls end otherwise", "", func(w *world) {
			for range 20 {
				c := oracle.Call{ToolCallID: "denied too", InvocationID: "denied too", Accepted: true, Record: &reads.Detail{}}
				end(&c, toolspec.Result{ErrorCode: toolspec.CodePolicyDenied})
				w.Calls = append(w.Calls, c)
			}
		}},
		{"progress", "nothing was accepted", "", func(w *world) { *w = world{} }},
	} {
		seen[test.oracle] = true
		t.Run(test.oracle+": "+test.what, func(t *testing.T) {
			w := healthy()
			test.wreck(&w)
			if test.oracle != "told" {
				writeEvents(&w)
			}
			if got := violated(w); !slices.Equal(got, []string{test.oracle}) {
				t.Fatalf("violations of %v", got)
			}
			for _, v := range oracle.Judge(w) {
				for _, violation := range v.Violations {
					if violation.ToolCallID != test.call || violation.Why == "" {
						t.Errorf("%+v, want the call %q", violation, test.call)
					}
				}
			}
		})
	}
	for _, o := range oracle.All() {
		if !seen[o.Name] {
			t.Errorf("nothing here violates %s", o.Name)
		}
	}
}

// TestExcused: correct runs that resemble a violation have none.
func TestExcused(t *testing.T) {
	for what, change := range map[string]func(*oracle.Snapshot){
		"a second effect that a person wanted": func(w *oracle.Snapshot) {
			approvals := []reads.Approval{{State: contract.RequestRetried}}
			approvals[0].Parked = "lost"
			find(w, "hit").Record.Approvals = approvals
			claim(find(w, "hit"), 2, 30)
			effect(w, "hit", 31, 1)
		},
		"a read that somebody ended": func(w *oracle.Snapshot) {
			end(find(w, "read"), toolspec.Result{ErrorCode: toolspec.CodeCancelled, Attempts: 1, EndedAtMs: 2000})
			w.Faults = append(w.Faults, oracle.Fault{Kind: oracle.Cancel, Call: "read", From: at(10), To: at(10)})
		},
		"an unknown outcome of a call that was reset": func(w *oracle.Snapshot) {
			w.Faults = []oracle.Fault{{Kind: oracle.ResetLast, Call: "hit", From: at(15), To: at(15)}}
		},
		"a large value": func(w *oracle.Snapshot) {
			c := find(w, "put")
			c.Output = []byte(`{"text": "put"}`)
			end(c, toolspec.Result{OK: true, OutputRef: "ref", Attempts: 2, EndedAtMs: 2000})
		},
		"attempts of a run before the last": func(w *oracle.Snapshot) {
			end(find(w, "put"), toolspec.Result{OK: true, Value: []byte(`{"text":"put"}`), Attempts: 1, EndedAtMs: 2000})
			w.Faults = append(w.Faults, oracle.Fault{Kind: oracle.Restart, Call: "put", From: at(15), To: at(15)})
		},
		"a read whose deadline ran out": func(w *oracle.Snapshot) {
			end(find(w, "read"), toolspec.Result{ErrorCode: toolspec.CodeTimeout, Attempts: 1, EndedAtMs: 60_000})
		},
		"an unknown outcome while a server was away": func(w *oracle.Snapshot) {
			w.Faults = []oracle.Fault{{Kind: oracle.Postgres, From: at(5), To: at(20)}}
		},
		"an unknown outcome while Temporal stalled": func(w *oracle.Snapshot) {
			w.Faults = []oracle.Fault{{Kind: oracle.Stall, From: at(15), To: at(35)}, {Kind: oracle.Kill, From: at(500), To: at(500)}}
		},
		"an unknown outcome of a call that never had its effect": func(w *oracle.Snapshot) {
			w.Effects = slices.DeleteFunc(w.Effects, func(e ledger.Effect) bool { return e.ToolCallID == "hit" })
		},
		"a local read that ended with the task that ran it": func(w *oracle.Snapshot) {
			end(find(w, "local"), toolspec.Result{ErrorCode: toolspec.CodeCancelled, EndedAtMs: 2000})
			w.Faults = append(w.Faults, oracle.Fault{Kind: oracle.Terminate, Call: "local", From: at(10), To: at(10)})
		},
		"a local read that ran twice": func(w *oracle.Snapshot) { effect(w, "local", 31, 1) },
		"a long history of a call that much happened to": func(w *oracle.Snapshot) {
			for range 10 {
				w.Faults = append(w.Faults, oracle.Fault{Kind: oracle.Kill, PID: 99, From: at(30), To: at(30)})
			}
			find(w, "read").Workflow.Events = 300
		},
		"a call that was never accepted": func(w *oracle.Snapshot) {
			w.Calls = append(w.Calls, oracle.Call{ToolCallID: "never"})
		},
		"spaces in a value": func(w *oracle.Snapshot) {
			find(w, "read").Workflow.Result.Value = []byte("{ \"text\" : \"read\" }")
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := healthy()
			change(&w)
			writeEvents(&w)
			if got := violated(w); got != nil {
				t.Errorf("violations of %v", got)
			}
		})
	}
}
