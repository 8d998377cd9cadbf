package pawltest

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/activities/answer"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Answer is the outcome of one attempt.
type Answer struct {
	// Result is the result that the caller gets if no other attempt follows.
	Result toolspec.Result
	// Retryable says that another attempt may succeed. Pawl makes another attempt only if the tool
	// is repeatable, or if the tool returned an error that says that it had no effect.
	Retryable bool
	// Value is the complete redacted value, even if Result has its short form. The record
	// keeps Value and SafeArgs; it keeps neither the original arguments nor the original value.
	Value json.RawMessage
	// Output is what the tool wrote to Call.Output, masked as it is stored; nil if the attempt failed.
	Output []byte
	// SafeArgs are the masked arguments that approvers see; nil if the arguments are refused.
	SafeArgs json.RawMessage
	// ModelContent is the content that a model reads. If the attempt failed, the model also reads
	// toolspec.ErrorPrefix before it.
	ModelContent json.RawMessage
	// Progress are the reports of the tool, as people see them.
	Progress []toolspec.Progress
	// Log is the log of the worker. It includes the log of the tool.
	Log string
}

// Run makes one attempt of the tool as a worker does. It validates the arguments against the
// tool's schema, hands the tool its capabilities, and gives it no more than its timeout. It
// validates the value against the tool's schema, redacts it and bounds its size. Policy is not
// asked; see Decide.
//
// A tool, a hook or a Call with which no worker could start ends the test.
func (c Call) Run(t testing.TB) Answer {
	t.Helper()
	b := newCallWorker(t, c, c.Hooks)
	facts, refused := b.attemptFacts()
	if refused != nil {
		a := b.answer(contract.ExecuteOut{Outcome: contract.Refused, Failure: refused}, nil)
		a.Result.Attempts-- // the call ends before this attempt
		return a
	}
	execute := answer.Scrubbed(b.live, b.log, contract.Execute.Name(), b.attempts.Execute, answer.LostExecute)
	out, err := execute(b.context(), contract.ExecuteIn{Facts: facts, Epoch: facts.Epoch, PlanVersion: hook.PlanVersion, Terms: b.terms()})
	if err != nil {
		t.Fatal(err)
	}
	switch out.Outcome {
	case contract.Done, contract.Refused, contract.Interrupted:
	case contract.Undispatched:
		t.Fatalf("pawltest: the attempt could not begin: what the tool or a hook is provided with, or its connection, is not available now")
	default:
		t.Fatalf("pawltest: the attempt could not begin: %s %s", out.Outcome, out.By)
	}
	return b.answer(out, facts.SafeArgs)
}

// answer returns the Answer of an attempt: out is the answer of the activity, and safeArgs are the masked arguments.
func (b *callWorker) answer(out contract.ExecuteOut, safeArgs json.RawMessage) Answer {
	b.t.Helper()
	a := Answer{
		Result: b.result(out), Retryable: out.Retryable || out.Outcome == contract.Interrupted, Value: out.Value, SafeArgs: safeArgs,
		Progress: b.reports.list.get(), Log: b.book.String(),
	}
	switch {
	case out.Truncated:
		a.Value = b.record.output.get()
	case out.OutputRef != "" && len(out.Value) > 0:
		a.Output = b.record.stream.get()
	case out.OutputRef != "":
		a.Value = b.record.output.get()
	}
	var err error
	if a.ModelContent, err = turn.Content(a.Result, a.Value); err != nil {
		b.t.Fatal(err)
	}
	return a
}

// result is the result of a call that ends with an attempt.
func (b *callWorker) result(out contract.ExecuteOut) (r toolspec.Result) {
	f := out.Failure
	if out.Outcome == contract.Interrupted {
		f = contract.Interruption(f, b.bound.Definition().Repeatable())
	}
	switch {
	case f != nil:
		r = f.Result()
	case out.Responded:
		r = toolspec.Result{OK: true, Source: toolspec.SourceResponded}.WithOutput(out.Value, out.OutputInfo)
	default:
		r = toolspec.Result{OK: true, Source: toolspec.SourceExecuted}.WithOutput(out.Value, out.OutputInfo)
	}
	r.ToolCallID, r.InvocationID, r.Attempts = b.inv.ToolCallID, b.inv.Identity().InvocationID(), b.call.Attempt
	return r
}
