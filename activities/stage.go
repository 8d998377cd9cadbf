package activities

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Stage runs the hooks of one stage. Whatever they answer with or turn the
// output into goes through the allowlist again before it leaves: no hook can
// bring a field back.
func (a *Activities) Stage(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	v, err := a.hooks.Run(ctx, in)
	if err != nil {
		return v, err
	}
	switch {
	case v.Outcome == hook.Responded && !v.Challenge:
		v.Value, v = a.guarded(in, v, v.Value)
	case v.Delta.Output != nil && !in.Facts.Challenge:
		v.Delta.Output, v = a.guarded(in, v, v.Delta.Output)
	}
	return v, nil
}

// guarded redacts and checks a value; a fault turns the verdict into a failure
// that holds nothing of it.
func (a *Activities) guarded(in hook.StageInput, v hook.Verdict, value []byte) ([]byte, hook.Verdict) {
	refuse := func(code toolspec.Code, message string) ([]byte, hook.Verdict) {
		return nil, hook.Verdict{
			Outcome: hook.Failed, By: v.By, DurationUs: v.DurationUs,
			Failure: &hook.Failure{Code: code, SafeMessage: message, Details: &toolspec.Details{Stage: string(in.Stage)}},
		}
	}
	bound, ok := a.source.Get(in.Facts.ToolID)
	if !ok {
		return nil, hook.Verdict{Outcome: hook.Missing, By: in.Facts.ToolID}
	}
	redacted, err := bound.Redact(value)
	if err != nil {
		return refuse(toolspec.CodeRedactionFailed, "")
	}
	if problems := bound.ValidateRedacted(redacted); len(problems) > 0 {
		return refuse(toolspec.CodeOutputValidation, "a hook's value breaks the tool's output schema")
	}
	return redacted, v
}
