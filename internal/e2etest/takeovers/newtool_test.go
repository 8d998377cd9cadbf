package takeovers

import (
	"fmt"
	"strings"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestToolOfAnotherWorker checks calls that reach a worker without their tool. If another worker has had the tool, the call waits for such a worker, and runs
// under the plan of that worker. A call of a tool that no worker has fails immediately.
func TestToolOfAnotherWorker(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	newer := []worker.Option{worker.Tools(e2etest.Tool("test__new", effects.Counted(e2etest.Echo), e2etest.Once))}
	stop := w.Work(newer...)
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("first", "test__new", `{"text":"hello"}`)), "hello")
	stop()

	stop = w.Work()
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("unknown", "test__unknown", `{}`)), toolspec.CodeUnavailable)
	inv := e2etest.Invocation("new", "test__new", `{"text":"hello"}`)
	call := w.Start(inv)
	w.Until(func() bool { return strings.Contains(w.History(call.WorkflowID, "").String(), "tool test__new") }, "the call waits for its tool")
	stop()

	w.Work(newer...)
	e2etest.WantText(t, w.Result(call), "hello")
	if n := effects.Of("new"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if plan := e2etest.Scalar[string](w, `SELECT plan ->> 'toolDigest' FROM invocations WHERE tool_call_id = 'new'`); plan == "" {
		t.Error("the record has no plan of the tool")
	}
}

// TestToolBesideAWorkerWithoutIt checks that calls reach the worker with their tool while a worker without the tool runs. It makes no
// difference whether the other worker lacks the tool or the operator turned the tool off there.
func TestToolBesideAWorkerWithoutIt(t *testing.T) {
	t.Parallel()
	added := worker.Tools(e2etest.Tool("test__new", e2etest.Echo, e2etest.Once))
	for name, beside := range map[string]func(*e2etest.World){
		"it lacks the tool": func(w *e2etest.World) { w.Work() },
		"the tool is turned off there": func(w *e2etest.World) {
			c := w.Config()
			c.DisabledTools = []string{"test__new"}
			w.WorkWith(c, added)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := e2etest.NewWorld(t, e2etest.PlainPolicy)
			beside(w)
			w.Work(added)
			w.Until(func() bool {
				return e2etest.Scalar[int](w, `SELECT count(*)::int FROM worker_tools WHERE tool_id = 'test__new'`) == 1
			}, "the second worker runs")
			var calls []*pawl.Call
			for i := range 10 {
				calls = append(calls, w.Start(e2etest.Invocation(fmt.Sprint("call-", i), "test__new", `{"text":"hello"}`)))
			}
			for _, call := range calls {
				e2etest.WantText(t, w.Result(call), "hello")
			}
		})
	}
}
