package outputs

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// TestHookOnALargeValue: a hook gets a whole value of 500 KiB and replaces it. The history has only short
// forms of the values, and the store has both. Neither has a text that the tool hides, whether the tool or
// the hook has written it.
func TestHookOnALargeValue(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	hidden, masked := e2etest.NewCanary(), e2etest.NewCanary()
	const size = 740_000 / shrink // 500 KiB when it is masked
	text := func(letter string) string {
		line := strings.Repeat(letter, 80) + " " + string(masked) + "@example.org\n"
		return strings.Repeat(line, size/len(line)+1)
	}
	clean := func(text string) string {
		return strings.ReplaceAll(text, string(masked)+"@example.org", toolspec.Mask)
	}
	give := func(_ context.Context, in e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
		return e2etest.Out{Text: in.Note + text("a"), Hidden: string(hidden)}, nil
	}
	mask := func(d *toolspec.Definition) {
		d.Redaction.MaskOutput = []toolspec.Masking{{Path: "/text", With: toolspec.MaskEmail}}
	}
	seen := make(chan int, 16)
	w.Work(worker.Tools(
		e2etest.Tool("test__write", give, e2etest.Idempotent, mask), e2etest.Tool("test__read", give, e2etest.Fast, mask),
	), worker.Hooks(hook.New("shape", hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
		var out e2etest.Out
		if err := json.Unmarshal(v.Output(), &out); err != nil {
			return err
		}
		seen <- len(out.Text)
		switch note, _, _ := strings.Cut(out.Text, " "); note {
		case "grow":
			v.SetOutput(e2etest.Out{Text: strings.Repeat("b", toolspec.DefaultMaxResult)})
		case "cut":
			v.SetOutput(e2etest.Out{Text: out.Text[:9], Hidden: string(hidden)})
		default:
			v.SetOutput(e2etest.Out{Text: strings.ReplaceAll(out.Text, "a", "b") + text("c"), Hidden: string(hidden)})
		}
		return nil
	}))))
	var calls []toolspec.Invocation
	for _, toolID := range []string{"test__write", "test__read"} {
		inv := e2etest.Invocation(toolID, toolID, `{}`)
		calls = append(calls, inv)
		r := w.Invoke(inv)
		want := strings.ReplaceAll(clean(text("a")), "a", "b") + clean(text("c"))
		if !r.OK || !r.Truncated || r.OutputRef == "" || r.Bytes < 950_000/shrink || len(r.Value) > toolspec.MaxInline {
			t.Fatalf("%s ended with ok=%t, truncated=%t, %d bytes, %s", toolID, r.OK, r.Truncated, r.Bytes, r.SafeMessage)
		}
		if n := <-seen; n != len(clean(text("a"))) {
			t.Errorf("the hook of %s saw %d bytes", toolID, n)
		}
		value, err := w.Pawl.Output(t.Context(), "acme", r.OutputRef)
		var out e2etest.Out
		if err != nil || json.Unmarshal(value, &out) != nil || out.Text != want || out.Hidden != "" || int64(len(value)) != r.Bytes {
			t.Errorf("%s: the stored value has %d bytes of %d, %v", toolID, len(value), r.Bytes, err)
		}
		if !strings.Contains(string(r.Value), strings.Repeat("b", 80)) || strings.Contains(string(r.Value), strings.Repeat("a", 80)) {
			t.Errorf("%s: the short form is not that of the hook's value: %.200s", toolID, r.Value)
		}
		w.Replay(inv.Identity().WorkflowID())
	}
	// If a hook makes the value small, the result has no reference.
	small := e2etest.Invocation("cut", "test__write", `{"note":"cut "}`)
	r := w.Invoke(small)
	if e2etest.WantText(t, r, "cut aaaaa"); r.Truncated || r.OutputRef != "" || r.Bytes != int64(len(r.Value)) {
		t.Errorf("the small value is described as %+v", r.Info())
	}
	// The limit of the tool also applies to the value of a hook.
	large := e2etest.Invocation("grow", "test__write", `{"note":"grow "}`)
	r = w.Invoke(large)
	if e2etest.WantCode(t, r, toolspec.CodeResultTooLarge); len(r.Value) > 0 || r.OutputRef != "" {
		t.Errorf("the call ended with %+v", r.Info())
	}
	calls = append(calls, small, large)
	for _, inv := range calls {
		for _, e := range w.History(inv.Identity().WorkflowID(), "").GetEvents() {
			if n := len(e.String()); n > 2*toolspec.MaxInline {
				t.Errorf("%s: %s has %d bytes", inv.ToolCallID, e.GetEventType(), n)
			}
		}
	}
	traces := w.Traces(calls...)
	// The values of the tools expire with the end of their calls, but are stored until upkeep deletes them.
	e2etest.Query[string](w, `UPDATE outputs SET state = 'complete', expires_at = now() + interval '1 day' RETURNING ref`)
	refs := e2etest.Query[string](w, `SELECT ref FROM outputs`)
	if len(refs) < 6 {
		t.Errorf("%d values are stored", len(refs))
	}
	for _, ref := range refs {
		value, err := w.Store.Output(t.Context(), "acme", ref)
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, e2etest.Trace{Where: "output " + ref, Text: value})
	}
	for what, secret := range map[string]e2etest.Canary{"hidden": hidden, "masked": masked} {
		if where := secret.Find(traces); len(where) > 0 {
			t.Errorf("the %s text stands in %q", what, where)
		}
	}
}
