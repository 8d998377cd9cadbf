package authorization

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestShadowPolicy: the shadow policy judges every call. The record has its answer beside the answer of the live policy, and its answer has no effect.
func TestShadowPolicy(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__echo", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__write", e2etest.Echo, e2etest.Once)))
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("before", "test__echo", `{"text":"hello"}`)), "hello")
	shadow := func(rules string) *policy.Policy {
		p, err := policy.Parse("shadow.yaml", []byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Store.SetShadow(t.Context(), p, "user:ops"); err != nil {
			t.Fatal(err)
		}
		w.Until(func() bool { return w.Log.Has("shadow policy\" digest=" + p.Digest()) }, "the worker has heard of the shadow")
		return p
	}
	p := shadow(e2etest.PlainPolicyWith(t, "mode: auto", "mode: auto\n    rules: [{tool: test__echo, decision: deny}]"))
	for _, id := range []string{"one", "two"} {
		e2etest.WantText(t, w.Invoke(e2etest.Invocation(id, "test__echo", `{"text":"hello"}`)), "hello")
	}
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("three", "test__write", `{"text":"hello"}`)), "hello")
	other := e2etest.Invocation("four", "core__nothing", `{}`)
	e2etest.WantCode(t, w.Invoke(other), toolspec.CodeUnavailable)

	lines, err := w.Store.ShadowReport(t.Context(), p.Digest(), "acme", time.Now().Add(-time.Hour))
	if err != nil || len(lines) != 2 {
		t.Fatalf("%+v, %v", lines, err)
	}
	for i, want := range []struct {
		tool, live, shadow, rule string
		calls                    int
	}{
		{"test__echo", "allow", "deny", "tenants.acme.rules[0]", 2},
		{"test__write", "allow", "allow", "mode auto, risk low", 1},
	} {
		if l := lines[i]; l.ToolID != want.tool || l.Live != want.live || l.Shadow != want.shadow || l.Rule != want.rule ||
			l.Calls != want.calls {
			t.Errorf("line %d: %+v, want %+v", i, l, want)
		}
	}
	// A call that the live policy denies without looking at the arguments is judged by both policies too.
	w.Apply(noTests(t))
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("five", "test__write", `{"text":"hello"}`)), toolspec.CodePolicyDenied)
	lines, err = w.Store.ShadowReport(t.Context(), p.Digest(), "", time.Now().Add(-time.Hour))
	if err != nil || len(lines) != 3 || !hasLine(lines, "deny", "allow") {
		t.Errorf("%+v, %v", lines, err)
	}
	if _, err := w.Store.SetShadow(t.Context(), nil, "user:ops"); err != nil {
		t.Fatal(err)
	}
	w.Until(func() bool { return w.Log.Has(`msg="shadow policy" digest=""`) }, "the worker has heard that there is none")
	w.Replay("tool:acme:run:one")
}

func hasLine(lines []policies.Shadowed, live, shadow string) bool {
	for _, l := range lines {
		if l.Live == live && l.Shadow == shadow {
			return true
		}
	}
	return false
}
