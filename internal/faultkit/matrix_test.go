//go:build unix

package faultkit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/faultkit/point"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// tries is the maximum number of tries of a case. A try does not count if the machine was so slow
// that a live worker lost a step too.
const tries = 5

// TestKillMatrix: for each point and each kind of tool, a worker is killed at the point, and the
// call ends as docs/outcomes.md says.
func TestKillMatrix(t *testing.T) {
	t.Parallel()
	needsKills(t)
	for _, c := range readOutcomes(t) {
		if c.why != "" {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", c.point, strings.ReplaceAll(c.column, " ", "-")), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for try := 1; ; try++ {
				e := w.killAt(c, fmt.Sprintf("call-%d", try))
				w.agrees(e)
				differs := e.differs(c)
				if differs != "" && e.disturbed(c) && try < tries {
					t.Logf("try %d does not count: %s", try, e.tasks)
					continue
				}
				if differs != "" {
					t.Error(differs)
				}
				return
			}
		})
	}
}

// evidence is the final state of a call.
type evidence struct {
	call    *pawl.Call
	result  toolspec.Result
	record  reads.Detail
	effects []ledger.Effect
	tasks   tasks
}

// killAt makes one call, kills its worker at the point, and starts another worker.
func (w *world) killAt(c cell, id string) evidence {
	w.t.Helper()
	first := w.work(failpoint.Plan{At: c.point, Nth: 1, By: failpoint.Kill}).runs()
	call := w.start(invocation(id, c.toolID, ledger.In{Text: id}))
	var second *child
	takeOver := func() {
		if second == nil {
			first.crashed()
			second = w.work(healthy)
		}
	}
	if c.toolID == ledger.Ask {
		if before(c.point, point.TaskAfter) || c.point == point.WaitBefore || c.point == point.WaitAfter {
			takeOver()
		}
		w.asked(call)
		w.approve(call)
	}
	takeOver()
	result := w.result(call)
	second.kill() // the next try must run on the worker that is to be killed
	return w.evidence(call, result)
}

// before reports whether p is not after other.
func before(p, other point.Name) bool {
	for _, q := range point.All() {
		if q == p {
			return true
		}
		if q == other {
			return false
		}
	}
	return false
}

func (w *world) evidence(call *pawl.Call, result toolspec.Result) evidence {
	w.t.Helper()
	return evidence{
		call: call, result: result, record: w.record(call.InvocationID), effects: w.ledger.Of(call.InvocationID),
		tasks: tasksOf(w.history(call.WorkflowID)),
	}
}

// disturbed reports whether more steps were lost than the kill can lose, or whether a call that runs
// inside a workflow task took more than one.
func (e evidence) disturbed(c cell) bool {
	lost := e.tasks.lostTasks + e.tasks.lostAttempts + e.tasks.again
	return lost > c.loses() || ledger.Fast(c.toolID) && e.tasks.completed > 1
}

// loses returns how many steps the kill can lose: none if the server has the answer and no other
// step has started.
func (c cell) loses() int {
	switch c.point {
	case point.AnswerAfter, point.CloseAfter:
		return 0
	case point.TaskAfter:
		if ledger.Fast(c.toolID) || c.toolID == ledger.Ask {
			return 0
		}
	default:
	}
	return 1
}

// agrees checks what holds for every call: workflow, record and ledger agree.
func (w *world) agrees(e evidence) {
	w.t.Helper()
	wrong := func(format string, args ...any) {
		w.t.Helper()
		w.t.Errorf("%s (%s): %s", e.record.ToolID, e.call.WorkflowID, fmt.Sprintf(format, args...))
	}
	if e.tasks.closed != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED {
		wrong("the workflow ended with %s", e.tasks.closed)
	}
	if e.record.Result == nil || asJSON(*e.record.Result) != asJSON(e.result) {
		wrong("the workflow says %s and the record %s", asJSON(e.result), asJSON(e.record.Result))
	}
	if e.record.Outcome != codeOf(e.result) || e.record.Attempts != e.result.Attempts {
		wrong("the record ended %s after %d attempts, the workflow %s after %d", e.record.Outcome, e.record.Attempts, codeOf(e.result), e.result.Attempts)
	}
	if err := oracle.CheckEvents(&e.record); err != nil {
		wrong("%v", err)
	}
	claims, _ := claimsOf(e.record)
	repeatable := ledger.Repeatable(e.record.ToolID)
	for _, effect := range e.effects {
		if effect.Key != e.record.InvocationID || effect.Digest != e.effects[0].Digest || effect.Attempt < 1 || effect.Attempt > max(e.result.Attempts, 1) {
			wrong("an effect with another key, digest or attempt: %+v", effect)
		}
	}
	if !repeatable && len(e.effects) > 1 {
		wrong("%d effects of a tool that must not be repeated", len(e.effects))
	}
	if e.result.OK && len(e.effects) < 1 {
		wrong("ok without an effect")
	}
	if e.record.Plan.Lane != hook.LocalLane && len(e.effects) > claims {
		wrong("%d effects and %d claims", len(e.effects), claims)
	}
	if e.result.ErrorCode == toolspec.CodeOutcomeUnknown && (claims == 0 || repeatable) {
		wrong("the outcome is unknown with %d claims, of a tool that may be repeated: %t", claims, repeatable)
	}
	if e.record.ToolID != ledger.Ask {
		return
	}
	if len(e.record.Approvals) != 1 {
		wrong("%d requests, want one", len(e.record.Approvals))
		return
	}
	counted := 0
	for _, d := range e.record.Approvals[0].Decisions {
		if d.Counted {
			counted++
		}
	}
	if a := e.record.Approvals[0]; a.State != "approved" || counted != 1 || (a.ConsumedDispatch != nil) != (claims > 0) {
		wrong("the request is %s by %d decisions, used by dispatch %v", a.State, counted, a.ConsumedDispatch)
	}
}

// differs describes the difference between the evidence and a cell of the table; "" if there is
// none.
func (e evidence) differs(c cell) string {
	claims, tombstones := claimsOf(e.record)
	got := cell{
		point: c.point, column: c.column, toolID: c.toolID, code: codeOf(e.result), attempts: e.result.Attempts,
		leastEffects: c.leastEffects, mostEffects: c.mostEffects, claims: claims, tombstones: tombstones, epoch: e.record.Epoch,
	}
	if e.result.Details != nil {
		got.cause = e.result.Details.Cause
	}
	if n := len(e.effects); got != c || n < c.leastEffects || n > c.mostEffects {
		return fmt.Sprintf("got %+v with %d effects (%s),\nwant %+v", got, n, e.tasks, c)
	}
	return ""
}

func codeOf(r toolspec.Result) string {
	if r.OK {
		return "ok"
	}
	return string(r.ErrorCode)
}

func claimsOf(d reads.Detail) (claims, tombstones int) {
	for _, c := range d.Claims {
		if c.Kind == "claim" {
			claims++
		} else {
			tombstones++
		}
	}
	return claims, tombstones
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
