package e2etest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/worker"
)

// TestProgress: what a tool reports is seen while it runs, with the attempt it is gone, and a secret in it goes nowhere.
func TestProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	secret := newCanary()
	w.secrets.never("what a tool reports", []byte(secret))
	told := make(chan toolspec.Progress, 1)
	reports := func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		report := capability.ProgressKey.From(call)
		report.Report(ctx, toolspec.Progress{Done: 1, Total: 3, Text: "Bearer " + strings.Repeat(string(secret), 3)})
		if in.Note == "quick" {
			return out{Text: "done"}, nil
		}
		for {
			select {
			case p := <-told:
				if p.Text == "leave" {
					return out{Text: "done"}, nil
				}
				report.Report(ctx, p)
			case <-ctx.Done():
				return out{}, ctx.Err()
			}
		}
	}
	declared := func(d *toolspec.Definition) {
		d.Capabilities = []toolspec.CapabilityName{capability.ProgressKey.Name()}
	}
	w.work(worker.Tools(tool("test__long", reports, within(time.Minute), declared), tool("test__quick", reports, fast, declared)))
	call := w.start(invocation("long", "test__long", `{}`))
	sees := func(want toolspec.Progress) {
		t.Helper()
		var p toolspec.Progress
		var last error
		w.until(func() bool {
			var reported bool
			p, reported, last = w.pawl.Progress(t.Context(), call.WorkflowID)
			return reported && p == want
		}, "somebody sees the report", &last)
	}
	sees(toolspec.Progress{Done: 1, Total: 3})
	told <- toolspec.Progress{Done: 2, Total: 3, Text: "two"}
	sees(toolspec.Progress{Done: 2, Total: 3, Text: "two"})
	told <- toolspec.Progress{Text: "leave"}
	wantText(t, w.result(call), "done")
	if p, reported, err := w.pawl.Progress(t.Context(), call.WorkflowID); reported || err != nil {
		t.Errorf("after the end there is %+v, %v", p, err)
	}
	wantText(t, w.invoke(invocation("quick", "test__quick", `{"note":"quick"}`)), "done")
	if found := secret.find(w.traces(invocation("long", "test__long", `{}`))); len(found) > 0 {
		t.Errorf("the secret is found in %v", found)
	}
}
