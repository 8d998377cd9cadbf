package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// huge is a size that no payload may have.
const huge = 3 << 20

func long(n int) string { return strings.Repeat("a", n) }

// angles returns JSON of n bytes. The encoder of payloads escapes its characters, so that a payload with it is six times as long.
func angles(n int) json.RawMessage {
	const around = len(`{"text":""}`)
	return json.RawMessage(`{"text":"` + strings.Repeat("<", n-around) + `"}`)
}

// putting returns a hook that writes n entries of size bytes into the scratchpad.
func putting(n, size int) func(context.Context, *hook.Check) error {
	return func(_ context.Context, v *hook.Check) error {
		for i := range n {
			v.Put(fmt.Sprintf("entry-%d", i), long(size-2))
		}
		return nil
	}
}

// oversize has a call in which one text is too large.
type oversize struct {
	tool  e2etest.Run
	shape func(*toolspec.Definition)
	hooks []hook.Option
	args  json.RawMessage
	code  toolspec.Code // "" = ok
}

func oversizes() map[string]oversize {
	failing := func(err error) e2etest.Run {
		return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) { return e2etest.Out{}, err }
	}
	giving := func(text string) e2etest.Run {
		return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{Text: text}, nil
		}
	}
	panicking := func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) { panic(long(huge)) }
	// The hooks write forty deltas of 60 KiB, ten in each of four stages.
	forty := []hook.Option{
		hook.WillCheckFeatureFlags.Do(putting(10, 60<<10)), hook.WillAcquireQuota.Do(func(_ context.Context, v *hook.Check) error {
			for i := range 10 {
				v.Put(fmt.Sprintf("quota-%d", i), long(60<<10))
			}
			return nil
		}),
		hook.WillAcquireSemaphore.Do(func(_ context.Context, v *hook.Check) error {
			for i := range 10 {
				v.Put(fmt.Sprintf("semaphore-%d", i), long(60<<10))
			}
			return nil
		}),
		hook.WillInjectSecrets.Do(func(_ context.Context, v *hook.Check) error {
			for i := range 10 {
				v.Put(fmt.Sprintf("inject-%d", i), long(60<<10))
			}
			return nil
		}),
	}
	return map[string]oversize{
		"result":        {tool: giving(long(2 << 20)), code: toolspec.CodeResultTooLarge},
		"result-angles": {tool: giving(string(angles(60 << 10)))},
		"result-stored": {tool: giving(strings.Repeat("<", 150<<10))},
		"error":         {tool: failing(errors.New(long(huge))), shape: e2etest.Attempts(1), code: toolspec.CodeExecution},
		"safe-error":    {tool: failing(toolspec.Safef("%s", long(1<<20))), code: toolspec.CodeExecution},
		"safe-angles":   {tool: failing(toolspec.Safef("%s", strings.Repeat("<", huge))), code: toolspec.CodeExecution},
		"busy":          {tool: failing(toolspec.RetryAfter(1, long(huge))), shape: e2etest.Attempts(1), code: toolspec.CodeRateLimited},
		"panic":         {tool: panicking, shape: e2etest.Attempts(1), code: toolspec.CodeExecution},
		"args-changed": {hooks: []hook.Option{hook.WillParseInput.Do(func(_ context.Context, v *hook.Input) error {
			v.SetArgs(e2etest.In{Text: long(huge)})
			return nil
		})}, code: toolspec.CodeInternal},
		"data":           {hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(putting(1, huge))}, code: toolspec.CodeInternal},
		"data-in-all":    {hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(putting(40, 60<<10))}, code: toolspec.CodeInternal},
		"forty-deltas":   {hooks: forty, code: toolspec.CodeInternal},
		"most-data":      {hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(putting(16, 60<<10))}},
		"unknown-angles": {args: json.RawMessage(`{"` + strings.Repeat("<", 60<<10) + `":1}`), code: toolspec.CodeValidation},
		"args-angles":    {args: angles(64 << 10)},
		// The largest call that is accepted: 64 KiB of arguments that are all escaped in a payload, and a scratchpad that uses its whole budget.
		"most-of-both": {args: angles(64 << 10), hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(putting(17, 60<<10))}},
		// A hook changes arguments of the full size to other arguments of the full size, which are validated, redacted and recorded again.
		"changed-angles": {args: angles(64 << 10), hooks: []hook.Option{hook.WillParseInput.Do(func(_ context.Context, v *hook.Input) error {
			v.SetArgs(angles(64 << 10))
			return nil
		})}},
		"hook-panic": {hooks: []hook.Option{hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { panic(long(huge)) })},
			code: toolspec.CodeInternal},
		"hook-error": {hooks: []hook.Option{hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return errors.New(long(huge)) })},
			code: toolspec.CodeInternal},
		"logged-panic": {hooks: []hook.Option{hook.OnMetrics.Do(func(context.Context, *hook.Report) error { panic(long(huge)) })}},
		"abort": {hooks: []hook.Option{hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
			return v.Abort(long(huge), hook.Code(long(huge)))
		})}, code: toolspec.CodeAborted},
		"retry-after": {hooks: []hook.Option{hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
			return v.RetryAfter(1, long(huge))
		})}, code: toolspec.CodeRateLimited},
		"explain": {hooks: []hook.Option{hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
			v.Explain(long(huge))
			return nil
		})}},
		"responded": {hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error {
			return v.Respond(e2etest.Out{Text: long(huge)})
		})}, code: toolspec.CodeResultTooLarge},
		"challenge": {hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error {
			return v.RespondChallenge(e2etest.Out{Text: long(huge)})
		})}, code: toolspec.CodeInternal},
		"around": {hooks: []hook.Option{hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
			return v.Respond(e2etest.Out{Text: long(huge)})
		})}, code: toolspec.CodeResultTooLarge},
		"cached": {hooks: []hook.Option{hook.WillReadCache.Do(func(_ context.Context, v *hook.Lookup) error {
			v.Found(e2etest.Out{Text: long(huge)})
			return nil
		})}, code: toolspec.CodeResultTooLarge},
		"output": {hooks: []hook.Option{hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
			v.SetOutput(e2etest.Out{Text: long(huge)})
			return nil
		})}, code: toolspec.CodeResultTooLarge},
		"audit": {hooks: []hook.Option{hook.WillAudit.Do(func(_ context.Context, v *hook.Audit) error {
			v.Record("much", long(huge))
			return nil
		})}},
		"audits": {hooks: []hook.Option{hook.WillAudit.Do(func(_ context.Context, v *hook.Audit) error {
			for range 40 {
				v.Record("much", long(60<<10))
			}
			return nil
		})}},
	}
}

// TestPayloads: when a tool, a hook or a caller gives a text that is too large, the call ends with a named code. The server does not terminate the workflow,
// and no workflow task fails.
func TestPayloads(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var options []worker.Option
	for name, o := range oversizes() {
		for lane, shape := range map[string]func(*toolspec.Definition){"local": e2etest.Fast, "regular": e2etest.Idempotent} {
			id := "test__" + lane + "-" + name
			if o.tool == nil {
				o.tool = e2etest.Shown
			}
			if o.shape == nil {
				o.shape = func(*toolspec.Definition) {}
			}
			options = append(options, worker.Tools(e2etest.Tool(id, o.tool, shape, e2etest.Longest, o.shape)))
			if len(o.hooks) > 0 {
				options = append(options, worker.ToolHooks(id, hook.New(lane+"-"+name, o.hooks...)))
			}
		}
	}
	w.Work(options...)
	// At most two calls run at the same time: a fast tool must handle megabytes within seconds, and the race detector makes it slow.
	room := make(chan struct{}, 2)
	for name, o := range oversizes() {
		for _, lane := range []string{"local", "regular"} {
			id := lane + "-" + name
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				room <- struct{}{}
				defer func() { <-room }()
				w := *w
				w.T = t
				args := o.args
				if args == nil {
					args = json.RawMessage(`{}`)
				}
				run, err := rawRun(&w, e2etest.Invocation(id, "test__"+id, "{}"), args)
				if err != nil {
					t.Fatal(err)
				}
				r := w.Ended(run)
				w.WantSound(run.GetID())
				if r.OK != (o.code == "") || r.ErrorCode != o.code {
					t.Fatalf("ended with ok=%t %q (%s) %+v, want %q", r.OK, r.ErrorCode, e2etest.Clipped(r.SafeMessage), r.Details, o.code)
				}
				if len(r.SafeMessage) > 4<<10 {
					t.Errorf("the message has %d bytes", len(r.SafeMessage))
				}
			})
		}
	}
}

// rawRun starts a call with exactly these bytes as its arguments. The JSON encoder of Go would escape them.
func rawRun(w *e2etest.World, inv toolspec.Invocation, args json.RawMessage) (client.WorkflowRun, error) {
	inv.Args = json.RawMessage(`"ARGS"`)
	text := strings.Replace(e2etest.AsJSON(inv), `"ARGS"`, string(args), 1)
	return w.Temporal.ExecuteWorkflow(w.T.Context(), client.StartWorkflowOptions{
		ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue,
	}, toolspec.WorkflowType, converter.NewRawValue(&common.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: []byte(text),
	}))
}

// TestPayloadsOfCallers: a message of a caller or of an approver that is too large is refused before it is sent, or by the call, and the call goes on.
func TestPayloadsOfCallers(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast),
		e2etest.Tool("test__write", e2etest.Echo, e2etest.Idempotent, e2etest.Risky)))
	// A message of more than 4 MiB does not reach the server, and the server refuses a message of more than 2 MiB.
	wantNotTaken := func(what string, err error) {
		t.Helper()
		var invalid *serviceerror.InvalidArgument
		var much *serviceerror.ResourceExhausted
		if !errors.As(err, &invalid) && !errors.As(err, &much) {
			t.Errorf("%s: %v, want that it is refused", what, err)
		}
	}
	much := json.RawMessage(`{"text":"` + long(huge) + `"}`)
	_, err := rawRun(w, e2etest.Invocation("args", "test__read", "{}"), much)
	wantNotTaken("args of 3 MiB", err)
	_, err = w.Pawl.Start(t.Context(), e2etest.Invocation("args", "test__read", string(much)))
	var refused *pawl.CallError
	if !errors.As(err, &refused) || refused.Code() != toolspec.CodeValidation {
		t.Errorf("args of 3 MiB by Pawl's client: %v, want validation", err)
	}
	// The id is still free.
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("args", "test__read", `{"text":"hello"}`)), "hello")

	run, err := rawRun(w, e2etest.Invocation("large-args", "test__read", "{}"), json.RawMessage(`{"text":"`+long(1900<<10)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	e2etest.WantCode(t, w.Ended(run), toolspec.CodeValidation)
	w.WantSound(run.GetID())

	withMemo := func(id string, size int) (client.WorkflowRun, error) {
		inv := e2etest.Invocation(id, "test__read", `{"text":"hello"}`)
		return w.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue, Memo: map[string]any{"much": long(size)},
		}, toolspec.WorkflowType, inv)
	}
	_, err = withMemo("memo", huge)
	wantNotTaken("a memo of 3 MiB", err)
	if run, err = withMemo("memo", 1900<<10); err != nil {
		t.Fatal(err)
	}
	e2etest.WantText(t, w.Ended(run), "hello")
	w.WantSound(run.GetID())

	inv := e2etest.Invocation("decided", "test__write", `{"text":"hello"}`)
	call := w.Start(inv)
	view := w.Waiting(call.WorkflowID)
	for what, size := range map[string]int{"3 MiB": huge, "1.9 MiB": 1900 << 10} {
		for member, d := range map[string]map[string]any{
			"editedArgs": {"decision": "edit", "editedArgs": map[string]string{"text": long(size)}},
			"reason":     {"decision": "deny", "reason": long(size)}, "proof": {"decision": "approve", "proof": long(size)},
		} {
			d["approvalId"], d["approver"] = view.ApprovalID, e2etest.Ann
			if size > 2<<20 {
				wantNotTaken(member+" of "+what+" in a signal",
					w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d))
			} else if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
				t.Fatal(err)
			}
			// The server accepts a message that the worker then refuses. If the refusal itself were too large, the server would end the call.
			handle, err := w.Temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
				WorkflowID: call.WorkflowID, UpdateName: toolspec.DecideName, Args: []any{d}, WaitForStage: client.WorkflowUpdateStageCompleted,
			})
			if err == nil {
				err = handle.Get(t.Context(), nil)
			}
			if err == nil {
				t.Errorf("%s of %s in an update was taken", member, what)
			}
		}
	}
	if state := w.State(call.WorkflowID); state.Status != toolspec.StatusWaitingApproval {
		t.Fatalf("after all that the call is %+v, want that it waits", state)
	}
	w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.Result(call), "hello")
	w.WantSound(call.WorkflowID)
}
