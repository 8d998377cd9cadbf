package takeovers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// wire makes a tool that must not be repeated and that has a probe, which can find out whether there was an effect. The text of the call names the file of the
// effects. The note can make the first attempt hang before or after the effect, and can make the probe give no answer.
func wire() toolspec.Tool {
	def := e2etest.Tool("test__wire", nil, e2etest.Once, e2etest.Within(45*time.Second)).Definition()
	def.MaxAttempts = 0
	return toolspec.DefineWithProbe(def, func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		hangs := func(where string) error {
			if call.Attempt > 1 || !strings.Contains(in.Note, where) {
				return nil
			}
			if err := e2etest.Enter(in.Text+".hangs", call.Epoch); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}
		if err := hangs("before"); err != nil {
			return e2etest.Out{}, err
		}
		if err := e2etest.Enter(in.Text, call.IdempotencyKey); err != nil {
			return e2etest.Out{}, err
		}
		return e2etest.Out{Text: "done"}, hangs("after")
	}, func(_ context.Context, in e2etest.In, call toolspec.Call) (toolspec.Found[e2etest.Out], error) {
		if strings.Contains(in.Note, "mute") {
			return toolspec.Found[e2etest.Out]{}, nil
		}
		switch text, err := os.ReadFile(in.Text); {
		case os.IsNotExist(err):
			return toolspec.FoundNoEffect[e2etest.Out](), nil
		case err != nil || strings.TrimSpace(string(text)) != call.IdempotencyKey:
			return toolspec.Found[e2etest.Out]{}, fmt.Errorf("%q: %w", text, err)
		}
		return toolspec.FoundEffect(e2etest.Out{Text: "found", Hidden: "hidden"}), nil
	})
}

// TestLostInExecute: fifty calls that must not be repeated lose their worker while the tool runs, before or after the effect. Then the probe finds out, or a
// person decides, or nobody does. No effect happens twice.
func TestLostInExecute(t *testing.T) {
	t.Parallel()
	const bob = "user:bob"
	type want struct {
		text     string
		code     toolspec.Code
		attempts int
		effects  int
	}
	cases := []struct {
		name, note string
		verb       toolspec.Verb // the decision of a person, "" = none
		tenant     string
		want       want
	}{
		{"no-effect", "before", "", "acme", want{"done", "", 2, 1}},
		{"effect", "after", "", "acme", want{"found", "", 1, 1}},
		{"retry", "mute before", toolspec.Retry, "acme", want{"done", "", 2, 1}},
		{"done", "mute after", toolspec.SettleOK, "acme", want{"", "", 1, 1}},
		{"failed", "mute before", toolspec.SettleFailed, "acme", want{"", toolspec.CodeExecution, 1, 0}},
		{"nobody", "mute after", "", "globex", want{"", toolspec.CodeOutcomeUnknown, 1, 1}},
	}
	counts := map[string]int{"no-effect": 18, "effect": 18, "retry": 4, "done": 4, "failed": 3, "nobody": 3}
	w := e2etest.NewWorld(t, e2etest.ParkingPolicy)
	first := w.ServeInChild()
	results := map[string]func() toolspec.Result{}
	dir := t.TempDir()
	file := func(id string) string { return filepath.Join(dir, id) }
	var hanging, parked []string
	for _, c := range cases {
		for i := range counts[c.name] {
			inv := e2etest.Invocation(fmt.Sprintf("%s-%d", c.name, i), "test__wire", "{}")
			inv.Args = []byte(fmt.Sprintf(`{"text":%q,"note":%q}`, file(inv.ToolCallID), c.note))
			inv.Context.TenantID = c.tenant
			call := w.Start(inv)
			results[inv.ToolCallID] = func() toolspec.Result { return w.Result(call) }
			hanging = append(hanging, file(inv.ToolCallID)+".hangs")
			if c.verb != "" {
				parked = append(parked, call.WorkflowID)
			}
		}
	}
	for _, name := range hanging {
		w.Until(func() bool { return len(w.Effects(name)) == 1 }, name)
	}
	e2etest.Kill(first)
	w.ServeInChild()
	for i, id := range parked {
		view := w.Waiting(id)
		if i == 0 { // the first call is also decided on with the program
			if shown := w.PawlCLI("show " + id)[0]; !strings.Contains(shown, "parked_unknown") {
				t.Errorf("the call is shown as %q", shown)
			}
			printed := w.PawlCLI("approvals", "list --status parked_unknown", "resolve "+view.ApprovalID+" retry --as "+bob, "show "+id)
			for n, word := range []string{"so the effect is unknown: `pawl resolve`", "parked_unknown", "retry counted",
				"outcome unknown (lost)"} {
				if !strings.Contains(printed[n], word) {
					t.Errorf("the program printed %q, and not %q", printed[n], word)
				}
			}
			continue
		}
		if view.Parked != "lost" {
			t.Errorf("%s waits with %+v, want it parked as lost", id, view)
		}
		for _, c := range cases {
			if c.verb != "" && strings.Contains(id, ":"+c.name+"-") {
				if answer := w.Decide(id, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: c.verb, Approver: bob}); !answer.Counted {
					t.Errorf("%s of %s did not count: %s", c.verb, id, answer.Reason)
				}
			}
		}
	}
	for _, c := range cases {
		for i := range counts[c.name] {
			id := fmt.Sprintf("%s-%d", c.name, i)
			r := results[id]()
			got := want{"", r.ErrorCode, r.Attempts, len(w.Effects(file(id)))}
			if len(r.Value) > 0 {
				got.text = strings.TrimSuffix(strings.TrimPrefix(string(r.Value), `{"text":"`), `"}`)
			}
			if got != c.want || r.OK != (c.want.code == "") {
				t.Errorf("%s ended with %+v (%+v), want %+v", id, got, r, c.want)
			}
		}
		if c.tenant == "acme" {
			w.Replay("tool:acme:run:" + c.name + "-0")
		}
	}
}

// TestParkedHoldsNothing: a call with an unknown outcome that waits for a person gives its place to the next call, and waits for a place again before a retry.
func TestParkedHoldsNothing(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.Replace(e2etest.ParkingPolicy, "    mode: auto\n",
		"    mode: auto\n    limits: [{tool: \"test__*\", concurrent: 1, then: wait}]\n", 1))
	var effects e2etest.Ledger
	entered, leave := make(chan struct{}, 3), make(chan struct{})
	f := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		effects.Add(call)
		switch {
		case in.Note == "lost" && call.Attempt == 1:
			<-ctx.Done()
			return e2etest.Out{}, ctx.Err()
		case in.Note == "long":
			entered <- struct{}{}
			<-leave
		}
		return e2etest.Out{Text: "done"}, nil
	}
	w.Work(worker.Tools(e2etest.Tool("test__short", f, e2etest.Once, e2etest.Within(4*time.Second)),
		e2etest.Tool("test__send", f, e2etest.Once, e2etest.Within(2*time.Minute))))
	lost := w.Start(e2etest.Invocation("lost", "test__short", `{"note":"lost"}`))
	view := w.Waiting(lost.WorkflowID)
	if view.Parked == "" {
		t.Fatalf("it waits with %+v", view)
	}
	long := w.Start(e2etest.Invocation("long", "test__send", `{"note":"long"}`))
	e2etest.Receive(t, entered) // it has the only place
	if answer := w.Decide(lost.WorkflowID, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Retry,
		Approver: "user:bob"}); !answer.Counted {
		t.Fatalf("the retry did not count: %s", answer.Reason)
	}
	w.Until(func() bool {
		state, err := w.Pawl.State(t.Context(), lost.WorkflowID)
		return err == nil && state.Status == toolspec.StatusWaitingCapacity
	}, "the retry waits for a place")
	if n := effects.Of("lost"); n != 1 {
		t.Errorf("%d effects before there was a place", n)
	}
	close(leave)
	e2etest.WantText(t, w.Result(long), "done")
	e2etest.WantText(t, w.Result(lost), "done")
	if n := effects.Of("lost"); n != 2 {
		t.Errorf("%d effects, want the lost one and the retry", n)
	}
	w.Replay(lost.WorkflowID)
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM leases`); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}
