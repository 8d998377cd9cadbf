package histories

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	acts "github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// garbler replaces answers of the activity execute by garbage. It does so once for each text in garbage.
type garbler struct {
	mu      sync.Mutex
	garbage map[string]string // by a text that the answer contains
}

func (g *garbler) intercept(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if done, ok := request.(*workflowservice.RespondActivityTaskCompletedRequest); ok {
		var answer contract.ExecuteOut
		var value e2etest.Out
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

// idle is a hook that does nothing.
func idle() hook.Hook {
	return hook.New("idle", hook.OnMetrics.Do(func(context.Context, *hook.Report) error { return nil }))
}

// TestPoison: a call whose hook or tool panics, or whose activity answers with garbage, ends with a named code and does not affect other calls. A call between
// two such calls succeeds.
func TestPoison(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
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
	panics := effects.Counted(func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		if poisoned(in.Text) {
			panic(in.Text)
		}
		return e2etest.Echo(ctx, in, call)
	})
	w.WorkWith(w.Intercepted(g.intercept), worker.Tools(
		e2etest.Tool("test__panics", panics, e2etest.Idempotent, e2etest.Attempts(1)),
		e2etest.Tool("test__panics_fast", panics, e2etest.Fast, e2etest.Attempts(1)),
		e2etest.Tool("test__hooked", effects.Counted(e2etest.Echo), e2etest.Fast),
		e2etest.Tool("test__around", effects.Counted(e2etest.Echo), e2etest.Idempotent),
		e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once),
		e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Idempotent),
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
		bad := w.Start(e2etest.Invocation(name, c.toolID, fmt.Sprintf(`{"text":"poison %s"}`, name)))
		good := w.Start(e2etest.Invocation("good-"+name, c.toolID, `{"text":"hello"}`))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			e2etest.WantText(t, w.Result(good), "hello")
			r, runs := w.Result(bad), effects.Of(name)
			// On a busy machine a tool that may be repeated may run again.
			again := c.runs > 0 && (c.toolID == "test__panics_fast" || c.toolID == "test__write")
			if r.OK != (c.code == "") || r.ErrorCode != c.code || runs < c.runs || runs > c.runs && !again {
				t.Errorf("after %d runs the call ended with %+v, want %q after %d", runs, r, c.code, c.runs)
			}
			if record := w.Record(e2etest.Invocation(name, "", "")); record.Result == nil || !e2etest.SameResult(*record.Result, r) {
				t.Errorf("the record is %+v", record)
			}
			w.WantSound(bad.WorkflowID)
			w.Replay(bad.WorkflowID)
		})
	}
}

// TestPoisonedWorkflow: a call whose workflow panics does not go on: its workflow task fails and is tried again, and the log says so. Other calls are not
// affected. After a reset the call goes on, because the record has what happened.
func TestPoisonedWorkflow(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	// The worker gives an answer that can be decoded and that no version of the workflow handles.
	var poisoned sync.Once
	send := e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once)
	w.T.Cleanup(workWithout(w, contract.Execute.Name(), []toolspec.Tool{send}, "test__send", idle(),
		func(r contract.Registry, a *acts.Activities, keys contract.Signer) {
			contract.BindSigned(r, contract.Execute, keys, slog.New(slog.DiscardHandler),
				func(ctx context.Context, in contract.ExecuteIn) (contract.ExecuteOut, error) {
					answer, err := a.Execute(ctx, in)
					if strings.Contains(string(in.Facts.Args), "poison") {
						poisoned.Do(func() { answer = contract.ExecuteOut{Outcome: "unheard of"} })
					}
					return answer, err
				})
		}))
	inv := e2etest.Invocation("stuck", "test__send", `{"text":"poison"}`)
	stuck := w.Start(inv)
	w.Until(func() bool {
		d := w.Describe(stuck.WorkflowID)
		return d.GetPendingWorkflowTask().GetAttempt() > 1 &&
			d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}, "the task of the call is tried again")
	failures := e2etest.CountEvents(w.History(stuck.WorkflowID, ""), enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED)
	if failures == 0 || !w.Log.Has("Workflow panic") {
		t.Errorf("%d failed tasks in the history; want some, and a line in the log", failures)
	}
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("good", "test__send", `{"text":"hello"}`)), "hello")
	r := w.ResultOf(stuck.WorkflowID, w.Reset(stuck.WorkflowID))
	e2etest.WantCode(t, r, toolspec.CodeOutcomeUnknown)
	if n := effects.Of("stuck"); n != 1 || !e2etest.SameResult(r, *w.Record(inv).Result) {
		t.Errorf("%d effects, and the result %+v is not the recorded one", n, r)
	}
}
