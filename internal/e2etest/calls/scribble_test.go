package calls

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

// scribble overwrites all bytes of the lists.
func scribble(lists ...[]byte) {
	for _, list := range lists {
		for i := range list {
			list[i] = 'X'
		}
	}
}

func scribbleAll(c toolspec.Context, history []json.RawMessage, more ...json.RawMessage) {
	for i := range c.ToolIDs {
		c.ToolIDs[i] = "scribbled"
	}
	for i, list := range append(history, more...) {
		scribble(list)
		if i < len(history) {
			history[i] = json.RawMessage(`"scribbled"`)
		}
	}
}

func scribbleInto(f *toolspec.Details) {
	if f != nil {
		f.Code, f.Stage, f.Rule = "scribbled", "scribbled", "scribbled"
		for i := range f.Problems {
			f.Problems[i].Message = "scribbled"
		}
	}
}

type reader interface {
	Context() toolspec.Context
	Args() json.RawMessage
	SafeArgs() json.RawMessage
	ArgsHistory() []json.RawMessage
}

func scribbleArgs[V reader](_ context.Context, v V) error {
	scribbleAll(v.Context(), v.ArgsHistory(), v.Args(), v.SafeArgs())
	return nil
}

func scribbleReport(_ context.Context, v *hook.Report) error {
	scribbleAll(v.Context(), v.OutputHistory(), v.Output(), v.SafeArgs())
	if f := v.Failure(); f != nil {
		f.Code, f.SafeMessage = toolspec.CodeInternal, "scribbled"
		scribbleInto(f.Details)
	}
	if a := v.Approval(); a != nil {
		a.Approver = "scribbled"
	}
	for i := range v.AuditIDs() {
		v.AuditIDs()[i] = "scribbled"
	}
	return nil
}

// scribbler returns two hooks that handle every stage and overwrite everything that they get. Both have a filter that does the same. One hook runs first and
// the other one last.
func scribbler() []hook.Hook {
	handlers := []hook.Option{
		hook.WillCreateInvokeContext.Do(func(_ context.Context, v *hook.Begin) error { scribbleAll(v.Context(), nil); return nil }),
		hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error { scribbleAll(v.Context(), nil); return nil }),
		hook.WillCheckConsent.Do(scribbleArgs[*hook.Consent]), hook.WillCheckFeatureFlags.Do(scribbleArgs[*hook.Check]),
		hook.WillAcquireQuota.Do(scribbleArgs[*hook.Check]), hook.WillParseInput.Do(scribbleArgs[*hook.Input]),
		hook.WillNormalizeInput.Do(scribbleArgs[*hook.Input]), hook.WillInjectSecrets.Do(scribbleArgs[*hook.Check]),
		hook.OnRetry.Do(scribbleArgs[*hook.Attempt]), hook.WillExecute.Do(scribbleArgs[*hook.Attempt]),
		hook.AroundExecute.Do(func(ctx context.Context, v *hook.Around) error {
			_ = scribbleArgs(ctx, v)
			value, err := v.Next()
			scribble(value)
			return err
		}),
		hook.DidExecute.Do(func(ctx context.Context, v *hook.Executed) error {
			_ = scribbleArgs(ctx, v)
			scribble(v.RawOutput())
			return nil
		}),
		hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
			scribbleAll(v.Context(), append(v.ArgsHistory(), v.OutputHistory()...), v.Output(), v.Args(), v.SafeArgs())
			return nil
		}),
		hook.OnError.Do(scribbleReport), hook.OnGiveUp.Do(scribbleReport), hook.DidAudit.Do(scribbleReport), hook.OnMetrics.Do(scribbleReport),
		hook.WillAudit.Do(func(ctx context.Context, v *hook.Audit) error { return scribbleReport(ctx, &v.Report) }),
	}
	filter := hook.Filter(func(_ context.Context, f hook.Facts) (bool, error) {
		scribbleAll(f.Context, append(f.ArgsHistory, f.OutputHistory...), f.Args, f.SafeArgs, f.Output)
		if f.Failure != nil {
			f.Failure.Code = toolspec.CodeInternal
			scribbleInto(f.Failure.Details)
		}
		return true, nil
	})
	// At the stages will* and around* the hook with the high priority runs first, and at did* the one with the low priority. So one of the two runs before all
	// other hooks, and one after them.
	return []hook.Hook{
		hook.New("scribble-first", append(handlers, filter, hook.Priority(1000))...),
		hook.New("scribble-last", append(handlers, filter, hook.Priority(-1000))...),
	}
}

// TestScribblingHooks: a hook that overwrites everything that it gets changes neither the result nor the record, and the histories of its calls replay.
func TestScribblingHooks(t *testing.T) {
	t.Parallel()
	tools := []toolspec.Tool{
		e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast, e2etest.Longest),
		e2etest.Tool("test__write", e2etest.Echo, e2etest.Idempotent, e2etest.Risky),
		e2etest.Tool("test__fail", func(_ context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if call.Attempt == 1 {
				return e2etest.Out{}, toolspec.RetryAfter(0, "not now")
			}
			return e2etest.Out{}, toolspec.Safef("no such thing")
		}, e2etest.Idempotent),
	}
	// The witness runs between these two hooks, and records the values that it gets after the first one.
	witness := hook.New("witness", hook.WillAudit.Do(func(_ context.Context, v *hook.Audit) error {
		// With output hooks, the redaction adds an entry to the history.
		first := v.OutputHistory()[:min(1, len(v.OutputHistory()))]
		v.Record("witness", []any{v.Context().ToolIDs, v.SafeArgs(), v.Output(), first, v.Failure()})
		return nil
	}))
	abort := hook.New("abort", hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
		if v.ToolCallID() == "aborted" {
			return v.Abort("closed", hook.Code("closed"))
		}
		return nil
	}))
	results := map[string][]string{}
	for _, hooks := range [][]hook.Hook{{abort, witness}, append(scribbler(), abort, witness)} {
		w := e2etest.NewWorld(t, e2etest.PlainPolicy)
		w.Work(worker.Tools(tools...), worker.Hooks(hooks...))
		for name, toolID := range map[string]string{"read": "test__read", "write": "test__write", "fail": "test__fail",
			"aborted": "test__read"} {
			inv := e2etest.Invocation(name, toolID, `{"text":"hello","note":"noted"}`)
			inv.Context.ToolIDs = []string{"test__read", "test__write", "test__fail"}
			call := w.Start(inv)
			if name == "write" {
				w.Approve(call.WorkflowID)
			}
			r := w.Result(call)
			r.StartedAtMs, r.EndedAtMs = 0, 0
			record := w.Record(inv)
			shown := []any{r, record.SafeArgs, record.Outcome}
			for _, e := range record.Events {
				if e.Kind == "invocation" || e.Kind == "witness" {
					shown = append(shown, strings.ReplaceAll(string(e.Detail), record.PolicyDigest, "policy"))
				}
			}
			results[name] = append(results[name], e2etest.AsJSON(shown))
			w.Replay(call.WorkflowID)
		}
	}
	for name, both := range results {
		if both[0] != both[1] {
			t.Errorf("%s: with the hooks it is\n%s\nand without\n%s", name, both[1], both[0])
		}
	}
}

// TestHooksOfALaterDeploy: a call that has begun keeps the hooks of its plan. New hooks do not run for it. A missing hook that only reports is recorded as
// missing, and for a missing hook that could refuse the call, the call waits.
func TestHooksOfALaterDeploy(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	tools := worker.Tools(e2etest.Tool("test__write", e2etest.Echo, e2etest.Idempotent, e2etest.Risky))
	seen := make(chan string, 10)
	gate := hook.New("gate", hook.WillAcquireQuota.Do(func(_ context.Context, v *hook.Check) error { seen <- v.ToolCallID(); return nil }))
	meter := hook.New("meter", hook.OnMetrics.Do(func(context.Context, *hook.Report) error { return nil }))
	newcomer := hook.New("newcomer", hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error { return v.Abort("no more") }))
	inv := e2etest.Invocation("old", "test__write", `{"text":"hello"}`)

	stop := w.Work(tools, worker.Hooks(gate, meter))
	call := w.Start(inv)
	w.Waiting(call.WorkflowID)
	stop()
	// This worker does not have the hook gate, so the call waits for a worker that has it.
	stop = w.Work(tools, worker.Hooks(newcomer))
	w.Approve(call.WorkflowID)
	w.Until(func() bool {
		state, err := w.Pawl.State(t.Context(), call.WorkflowID)
		return err == nil && state.Stage == "willAcquireQuota"
	}, "the call looks for its gate")
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("new", "test__write", `{}`)), toolspec.CodeAborted)
	select {
	case id := <-seen:
		t.Fatalf("the gate saw %s, and is not there", id)
	default:
	}
	stop()
	w.Work(tools, worker.Hooks(gate, newcomer))
	e2etest.WantText(t, w.Result(call), "hello")
	if id := e2etest.Receive(t, seen); id != "old" {
		t.Errorf("the gate saw %s", id)
	}
	noted := false
	for _, s := range w.Record(inv).Stages {
		if s.ByHook == "newcomer" {
			t.Errorf("a hook joined a call in flight: %+v", s)
		}
		noted = noted || s.Stage == "onMetrics" && len(s.Notes) > 0
	}
	if !noted {
		t.Error("nothing says that a reporting hook was missing")
	}
	w.Replay(call.WorkflowID)
}
