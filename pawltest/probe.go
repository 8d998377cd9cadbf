package pawltest

import (
	"cmp"
	"testing"

	"github.com/pawl-run/pawl/activities/answer"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Probed is the outcome of a probe.
type Probed struct {
	// Finding is the answer of the probe. It is also Unclear if the probe failed, panicked or took
	// longer than the tool's timeout.
	Finding toolspec.Finding
	// Answer is the outcome of the attempt if Finding is TookEffect. Otherwise it has SafeArgs and
	// Log only.
	Answer
}

// Probe asks the probe of the tool whether the attempts of the call took effect, as a worker does:
// see toolspec.DefineWithProbe. A value that the probe finds is validated, redacted and bounded
// like that of an attempt. A tool without a probe, and arguments that the tool refuses, end the
// test.
func (c Call) Probe(t testing.TB) Probed {
	t.Helper()
	c.Epoch = cmp.Or(c.Epoch, 2)
	b := newCallWorker(t, c, nil)
	if !b.bound.Tool().HasProbe() {
		t.Fatalf("pawltest: %s has no probe: make it with toolspec.DefineWithProbe", b.inv.ToolID)
	}
	facts, refused := b.attemptFacts()
	if refused != nil {
		t.Fatalf("pawltest: no call of %s with these arguments is ever probed: %s: %s", b.inv.ToolID, refused.Code, refused.SafeMessage)
	}
	probe := answer.Scrubbed(b.live, b.log, contract.Probe.Name(), b.attempts.Probe, answer.LostProbe)
	out, err := probe(b.context(), contract.ProbeIn{Facts: facts, Epoch: facts.Epoch, PlanVersion: hook.PlanVersion, Dispatch: 1, Terms: b.terms()})
	if err != nil {
		t.Fatal(err)
	}
	switch out.Outcome {
	case contract.Done, contract.Refused:
		return Probed{toolspec.TookEffect, b.answer(contract.ExecuteOut{
			Outcome: out.Outcome, Value: out.Value, OutputInfo: out.OutputInfo, Failure: out.Failure,
		}, facts.SafeArgs)}
	case contract.Free:
		return Probed{toolspec.NoEffect, Answer{SafeArgs: facts.SafeArgs, Log: b.book.String()}}
	default:
		return Probed{toolspec.Unclear, Answer{SafeArgs: facts.SafeArgs, Log: b.book.String()}}
	}
}
