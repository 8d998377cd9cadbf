package calls

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/worker"
)

// TestProgress: the progress that a tool reports can be seen while the attempt runs, and not after it. A secret in a report is redacted everywhere.
func TestProgress(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	secret := e2etest.NewCanary()
	w.Secrets.Never("what a tool reports", []byte(secret))
	reported := make(chan toolspec.Progress, 1)
	reports := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		report := capability.ProgressKey.From(call)
		report.Report(ctx, toolspec.Progress{Done: 1, Total: 3, Text: "Bearer " + strings.Repeat(string(secret), 3)})
		if in.Note == "quick" {
			return e2etest.Out{Text: "done"}, nil
		}
		for {
			select {
			case p := <-reported:
				if p.Text == "leave" {
					return e2etest.Out{Text: "done"}, nil
				}
				report.Report(ctx, p)
			case <-ctx.Done():
				return e2etest.Out{}, ctx.Err()
			}
		}
	}
	declared := func(d *toolspec.Definition) {
		d.Capabilities = []toolspec.CapabilityName{capability.ProgressKey.Name()}
	}
	w.Work(worker.Tools(e2etest.Tool("test__long", reports, e2etest.Within(time.Minute), declared),
		e2etest.Tool("test__quick", reports, e2etest.Fast, declared)))
	call := w.Start(e2etest.Invocation("long", "test__long", `{}`))
	sees := func(want toolspec.Progress) {
		t.Helper()
		var p toolspec.Progress
		var last error
		w.Until(func() bool {
			var reported bool
			p, reported, last = w.Pawl.Progress(t.Context(), call.WorkflowID)
			return reported && p == want
		}, "somebody sees the report", &last)
	}
	sees(toolspec.Progress{Done: 1, Total: 3})
	reported <- toolspec.Progress{Done: 2, Total: 3, Text: "two"}
	sees(toolspec.Progress{Done: 2, Total: 3, Text: "two"})
	reported <- toolspec.Progress{Text: "leave"}
	e2etest.WantText(t, w.Result(call), "done")
	if p, reported, err := w.Pawl.Progress(t.Context(), call.WorkflowID); reported || err != nil {
		t.Errorf("after the end there is %+v, %v", p, err)
	}
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("quick", "test__quick", `{"note":"quick"}`)), "done")
	if found := secret.Find(w.Traces(e2etest.Invocation("long", "test__long", `{}`))); len(found) > 0 {
		t.Errorf("the secret is found in %v", found)
	}
}
