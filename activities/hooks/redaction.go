package hooks

import (
	"context"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Redaction applies a tool's redaction after everybody else's hooks: to the view
// of the arguments that people and records see, and to the value. Execute has
// redacted the tool's own value; the hook is seated only where other hooks could
// change either (REDACTION_REQUIRED).
func Redaction(source activities.Source) []hook.Hook {
	r := &redaction{source: source}
	return []hook.Hook{
		hook.New("redact-input", hook.BuiltinLast(), hook.WillRedactInput.Do(r.input), hook.OnlyWith(
			hook.WillParseInput.Stage(), hook.WillValidateInput.Stage(), hook.WillNormalizeInput.Stage(), hook.WillRedactInput.Stage())),
		hook.New("redact-output", hook.BuiltinLast(), hook.WillRedactOutput.Do(r.output), hook.WillValidateOutput.Do(r.check), hook.OnlyWith(
			hook.WillRedactOutput.Stage(), hook.WillValidateOutput.Stage(), hook.WillTransformOutput.Stage())),
	}
}

type redaction struct{ source activities.Source }

func (r *redaction) input(_ context.Context, v *hook.Input) error {
	bound, ok := r.source.Get(v.ToolID())
	if !ok {
		return hook.Transient(errNoTool)
	}
	shown := v.SafeArgs()
	if shown == nil {
		shown = v.Args()
	}
	safe, err := bound.SafeArgs(shown)
	if err != nil {
		return hook.Refuse(hook.Failure{Code: toolspec.CodeRedactionFailed, SafeMessage: "the arguments could not be redacted"})
	}
	v.SetSafeArgs(safe)
	return nil
}

func (r *redaction) output(_ context.Context, v *hook.Output) error {
	if v.IsChallenge() {
		return nil
	}
	bound, ok := r.source.Get(v.ToolID())
	if !ok {
		return hook.Transient(errNoTool)
	}
	safe, err := bound.Redact(v.Output())
	if err != nil {
		return hook.Refuse(hook.Failure{Code: toolspec.CodeRedactionFailed})
	}
	v.SetOutput(safe)
	return nil
}

func (r *redaction) check(_ context.Context, v *hook.Output) error {
	if v.IsChallenge() {
		return nil
	}
	bound, ok := r.source.Get(v.ToolID())
	if !ok {
		return hook.Transient(errNoTool)
	}
	if problems := bound.ValidateRedacted(v.Output()); len(problems) > 0 {
		return hook.Refuse(hook.Failure{Code: toolspec.CodeOutputValidation, Details: &toolspec.Details{Kind: problems[0].Kind}})
	}
	return nil
}
