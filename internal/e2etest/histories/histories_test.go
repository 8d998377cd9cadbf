package histories

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// changing returns a hook that changes the arguments and the output of a tool.
func changing() hook.Hook {
	set := func(text string) func(context.Context, *hook.Input) error {
		return func(_ context.Context, v *hook.Input) error {
			var args e2etest.In
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
			v.SetOutput(e2etest.Out{Text: "shaped", Hidden: "hidden"})
			return nil
		}))
}

// historyOptions returns the options of a worker that changes the arguments and the output of the tool test__changed.
func historyOptions() []worker.Option {
	return []worker.Option{
		worker.Tools(e2etest.Tool("test__changed", e2etest.Echo, e2etest.Once, e2etest.Risky, e2etest.Masks("/note"))),
		worker.ToolHooks("test__changed", changing()),
	}
}

// TestHistoriesSurviveTheWorker: the record has every value that the arguments and the output of a call have had, on all its workers, without the masked
// parts.
func TestHistoriesSurviveTheWorker(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	first := w.ServeInChild()
	const canary, edited = "canary-51c0", "canary-77e2"
	inv := e2etest.Invocation("changed", "test__changed", `{"text":"sent","note":"`+canary+`"}`)
	call := w.Start(inv)
	view := w.Waiting(call.WorkflowID)
	e2etest.Kill(first) // at this point the input stages have run and the tool has not
	w.ServeInChild()
	w.Decide(call.WorkflowID, toolspec.Decision{
		ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Approver: e2etest.Ann, EditedArgs: json.RawMessage(`{"text":"edited","note":"` + edited + `"}`),
	})
	w.Decide(call.WorkflowID, e2etest.Approving(w.Waiting(call.WorkflowID, view.ApprovalID).ApprovalID, e2etest.Ben))
	e2etest.WantText(t, w.Result(call), "shaped")

	record := w.Record(inv)
	view4 := func(text string) string { return `{"note":"***","text":"` + text + `"}` }
	want := "[" + strings.Join([]string{view4("sent"), view4("sent parsed"), view4("sent parsed normal"), view4("edited")}, " ") + "]"
	if got := fmt.Sprintf("%s", record.InputHistory); got != want {
		t.Errorf("the arguments were %s, want %s", got, want)
	}
	if got, want := fmt.Sprintf("%s", record.OutputHistory), `[{"text":"edited"} {"text":"shaped"}]`; got != want {
		t.Errorf("the output was %s, want %s", got, want)
	}
	row := e2etest.Scalar[string](w, `SELECT (SELECT i::text FROM invocations i) || (SELECT string_agg(a::text, ' ') FROM approvals a)`)
	if strings.Contains(row, canary) || strings.Contains(row, edited) {
		t.Errorf("what is masked is in the record: %s", row)
	}
	texts := w.PawlCLI("show changed --tenant acme", "show changed --tenant acme --json")
	for i, want := range []string{"arguments over time (redacted)", `"inputHistory"`} {
		if !strings.Contains(texts[i], want) || !strings.Contains(texts[i], "sent parsed normal") || strings.Contains(texts[i], canary) {
			t.Errorf("pawl show prints %s", texts[i])
		}
	}
	w.Replay(call.WorkflowID)
}
