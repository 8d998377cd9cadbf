package outages

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// Each text is a part of one of the statements that write the record of a call.
const (
	sqlAdmit   = "INSERT INTO invocations"
	sqlClaim   = "), claimed AS ("
	sqlCheck   = "), buried AS ("
	sqlSettle  = "), staged AS ("
	sqlRequest = "), opened AS ("
	sqlDecide  = "), decided AS ("
)

// TestLostCommitAnswers: for every write of a call, the next try finds the write if the answer to its commit was lost. Nothing is written twice. An epoch that
// such an admit has raised does not block the call.
func TestLostCommitAnswers(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	proxy := w.Proxied()
	var effects e2etest.Ledger
	w.Work(worker.Tools(
		e2etest.Tool("test__read", effects.Counted(e2etest.Echo), e2etest.Fast),
		e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Idempotent),
		e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once),
		e2etest.Tool("test__asked", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
	))
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("before", "test__send", `{"text":"hello"}`)), "hello")
	for _, c := range []struct {
		name, tool string
		lost       []string
	}{
		{"admit of a read", "test__read", []string{sqlAdmit}},
		{"admit", "test__send", []string{sqlAdmit}},
		{"settle of a read", "test__read", []string{sqlSettle}},
		{"settle", "test__send", []string{sqlSettle}},
		{"request", "test__asked", []string{sqlRequest}},
		{"decision", "test__asked", []string{sqlDecide}},
		{"claim of what may be repeated", "test__write", []string{sqlClaim}},
		{"claim", "test__send", []string{sqlClaim}},
		{"claim and check", "test__send", []string{sqlClaim, sqlCheck}},
		{"claim of what was approved", "test__asked", []string{sqlClaim}},
		{"all", "test__asked", []string{sqlAdmit, sqlRequest, sqlDecide, sqlClaim, sqlSettle}},
	} {
		// The cases run one after the other, because the lost answers are a setting of the whole proxy.
		loss := proxy.LoseAnswers(1, c.lost...)
		proxy.Cut()
		inv := e2etest.Invocation(toolCallID(c.name), c.tool, `{"text":"hello"}`)
		call := w.Start(inv)
		if c.tool == "test__asked" {
			w.Approve(call.WorkflowID)
		}
		r := w.Result(call)
		effect, record := effects.Of(inv.ToolCallID), w.Record(inv)
		if loss.Lost() < 1 || c.name != "claim and check" && loss.Lost() != len(c.lost) {
			t.Errorf("%s: %d answers were lost, want %d", c.name, loss.Lost(), len(c.lost))
		}
		if len(record.Stages) == 0 || record.Outcome != outcomeOf(r) || len(record.Approvals) > 1 {
			t.Errorf("%s: the record is %+v, and the answer %+v", c.name, record, r)
		}
		// A read of the local lane may run again with its workflow task.
		if !r.OK || effect < 1 || effect > 1 && c.tool != "test__read" {
			t.Errorf("%s: %d effects, and the call ended with %+v", c.name, effect, r)
		}
		w.Replay(call.WorkflowID)
	}
}

func outcomeOf(r toolspec.Result) string {
	if r.OK {
		return "ok"
	}
	return string(r.ErrorCode)
}

func toolCallID(name string) string {
	id := []byte(name)
	for i, b := range id {
		if b == ' ' {
			id[i] = '-'
		}
	}
	return string(id)
}
