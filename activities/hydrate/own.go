package hydrate

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Steps returns the steps that validate arguments which hooks have changed. The steps run at willValidateInput
// before and after the hooks, and at willNormalizeInput after the hooks. So from willValidateInput on, each
// later stage gets arguments that the tool accepts. hooks returns the names of the hooks of a tool at a stage. A tool
// without hooks that can change the arguments has no such step, because the activity Hydrate has validated the arguments.
func (a *Hydrator) Steps(hooks func(s hook.Stage, toolID string) []string) stage.Table {
	hasHooks := func(stages ...hook.Stage) func(toolID string) bool {
		return func(toolID string) bool {
			for _, s := range stages {
				if len(hooks(s, toolID)) > 0 {
					return true
				}
			}
			return false
		}
	}
	parse, validate, normalize := hook.WillParseInput.Stage(), hook.WillValidateInput.Stage(), hook.WillNormalizeInput.Stage()
	return stage.Table{
		validate:  {Before: a.checkBefore, After: a.checkAfter, Serves: hasHooks(parse, validate)},
		normalize: {After: a.checkAfter, Serves: hasHooks(normalize)},
	}
}

// checkBefore validates the arguments if a hook of an earlier stage has changed them.
func (a *Hydrator) checkBefore(_ context.Context, in hook.StageInput) (v hook.Verdict, err error) {
	// The history begins with the hydrated arguments, and has one more entry for each change.
	if len(in.Facts.ArgsHistory) > 1 {
		a.check(in, in.Facts.Args, &v)
	}
	return v, nil
}

// checkAfter validates the arguments if a hook of the stage has changed them.
func (a *Hydrator) checkAfter(_ context.Context, in hook.StageInput, v *hook.Verdict) error {
	if v.Delta.Args != nil {
		a.check(in, v.Delta.Args, v)
	}
	return nil
}

// check makes the verdict a failure if the tool does not accept args. It unwraps arguments that
// the tool accepts in another form, such as JSON within a string.
func (a *Hydrator) check(in hook.StageInput, args json.RawMessage, v *hook.Verdict) {
	bound, ok := a.parts.Tools.Find(in.Facts.ToolID, in.Facts.ToolDigest)
	if !ok {
		*v = hook.Verdict{Outcome: hook.Missing, By: "tool " + in.Facts.ToolID}
		return
	}
	checked, _, f := a.CheckArgs(bound, args)
	switch {
	case f != nil:
		if f.Details == nil {
			f.Details = &toolspec.Details{}
		}
		f.Details.Stage = string(in.Stage)
		v.Outcome, v.Failure = hook.Failed, f
	case !bytes.HasPrefix(bytes.TrimSpace(args), []byte("{")):
		v.Delta.Args = checked
	}
}
