//go:build unix

package faultkit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/point"
)

func stopAt(p point.Name) failpoint.Plan {
	return failpoint.Plan{At: p, Nth: 1, By: failpoint.Stop}
}

// TestStoppedBeforeClaim: a worker continues before its claim while another worker runs the call. The claim is refused and the tool does
// not run.
func TestStoppedBeforeClaim(t *testing.T) {
	t.Parallel()
	for _, toolID := range []string{ledger.Put, ledger.Send} {
		t.Run(toolID, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			zombie := w.work(stopAt(point.ClaimBefore)).runs()
			call := w.start(invocation("call", toolID, ledger.In{Text: "hello"}))
			zombie.stopped()
			// The second worker stops too, so the call is still open, in a later epoch. The claim is then refused for its epoch, not
			// because the call has ended.
			other := w.work(stopAt(point.EffectBefore)).runs()
			other.stopped()
			if r := w.record(call.InvocationID); r.Result != nil || r.Epoch < 2 || len(r.Claims) < 2 {
				t.Errorf("the call is in epoch %d with the claims %+v and the result %+v; want an open call in epoch 2", r.Epoch, r.Claims, r.Result)
			}
			zombie.goOn()
			w.until(func() bool { return zombie.log.Has("held at claim.before: ") }, "the claim is answered")
			if !zombie.log.Has("held at claim.before: superseded, <nil>") {
				t.Error("the claim of the stopped worker was not refused as superseded")
			}
			other.goOn()
			e := w.evidence(call, w.result(call))
			w.agrees(e)
			// The first worker loses one attempt. More lost attempts mean that the second worker was stopped past its timeout.
			if e.tasks.lostAttempts > 1 {
				t.Logf("the second worker was stopped past its timeout: %s, %s", codeOf(e.result), e.tasks)
				// The first worker may then have run a repeatable tool in a later attempt, with a
				// valid claim.
				if toolID == ledger.Send && slices.ContainsFunc(e.effects, func(f ledger.Effect) bool { return f.PID == zombie.pid() }) {
					t.Errorf("the tool of the refused worker ran: %+v", e.effects)
				}
			} else if !e.result.OK || len(e.effects) != 1 || e.effects[0].PID != other.pid() {
				t.Errorf("the result is %+v with the effects %+v; want ok with one effect, of process %d", e.result, e.effects, other.pid())
			}
			// The first worker still serves other calls.
			other.kill()
			w.serves(zombie)
		})
	}
}

// TestStoppedBeforeEffect: a worker continues between claim and effect, after the call has ended. A tool that must not be repeated has one
// effect, and the late answer changes nothing.
func TestStoppedBeforeEffect(t *testing.T) {
	t.Parallel()
	for _, toolID := range []string{ledger.Send, ledger.Put, ledger.LocalRead, ledger.Quick} {
		t.Run(toolID, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			zombie := w.work(stopAt(point.EffectBefore)).runs()
			call := w.start(invocation("call", toolID, ledger.In{Text: "hello"}))
			zombie.stopped()
			other := w.work(healthy)
			result, row := w.result(call), w.row(call)
			code, least, most := "ok", 1, 1
			switch toolID {
			case ledger.Send, ledger.Quick:
				code, least, most = "outcome_unknown", 0, 0
			case ledger.Put:
				most = result.Attempts - 1 // the first attempt belongs to the first worker
			case ledger.LocalRead:
				most = result.Attempts + tasksOf(w.history(call.WorkflowID)).lostTasks - 1 // one of them belongs to the first worker
			}
			n := len(w.ledger.Of(call.InvocationID))
			if codeOf(result) != code || n < least || n > most {
				t.Errorf("while the first worker is stopped: %s and %d effects, want %s and %d to %d", codeOf(result), n, code, least, most)
			}
			other.kill()
			zombie.goOn()
			w.until(func() bool { return len(w.ledger.Of(call.InvocationID)) > n }, "the tool of the first worker has its effect")
			if !ledger.Fast(toolID) {
				// The server refuses the answer. If the worker was stopped for longer than the timeout of the attempt, it does not send the
				// answer.
				w.until(func() bool {
					return zombie.log.Has("the answer of an attempt was refused: NotFound") || zombie.log.Has("Activity complete after timeout")
				}, "the late answer is refused")
			}
			w.serves(zombie)
			if now := w.row(call); now != row {
				t.Errorf("the record changed from\n%s to\n%s", row, now)
			}
			e := w.evidence(call, result)
			w.agrees(e)
			if len(e.effects) != n+1 || e.effects[n].PID != zombie.pid() {
				t.Errorf("%d effects, %d of them before the first worker continued; want one more: %+v", len(e.effects), n, e.effects)
			}
		})
	}
}

// TestStoppedBeforeSettle: a worker continues in the task that settles, after another worker has settled the call. The late settle changes
// no row.
func TestStoppedBeforeSettle(t *testing.T) {
	t.Parallel()
	for _, toolID := range []string{ledger.LocalRead, ledger.Send, ledger.Quick} {
		t.Run(toolID, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			zombie := w.work(stopAt(point.SettleBefore)).runs()
			call := w.start(invocation("call", toolID, ledger.In{Text: "hello"}))
			zombie.stopped()
			other := w.work(healthy)
			result, row := w.result(call), w.row(call)
			other.kill()
			zombie.goOn()
			w.until(func() bool { return zombie.log.Has("held at settle.before: ") }, "the late settle is answered")
			if !zombie.log.Has("held at settle.before: settled, <nil>") {
				t.Error("the late settle did not find the record settled")
			}
			if now := w.row(call); now != row {
				t.Errorf("the record changed from\n%s to\n%s", row, now)
			}
			w.agrees(w.evidence(call, result))
			if !result.OK {
				t.Errorf("the call ended with %+v", result)
			}
			w.serves(zombie)
		})
	}
}

// TestStoppedBeforeSettleOfAnOlderEpoch: a worker continues in the task that settles, while a later epoch of the call is not settled. The
// settle of the older epoch writes nothing.
func TestStoppedBeforeSettleOfAnOlderEpoch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	zombie := w.work(stopAt(point.SettleBefore)).runs()
	call := w.start(invocation("call", ledger.LocalRead, ledger.In{Text: "hello"}))
	zombie.stopped()
	other := w.work(stopAt(point.SettleBefore)).runs()
	other.stopped()
	row := w.row(call)
	zombie.goOn()
	w.until(func() bool { return zombie.log.Has("held at settle.before: ") }, "the late settle is answered")
	if !zombie.log.Has("held at settle.before: superseded, <nil>") {
		t.Error("a settle of an older epoch was not refused as superseded")
	}
	// The worker of the later epoch may have lost its task by now. The next task then has a higher
	// epoch.
	if now := w.row(call); now != row && w.record(call.InvocationID).Epoch == 2 {
		t.Errorf("the record changed from\n%s to\n%s", row, now)
	}
	other.goOn()
	result := w.result(call)
	w.agrees(w.evidence(call, result))
	if !result.OK {
		t.Errorf("the call ended with %+v", result)
	}
}

// serves fails the test unless a worker that was stopped serves another call.
func (w *world) serves(c *child) {
	w.t.Helper()
	e := w.start(invocation("after", ledger.LocalRead, ledger.In{Text: "after"}))
	if r := w.result(e); !r.OK {
		w.t.Errorf("the worker that was stopped ended the next call with %+v", r)
	}
	if got := w.ledger.Of(e.InvocationID); len(got) == 0 || got[len(got)-1].PID != c.pid() {
		w.t.Errorf("the next call was served by %+v, want process %d", got, c.pid())
	}
}

// row returns all rows of a call with the transactions that wrote them, so a write of equal values changes it too.
func (w *world) row(call *pawl.Call) string {
	w.t.Helper()
	var lines []string
	for _, table := range []string{"invocations", "stage_events", "hydrations", "attempts", "claims", "approvals", "events"} {
		rows, err := w.queries.Query(w.t.Context(),
			"SELECT '"+table+" ' || xmin::text || ' ' || to_jsonb(t)::text FROM "+table+" t WHERE invocation_id = $1 ORDER BY 1", call.InvocationID)
		if err != nil {
			w.t.Fatal(err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			w.t.Fatal(err)
		}
		lines = append(lines, found...)
	}
	if len(lines) == 0 {
		w.t.Fatalf("the record has no rows of %s", call.WorkflowID)
	}
	return strings.Join(lines, "\n")
}
