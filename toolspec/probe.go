package toolspec

import (
	"context"
	"encoding/json"
)

// Finding is what a probe found out about an attempt that gave no answer.
type Finding string

// The findings.
const (
	// Unclear: the probe cannot tell.
	Unclear Finding = "unclear"
	// TookEffect: the attempt had its effect; the probe has its value.
	TookEffect Finding = "took_effect"
	// NoEffect: the attempt had no effect and never will have one.
	NoEffect Finding = "no_effect"
)

// Found is what a probe answers with. The zero value is Unclear.
type Found[Out any] struct {
	finding Finding
	value   Out
}

// FoundEffect says that the attempt took effect, and with what value.
func FoundEffect[Out any](value Out) Found[Out] {
	return Found[Out]{finding: TookEffect, value: value}
}

// FoundNoEffect says that no attempt had an effect and that none will have one: Pawl makes another
// attempt, for any effect. Do not conclude it because the service has no trace of the call: the
// request of an attempt may still be on its way to the service, and a worker that was held up may
// send it later. Return FoundNoEffect only if the service refuses such a request from then on, for
// example because the probe has sent it Call.Epoch, which Pawl raises before it asks the probe, and
// the service refuses lower epochs. Otherwise return the zero Found, which is Unclear: a second
// effect is worse than a question to a person.
//
// Pawl believes FoundNoEffect at once if the tool declares Definition.Fences.
// Otherwise it asks again, and believes it, when every attempt has used up its
// Timeout and ten seconds more.
func FoundNoEffect[Out any]() Found[Out] { return Found[Out]{finding: NoEffect} }

// DefineWithProbe is Define for a tool whose effect must not be repeated blindly and that can find
// out whether an attempt took effect, for example by its idempotency key. Pawl asks the probe after
// an attempt without an answer, because its worker died or its time was over. Pawl may ask it
// several times; each time, the probe has the Timeout of the tool. It must change nothing but a
// fence: see FoundNoEffect. An error of the probe means Unclear. A MaxAttempts of 0 means
// DefaultAttempts: an attempt is repeated only if nothing happened.
//
// An error of run is an answer, so Pawl does not ask the probe after it. If run does not know what
// became of its request, it must not return an error before ctx ends.
func DefineWithProbe[In, Out any](def Definition, run func(ctx context.Context, in In, call Call) (Out, error),
	probe func(ctx context.Context, in In, call Call) (Found[Out], error)) Tool {
	if def.MaxAttempts == 0 {
		def.MaxAttempts = DefaultAttempts
	}
	t := Define(def, run)
	t.probe = func(ctx context.Context, args json.RawMessage, call Call) (Finding, json.RawMessage, error) {
		in, err := decodeArgs[In](args)
		if err != nil {
			return Unclear, nil, err
		}
		found, err := probe(ctx, in, call)
		if err != nil || found.finding != TookEffect {
			return found.finding, nil, err
		}
		value, err := encodeValue(found.value)
		return TookEffect, value, err
	}
	return t
}

// WithProbe returns the tool with a probe: see [DefineWithProbe]. The probe returns the value of the effect
// with TookEffect, and no value with every other finding.
func (t Tool) WithProbe(probe func(ctx context.Context, args json.RawMessage, call Call) (Finding, json.RawMessage, error)) Tool {
	t.probe = probe
	return t
}

// HasProbe reports whether the tool can find out what became of an attempt.
func (t Tool) HasProbe() bool { return t.probe != nil }

// Probe asks what became of the attempts that were made with these arguments.
// Only the reconcile activity may call it.
func (t Tool) Probe(ctx context.Context, args json.RawMessage, call Call) (Finding, json.RawMessage, error) {
	if t.probe == nil {
		return Unclear, nil, nil
	}
	finding, value, err := t.probe(ctx, args, call)
	if finding == "" {
		finding = Unclear
	}
	return finding, value, err
}
