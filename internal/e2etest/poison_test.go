package e2etest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
)

// garbler replaces the answers of execute that hold certain texts, each once.
type garbler struct {
	mu      sync.Mutex
	garbage map[string]string // by the text of the answer
}

func (g *garbler) intercept(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if done, ok := request.(*workflowservice.RespondActivityTaskCompletedRequest); ok {
		var answer workflows.ExecuteOut
		var value out
		if converter.GetDefaultDataConverter().FromPayloads(done.GetResult(), &answer) == nil {
			_ = converter.GetDefaultDataConverter().FromPayload(&common.Payload{Metadata: jsonPlain(), Data: answer.Value}, &value)
		}
		g.mu.Lock()
		garbage, ok := g.garbage[value.Text]
		delete(g.garbage, value.Text)
		g.mu.Unlock()
		if ok {
			done.Result = &common.Payloads{Payloads: []*common.Payload{{Metadata: jsonPlain(), Data: []byte(garbage)}}}
		}
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

func jsonPlain() map[string][]byte {
	return map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}
}

// TestPoison: a call whose hook or tool panics, or whose activity answers with garbage, ends alone and with a named code; a call between
// two such is served.
func TestPoison(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	poisoned := func(text string) bool { return strings.Contains(text, "poison") }
	g := &garbler{garbage: map[string]string{}}
	cases := map[string]struct {
		toolID  string
		garbage string
		code    toolspec.Code // "" = ok
		runs    int
	}{
		"tool":                  {"test__panics", "", toolspec.CodeExecution, 1},
		"tool-fast":             {"test__panics_fast", "", toolspec.CodeExecution, 1},
		"stage":                 {"test__hooked", "", toolspec.CodeInternal, 0},
		"attempt":               {"test__around", "", toolspec.CodeInternal, 0},
		"garbage-once":          {"test__send", `7`, toolspec.CodeOutcomeUnknown, 1},
		"garbage-idempotent":    {"test__write", `7`, "", 2},
		"no-json-once":          {"test__send", "\x00\xff", toolspec.CodeOutcomeUnknown, 1},
		"wrong-type-idempotent": {"test__write", `{"outcome":{}}`, "", 2},
	}
	for name, c := range cases {
		if c.garbage != "" {
			g.garbage["poison "+name] = c.garbage
		}
	}
	panics := effects.counted(func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		if poisoned(in.Text) {
			panic(in.Text)
		}
		return echo(ctx, in, call)
	})
	w.workWith(w.intercepted(g.intercept), worker.Tools(
		tool("test__panics", panics, idempotent, attempts(1)), tool("test__panics_fast", panics, fast, attempts(1)),
		tool("test__hooked", effects.counted(echo), fast), tool("test__around", effects.counted(echo), idempotent),
		tool("test__send", effects.counted(echo), once), tool("test__write", effects.counted(echo), idempotent),
	), worker.ToolHooks("test__hooked", hook.New("stage-panics", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
		if poisoned(string(v.Args())) {
			panic("poison")
		}
		return nil
	}))), worker.ToolHooks("test__around", hook.New("attempt-panics", hook.WillExecute.Do(func(_ context.Context, v *hook.Attempt) error {
		if poisoned(string(v.Args())) {
			panic("poison")
		}
		return nil
	}))))
	for name, c := range cases {
		bad := w.start(invocation(name, c.toolID, fmt.Sprintf(`{"text":"poison %s"}`, name)))
		good := w.start(invocation("good-"+name, c.toolID, `{"text":"hello"}`))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			wantText(t, w.result(good), "hello")
			r, runs := w.result(bad), effects.of(name)
			// What may be repeated may run again on a busy machine.
			again := c.runs > 0 && (c.toolID == "test__panics_fast" || c.toolID == "test__write")
			if r.OK != (c.code == "") || r.ErrorCode != c.code || runs < c.runs || runs > c.runs && !again {
				t.Errorf("after %d runs the call ended with %+v, want %q after %d", runs, r, c.code, c.runs)
			}
			if record := w.record(invocation(name, "", "")); record.Result == nil || !same(*record.Result, r) {
				t.Errorf("the record is %+v", record)
			}
			w.wantSound(bad.WorkflowID)
			w.replay(bad.WorkflowID)
		})
	}
}

// TestPoisonedWorkflow: a call whose workflow panics is stuck alone and in sight: its task fails and is tried again, the log says so, and
// others are served. A reset heals it, as the record knows what happened.
func TestPoisonedWorkflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	// An answer that decodes and that no version of the workflow knows.
	g := &garbler{garbage: map[string]string{"poison": `{"outcome":"unheard of"}`}}
	w.workWith(w.intercepted(g.intercept), worker.Tools(tool("test__send", effects.counted(echo), once)))
	inv := invocation("stuck", "test__send", `{"text":"poison"}`)
	stuck := w.start(inv)
	w.until(func() bool {
		d := w.describe(stuck.WorkflowID)
		return d.GetPendingWorkflowTask().GetAttempt() > 1 && d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}, "the task of the call is tried again")
	failures := count(w.history(stuck.WorkflowID, ""), enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED)
	if failures == 0 || !w.log.has("Workflow panic") {
		t.Errorf("%d failed tasks in the history; want some, and a line in the log", failures)
	}
	wantText(t, w.invoke(invocation("good", "test__send", `{"text":"hello"}`)), "hello")
	r := w.resultOf(stuck.WorkflowID, w.reset(stuck.WorkflowID))
	wantCode(t, r, toolspec.CodeOutcomeUnknown)
	if n := effects.of("stuck"); n != 1 || !same(r, *w.record(inv).Result) {
		t.Errorf("%d effects, and the result %+v is not the recorded one", n, r)
	}
}
