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

// TestStoppedBeforeClaim: a worker wakes up before its claim, while another one has the call. Its claim is refused, its tool does not run.
func TestStoppedBeforeClaim(t *testing.T) {
	t.Parallel()
	for _, toolID := range []string{ledger.Put, ledger.Send} {
		t.Run(toolID, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			zombie := w.work(stopAt(point.ClaimBefore)).runs()
			call := w.start(invocation("call", toolID, ledger.In{Text: "hello"}))
			zombie.stopped()
			// The other one is held up in its turn, with the call open and in a later epoch: what refuses the claim is not that all is over.
			other := w.work(stopAt(point.EffectBefore)).runs()
			other.stopped()
			if r := w.record(call.InvocationID); r.Result != nil || r.Epoch < 2 || len(r.Claims) < 2 {
				t.Errorf("the call is in epoch %d with %+v and the result %+v; want it open in epoch 2", r.Epoch, r.Claims, r.Result)
			}
			zombie.goOn()
			w.until(func() bool { return zombie.log.Has("held at claim.before: ") }, "the claim is answered")
			if !zombie.log.Has("held at claim.before: superseded, <nil>") {
				t.Error("the claim of a worker that was held up was not refused as superseded")
			}
			other.goOn()
			e := w.evidence(call, w.result(call))
			w.agrees(e)
			// One attempt is lost, that of the first worker; where more are, the other one was held up until it was given up, too.
			if e.tasks.lostAttempts > 1 {
				t.Logf("the other worker was held up for too long: %s, %s", codeOf(e.result), e.tasks)
				// What may be repeated may have come to the first worker again, with a claim that counts.
				if toolID == ledger.Send && slices.ContainsFunc(e.effects, func(f ledger.Effect) bool { return f.PID == zombie.pid() }) {
					t.Errorf("the tool of the refused worker ran: %+v", e.effects)
				}
			} else if !e.result.OK || len(e.effects) != 1 || e.effects[0].PID != other.pid() {
				t.Errorf("%+v with the effects %+v; want ok with one, of process %d", e.result, e.effects, other.pid())
			}
			// It still serves others.
			other.kill()
			w.serves(zombie)
		})
	}
}

// TestStoppedBeforeEffect: a worker wakes up between claim and effect, after the call has ended without it. What must not be repeated
// happens once, and the late answer changes nothing.
func TestStoppedBeforeEffect(t *testing.T) {
	t.Parallel()
	for _, toolID := range []string{ledger.Send, ledger.Put, ledger.LocalRead} {
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
			case ledger.Send:
				code, least, most = "outcome_unknown", 0, 0
			case ledger.Put:
				most = result.Attempts - 1 // the first one is that of the first worker
			case ledger.LocalRead:
				most = result.Attempts + tasksOf(w.history(call.WorkflowID)).lostTasks - 1 // one of them is the first worker's
			}
			n := len(w.ledger.Of(call.InvocationID))
			if codeOf(result) != code || n < least || n > most {
				t.Errorf("while the first worker stands still: %s and %d effects, want %s and %d to %d", codeOf(result), n, code, least, most)
			}
			other.kill()
			zombie.goOn()
			w.until(func() bool { return len(w.ledger.Of(call.InvocationID)) > n }, "the tool of the first worker has its effect")
			if toolID != ledger.LocalRead {
				// The server refuses it; or the worker, which stood still for longer than its attempt may take, does not even send it.
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
				t.Errorf("%d effects after %d of others, want one more: %+v", len(e.effects), n, e.effects)
			}
		})
	}
}

// TestStoppedBeforeSettle: a worker wakes up in the task that settles, after another one has settled. It changes no row.
func TestStoppedBeforeSettle(t *testing.T) {
	t.Parallel()
	for _, toolID := range []string{ledger.LocalRead, ledger.Send} {
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
				t.Error("a settle that came late did not find the record settled")
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

// TestStoppedBeforeSettleOfAnOlderEpoch: a worker wakes up in the task that settles while another run has the call and has not settled
// yet. Nothing is written before the later one settles.
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
	// The later run may have lost its task by now; the one after it has an epoch of its own.
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

// serves fails unless a worker that was held up still does its work.
func (w *world) serves(c *child) {
	w.t.Helper()
	e := w.start(invocation("after", ledger.LocalRead, ledger.In{Text: "after"}))
	if r := w.result(e); !r.OK {
		w.t.Errorf("the worker that was held up makes %+v of the next call", r)
	}
	if got := w.ledger.Of(e.InvocationID); len(got) == 0 || got[len(got)-1].PID != c.pid() {
		w.t.Errorf("the next call was served by %+v, want process %d", got, c.pid())
	}
}

// row is everything that the record holds of a call, with the transactions that wrote it: what is written again with the same values
// shows, too.
func (w *world) row(call *pawl.Call) string {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close(w.t.Context())
	var lines []string
	for _, table := range []string{"invocations", "stage_events", "hydrations", "attempts", "claims", "approvals", "events"} {
		rows, err := conn.Query(w.t.Context(),
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
		w.t.Fatalf("the record has nothing of %s", call.WorkflowID)
	}
	return strings.Join(lines, "\n")
}
