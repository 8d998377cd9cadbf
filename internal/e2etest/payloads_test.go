package e2etest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// Sizes of these tests: what no payload may hold, and what the encoder of payloads makes six times as long.
const huge = 3 << 20

func long(n int) string { return strings.Repeat("a", n) }

// angles is JSON of n bytes that takes six times as many in a payload.
func angles(n int) json.RawMessage {
	const around = len(`{"text":""}`)
	return json.RawMessage(`{"text":"` + strings.Repeat("<", n-around) + `"}`)
}

// putting writes n entries of size bytes into the scratchpad.
func putting(n, size int) func(context.Context, *hook.Check) error {
	return func(_ context.Context, v *hook.Check) error {
		for i := range n {
			v.Put(fmt.Sprintf("entry-%d", i), long(size-2))
		}
		return nil
	}
}

// oversize is a call that says too much in one place.
type oversize struct {
	tool  run
	shape func(*toolspec.Definition)
	hooks []hook.Option
	args  json.RawMessage
	code  toolspec.Code // "" = ok
}

func oversizes() map[string]oversize {
	failing := func(err error) run {
		return func(context.Context, in, toolspec.Call) (out, error) { return out{}, err }
	}
	giving := func(text string) run {
		return func(context.Context, in, toolspec.Call) (out, error) { return out{Text: text}, nil }
	}
	panicking := func(context.Context, in, toolspec.Call) (out, error) { panic(long(huge)) }
	// Forty deltas of 60 KB: four stages of ten each.
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
		"result":        {tool: giving(long(huge)), code: toolspec.CodeResultTooLarge},
		"result-angles": {tool: giving(string(angles(60 << 10)))},
		"result-stored": {tool: giving(strings.Repeat("<", 150<<10))},
		"error":         {tool: failing(errors.New(long(huge))), shape: attempts(1), code: toolspec.CodeExecution},
		"safe-error":    {tool: failing(toolspec.Safef("%s", long(1<<20))), code: toolspec.CodeExecution},
		"safe-angles":   {tool: failing(toolspec.Safef("%s", strings.Repeat("<", huge))), code: toolspec.CodeExecution},
		"busy":          {tool: failing(toolspec.RetryAfter(1, long(huge))), shape: attempts(1), code: toolspec.CodeRateLimited},
		"panic":         {tool: panicking, shape: attempts(1), code: toolspec.CodeExecution},
		"args-changed": {hooks: []hook.Option{hook.WillParseInput.Do(func(_ context.Context, v *hook.Input) error {
			v.SetArgs(in{Text: long(huge)})
			return nil
		})}, code: toolspec.CodeInternal},
		"data":           {hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(putting(1, huge))}, code: toolspec.CodeInternal},
		"data-in-all":    {hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(putting(40, 60<<10))}, code: toolspec.CodeInternal},
		"forty-deltas":   {hooks: forty, code: toolspec.CodeInternal},
		"most-data":      {hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(putting(16, 60<<10))}},
		"unknown-angles": {args: json.RawMessage(`{"` + strings.Repeat("<", 60<<10) + `":1}`), code: toolspec.CodeValidation},
		"args-angles":    {args: angles(64 << 10)},
		// The most that is let pass: 64 KB of args, all of them escaped in a payload, and the whole budget of the scratchpad.
		"most-of-both": {args: angles(64 << 10), hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(putting(17, 60<<10))}},
		// Args of the full size that a hook changes to others of the full size: they are validated, redacted and recorded again.
		"changed-angles": {args: angles(64 << 10), hooks: []hook.Option{hook.WillParseInput.Do(func(_ context.Context, v *hook.Input) error {
			v.SetArgs(angles(64 << 10))
			return nil
		})}},
		"hook-panic":   {hooks: []hook.Option{hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { panic(long(huge)) })}, code: toolspec.CodeInternal},
		"hook-error":   {hooks: []hook.Option{hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return errors.New(long(huge)) })}, code: toolspec.CodeInternal},
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
			return v.Respond(out{Text: long(huge)})
		})}, code: toolspec.CodeInternal},
		"challenge": {hooks: []hook.Option{hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error {
			return v.RespondChallenge(out{Text: long(huge)})
		})}, code: toolspec.CodeInternal},
		"around": {hooks: []hook.Option{hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
			return v.Respond(out{Text: long(huge)})
		})}, code: toolspec.CodeInternal},
		"cached": {hooks: []hook.Option{hook.WillReadCache.Do(func(_ context.Context, v *hook.Lookup) error {
			v.Found(out{Text: long(huge)})
			return nil
		})}, code: toolspec.CodeInternal},
		"output": {hooks: []hook.Option{hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
			v.SetOutput(out{Text: long(huge)})
			return nil
		})}, code: toolspec.CodeInternal},
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

// TestPayloads: whatever a tool, a hook or a caller says too much of, the call ends with a named code. The server neither terminates it
// nor has its task fail.
func TestPayloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var options []worker.Option
	for name, o := range oversizes() {
		for lane, shape := range map[string]func(*toolspec.Definition){"local": fast, "regular": idempotent} {
			id := "test__" + lane + "-" + name
			if o.tool == nil {
				o.tool = shown
			}
			if o.shape == nil {
				o.shape = func(*toolspec.Definition) {}
			}
			options = append(options, worker.Tools(tool(id, o.tool, shape, longest, o.shape)))
			if len(o.hooks) > 0 {
				options = append(options, worker.ToolHooks(id, hook.New(lane+"-"+name, o.hooks...)))
			}
		}
	}
	w.work(options...)
	// A fast tool has seconds for megabytes, and the race detector makes them many.
	room := make(chan struct{}, 2)
	for name, o := range oversizes() {
		for _, lane := range []string{"local", "regular"} {
			id := lane + "-" + name
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				room <- struct{}{}
				defer func() { <-room }()
				w := *w
				w.t = t
				args := o.args
				if args == nil {
					args = json.RawMessage(`{}`)
				}
				run, err := w.rawRun(invocation(id, "test__"+id, "{}"), args)
				if err != nil {
					t.Fatal(err)
				}
				r := w.ended(run)
				w.wantSound(run.GetID())
				if r.OK != (o.code == "") || r.ErrorCode != o.code {
					t.Fatalf("ended with ok=%t %q (%s) %+v, want %q", r.OK, r.ErrorCode, clipped(r.SafeMessage), r.Details, o.code)
				}
				if len(r.SafeMessage) > 4<<10 {
					t.Errorf("the message has %d bytes", len(r.SafeMessage))
				}
			})
		}
	}
}

// longest gives a tool the most time that the local lane has.
func longest(d *toolspec.Definition) { d.Timeout = toolspec.FastLimit }

func clipped(s string) string { return s[:min(len(s), 200)] }

// rawRun starts a call with arguments exactly as they are written: Go's encoder would escape them.
func (w *world) rawRun(inv toolspec.Invocation, args json.RawMessage) (client.WorkflowRun, error) {
	inv.Args = json.RawMessage(`"ARGS"`)
	text := strings.Replace(asJSON(inv), `"ARGS"`, string(args), 1)
	return w.temporal.ExecuteWorkflow(w.t.Context(), client.StartWorkflowOptions{
		ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue,
	}, toolspec.WorkflowType, converter.NewRawValue(&common.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: []byte(text),
	}))
}

// wantSound fails unless a call closed by itself, and the server took every one of its tasks.
func (w *world) wantSound(workflowID string) {
	w.t.Helper()
	events := w.history(workflowID, "").GetEvents()
	for _, e := range events {
		if a := e.GetWorkflowTaskFailedEventAttributes(); a != nil && !ofTheMachine(a) {
			w.t.Errorf("%s: a task failed: %s %s", workflowID, a.GetCause(), clipped(a.GetFailure().GetMessage()))
		}
	}
	if last := events[len(events)-1].GetEventType(); last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED {
		w.t.Errorf("%s ended with %s", workflowID, last)
	}
}

// TestPayloadsOfCallers: what a caller or an approver sends too much of is refused to the sender's face or by the call, which goes on.
func TestPayloadsOfCallers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(tool("test__read", echo, fast), tool("test__write", echo, idempotent, risky)))
	// Nothing larger than 4 MB reaches the server, and nothing larger than 2 MB is taken.
	wantNotTaken := func(what string, err error) {
		t.Helper()
		var invalid *serviceerror.InvalidArgument
		var much *serviceerror.ResourceExhausted
		if !errors.As(err, &invalid) && !errors.As(err, &much) {
			t.Errorf("%s: %v, want that it is refused", what, err)
		}
	}
	much := json.RawMessage(`{"text":"` + long(huge) + `"}`)
	_, err := w.rawRun(invocation("args", "test__read", "{}"), much)
	wantNotTaken("args of 3 MB", err)
	_, err = w.pawl.Start(t.Context(), invocation("args", "test__read", string(much)))
	var refused *pawl.CallError
	if !errors.As(err, &refused) || refused.Code() != toolspec.CodeValidation {
		t.Errorf("args of 3 MB by Pawl's client: %v, want validation", err)
	}
	// The id is still free.
	wantText(t, w.invoke(invocation("args", "test__read", `{"text":"hello"}`)), "hello")

	run, err := w.rawRun(invocation("large-args", "test__read", "{}"), json.RawMessage(`{"text":"`+long(1900<<10)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.ended(run), toolspec.CodeValidation)
	w.wantSound(run.GetID())

	withMemo := func(id string, size int) (client.WorkflowRun, error) {
		inv := invocation(id, "test__read", `{"text":"hello"}`)
		return w.temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue, Memo: map[string]any{"much": long(size)},
		}, toolspec.WorkflowType, inv)
	}
	_, err = withMemo("memo", huge)
	wantNotTaken("a memo of 3 MB", err)
	if run, err = withMemo("memo", 1900<<10); err != nil {
		t.Fatal(err)
	}
	wantText(t, w.ended(run), "hello")
	w.wantSound(run.GetID())

	inv := invocation("decided", "test__write", `{"text":"hello"}`)
	call := w.start(inv)
	view := w.waiting(call.WorkflowID)
	for what, size := range map[string]int{"3 MB": huge, "1.9 MB": 1900 << 10} {
		for member, d := range map[string]map[string]any{
			"editedArgs": {"decision": "edit", "editedArgs": map[string]string{"text": long(size)}},
			"reason":     {"decision": "deny", "reason": long(size)}, "proof": {"decision": "approve", "proof": long(size)},
		} {
			d["approvalId"], d["approver"] = view.ApprovalID, ann
			if size > 2<<20 {
				wantNotTaken(member+" of "+what+" in a signal", w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d))
			} else if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
				t.Fatal(err)
			}
			// The server takes what a worker refuses, and would end the call where the refusal is too large.
			handle, err := w.temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
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
	if state := w.state(call.WorkflowID); state.Status != toolspec.StatusWaitingApproval {
		t.Fatalf("after all that the call is %+v, want that it waits", state)
	}
	w.approve(call.WorkflowID)
	wantText(t, w.result(call), "hello")
	w.wantSound(call.WorkflowID)
}
