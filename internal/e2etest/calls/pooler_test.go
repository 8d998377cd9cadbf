package calls

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestCallThroughAPooler: a worker behind PgBouncer in transaction mode runs calls of every lane, with a connection, a quota, a person and a stored output. A
// new policy ends a call that waits.
func TestCallThroughAPooler(t *testing.T) {
	t.Parallel()
	rules := strings.Replace(outputRules, "mode: auto}", "mode: auto, approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}, limits: [{tool: test__send, quota: {tokens: 100, every: 1h}}]}", 1)
	w := e2etest.NewWorld(t, rules)
	c := w.Config()
	c.DatabaseURL, c.DatabaseDirectURL = devstacktest.Pooler(t, w.Database), w.Database
	w.WorkWith(c, worker.Tools(
		e2etest.Tool("test__look", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{Text: strings.Repeat("x", 200_000)}, nil
		}), e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky),
		e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__quick", e2etest.Echo, e2etest.Once, e2etest.Fast, e2etest.Within(time.Second)),
	))
	w.Account("acme", "c1", e2etest.Actor)
	if r := w.Invoke(e2etest.Invocation("look", "test__look", `{}`)); !r.OK || r.OutputRef == "" {
		t.Errorf("look: %+v", r)
	}
	for _, tool := range []string{"test__read", "test__quick"} {
		e2etest.WantText(t, w.Invoke(e2etest.Invocation(tool, tool, `{"text":"hello"}`)), "hello")
	}
	sending := w.Start(e2etest.Over(e2etest.Invocation("send", "test__send", `{"text":"hello"}`), "c1"))
	w.Waiting(sending.WorkflowID)
	w.Approve(sending.WorkflowID)
	if r := w.Result(sending); !r.OK {
		t.Errorf("send: %+v", r)
	}
	waiting := w.Start(e2etest.Invocation("late", "test__send", `{"text":"hello"}`))
	w.Waiting(waiting.WorkflowID)
	w.Apply(strings.ReplaceAll(rules, `"test__*"`, `"test__look"`))
	e2etest.WantCode(t, w.Result(waiting), toolspec.CodePolicyDenied)
}
