package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// changing are hooks that change the arguments and the output of a tool.
func changing() hook.Hook {
	set := func(text string) func(context.Context, *hook.Input) error {
		return func(_ context.Context, v *hook.Input) error {
			var args in
			if err := json.Unmarshal(v.Args(), &args); err != nil {
				return err
			}
			args.Text += text
			v.SetArgs(args)
			return nil
		}
	}
	return hook.New("changing",
		hook.WillParseInput.Do(set(" parsed")), hook.WillNormalizeInput.Do(set(" normal")),
		hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
			v.SetOutput(out{Text: "shaped", Hidden: "hidden"})
			return nil
		}))
}

// historyOptions make a worker that changes what the tool test__changed takes and gives.
func historyOptions() []worker.Option {
	return []worker.Option{
		worker.Tools(tool("test__changed", echo, once, risky, masks("/note"))),
		worker.ToolHooks("test__changed", changing()),
	}
}

// TestHistoriesSurviveTheWorker: the record has every value that the arguments and the output had, whichever worker saw it, and nothing of
// what is masked.
func TestHistoriesSurviveTheWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	first := w.serveInChild()
	const canary, edited = "canary-51c0", "canary-77e2"
	inv := invocation("changed", "test__changed", `{"text":"sent","note":"`+canary+`"}`)
	call := w.start(inv)
	view := w.waiting(call.WorkflowID)
	kill(first) // the input stages have run, and the tool has not
	w.serveInChild()
	w.decide(call.WorkflowID, toolspec.Decision{
		ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Approver: ann, EditedArgs: json.RawMessage(`{"text":"edited","note":"` + edited + `"}`),
	})
	w.decide(call.WorkflowID, approval(w.waiting(call.WorkflowID, view.ApprovalID).ApprovalID, ben))
	wantText(t, w.result(call), "shaped")

	record := w.record(inv)
	view4 := func(text string) string { return `{"note":"***","text":"` + text + `"}` }
	want := "[" + strings.Join([]string{view4("sent"), view4("sent parsed"), view4("sent parsed normal"), view4("edited")}, " ") + "]"
	if got := fmt.Sprintf("%s", record.InputHistory); got != want {
		t.Errorf("the arguments were %s, want %s", got, want)
	}
	if got, want := fmt.Sprintf("%s", record.OutputHistory), `[{"text":"edited"} {"text":"shaped"}]`; got != want {
		t.Errorf("the output was %s, want %s", got, want)
	}
	row := scalar[string](w, `SELECT (SELECT i::text FROM invocations i) || (SELECT string_agg(a::text, ' ') FROM approvals a)`)
	if strings.Contains(row, canary) || strings.Contains(row, edited) {
		t.Errorf("what is masked is in the record: %s", row)
	}
	texts := w.pawlCLI("show changed --tenant acme", "show changed --tenant acme --json")
	for i, want := range []string{"arguments over time (redacted)", `"inputHistory"`} {
		if !strings.Contains(texts[i], want) || !strings.Contains(texts[i], "sent parsed normal") || strings.Contains(texts[i], canary) {
			t.Errorf("pawl show prints %s", texts[i])
		}
	}
	w.replay(call.WorkflowID)
}
