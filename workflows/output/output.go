package output

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
)

// Shape runs the output stages of the plan. The first stage that fails ends the call with
// its failure, although the tool has already had its effect. A stage whose failures are
// only logged never ends the call. kept is the value for the result cache; nil if the
// cache keeps nothing.
func Shape(ctx workflow.Context, c *envelope.Call) (kept *contract.Kept, next envelope.Next) {
	var entry *hook.CacheEntry
	var value json.RawMessage
	var isWhole bool // value is not a short form: the cache keeps no short forms
	for _, step := range c.Plan().Post {
		if step.Phase != hook.PhaseOutput || c.IsIdle(step) || nothingToKeep(c, step) {
			continue
		}
		// The cache keeps the value as it is before willTransformOutput changes it.
		if step.Stage == hook.WillTransformOutput.Stage() {
			value, isWhole = c.Output(), !c.OutputInfo().Truncated
		}
		shown := len(c.VisibleOutputs())
		v := c.RunStage(ctx, step, 1)
		if step.Stage == hook.WillWriteCache.Stage() {
			entry = v.Delta.Entry
		}
		// A hook redacted the output, so the record must not show the earlier values.
		if step.Stage == hook.WillRedactOutput.Stage() && len(c.VisibleOutputs()) > shown {
			c.HideOutputs(shown)
		}
		if info, _ := hook.InfoOf(step.Stage); info.Failure == hook.Logged {
			continue
		}
		if v.Outcome == hook.Failed && v.Failure != nil {
			c.HideAllOutputs()
			return nil, envelope.Fail(v.Failure)
		}
	}
	if value == nil {
		value, isWhole = c.Output(), !c.OutputInfo().Truncated
	}
	if entry != nil && isCacheable(c) && isWhole {
		kept = &contract.Kept{Entry: *entry, Value: value}
	}
	return kept, next
}

// isCacheable reports whether the value may answer other calls: the value is not a challenge, and comes
// from a read-only tool that ran in this call.
func isCacheable(c *envelope.Call) bool {
	return c.Source() == toolspec.SourceExecuted && !c.Challenge() && c.Effect() == toolspec.ReadOnly
}

// nothingToKeep reports whether a step can be skipped: the step is willWriteCache without hooks, and the
// value is not cacheable or is a short form.
func nothingToKeep(c *envelope.Call, step hook.Step) bool {
	return len(step.Hooks) == 0 && step.Stage == hook.WillWriteCache.Stage() && (!isCacheable(c) || c.OutputInfo().Truncated)
}
