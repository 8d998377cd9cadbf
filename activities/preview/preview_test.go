package preview_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pawl-run/pawl/activities/preview"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

type noPolicy struct{}

func (noPolicy) Policy(context.Context, string) (*policy.Policy, error) { return nil, nil }

// show returns a function that shows the preview of a call of a tenant.
func show(t *testing.T, text func(ctx context.Context, call toolspec.Call) string) func(tenant string) (*toolspec.PreviewView, error) {
	t.Helper()
	type none struct{}
	tool := toolspec.WithPreview(toolspec.Define(toolspec.Definition{
		ID: "acme__write", Title: "Write", Description: "Writes.", Version: "1", Effect: toolspec.StateChange, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{""}},
	}, func(context.Context, none, toolspec.Call) (none, error) { return none{}, nil }),
		func(ctx context.Context, _ none, call toolspec.Call) (toolspec.Preview, error) {
			return toolspec.Preview{Text: text(ctx, call)}, nil
		})
	caps, err := toolspec.NewCapabilities()
	if err != nil {
		t.Fatal(err)
	}
	tools := catalog.NewRegistry(caps)
	if err := tools.Add("test", tool); err != nil {
		t.Fatal(err)
	}
	bound, _ := tools.Get("acme__write")
	previews := &preview.Previews{Tools: tools, Policies: noPolicy{}, Secrets: new(fingerprint.Set), Log: slog.New(slog.DiscardHandler)}
	return func(tenant string) (*toolspec.PreviewView, error) {
		view, _, err := previews.Show(t.Context(), hook.Facts{
			ToolID: "acme__write", ToolDigest: bound.Digest(), Args: json.RawMessage(`{}`), SafeArgs: json.RawMessage(`{}`),
			Context: toolspec.Context{TenantID: tenant},
		})
		return view, err
	}
}

// TestRoomOfATenant: slow previews of one tenant, which do not stop in time, leave room for the previews of
// other tenants.
func TestRoomOfATenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		began := 0
		preview := show(t, func(_ context.Context, call toolspec.Call) string {
			if call.Context.TenantID == "slow" {
				began++
				<-release
			}
			return "done"
		})
		for range 4 {
			go func() { _, _ = preview("slow") }()
			synctest.Wait()
		}
		if began != 2 {
			t.Errorf("%d previews of a tenant run at the same time, want 2", began)
		}
		if view, err := preview("other"); err != nil || view.Text != "done" {
			t.Errorf("another tenant: %+v, %v", view, err)
		}
		if _, err := preview("slow"); !errs.IsTransient(err) {
			t.Errorf("one more of the tenant: %v", err)
		}
		close(release)
		synctest.Wait()
		if view, err := preview("slow"); err != nil || view.Text != "done" {
			t.Errorf("after the others: %+v, %v", view, err)
		}
	})
}

// TestTextIsBoundedAsJSON: the history of the call has the view as JSON, so the bound counts the bytes of
// escaped characters.
func TestTextIsBoundedAsJSON(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{
		"plain": "+ a line of text\n", "a line": "x", "HTML": "+<p>&amp;</p>\n", "quotes": `+"\"` + "\n", "controls": "+\x01\x1b\x7f\b\f\r\t\n", "separators": "+\u2028\u2029é漢😀\n", "a line of controls": "\x1b",
	} {
		view, err := show(t, func(context.Context, toolspec.Call) string {
			return strings.Repeat(part, 2*toolspec.MaxPreview/len(part))
		})("acme")
		if err != nil || view.Missing != "" {
			t.Fatal(name, view, err)
		}
		encoded, err := json.Marshal(view.Text)
		if err != nil || len(encoded) > toolspec.MaxPreview+2 || len(encoded) < toolspec.MaxPreview-200 || !view.Truncated {
			t.Errorf("%s: the text has %d bytes in JSON, truncated %v, %v", name, len(encoded), view.Truncated, err)
		}
		if !strings.HasPrefix(strings.Repeat(part, len(view.Text)/len(part)+1), view.Text) {
			t.Errorf("%s: the text is another one", name)
		}
		if strings.Contains(part, "\n") && !strings.HasSuffix(view.Text, "\n") {
			t.Errorf("%s: a line is cut", name)
		}
	}
}
