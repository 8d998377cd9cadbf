package stage

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/pawl-run/pawl/toolspec/hook"
)

// Own is Pawl's own step at a stage. Both functions may run more than once for the same
// invocation, stage and round; their effects must count once. After a transient error
// (errs.Transient) the stage runs again. Any other error fails the call with the code
// internal, or is noted if failures of the stage are only logged.
type Own struct {
	// Before runs before the hooks. Any outcome except hook.Continue ends the stage. It
	// may be nil.
	Before func(ctx context.Context, in hook.StageInput) (hook.Verdict, error)
	// Again says that Before runs a second time if the stage has durable hooks. Such a stage is two activities:
	// PartBefore runs Before, and PartHooks runs the hooks. Without Again, PartHooks takes the verdict of Before
	// from its input. Everybody with access to the namespace can forge that input.
	Again bool
	// After runs after hooks that let the call continue, and may change the verdict. It
	// may be nil.
	After func(ctx context.Context, in hook.StageInput, v *hook.Verdict) error
	// Serves reports whether the step has anything to do for a tool; nil means always.
	Serves func(toolID string) bool
}

// Table holds the steps of a worker by stage.
type Table map[hook.Stage]Own

// Has reports whether the table has a step that serves the tool at the stage.
func (t Table) Has(s hook.Stage, toolID string) bool {
	own, ok := t[s]
	return ok && (own.Serves == nil || own.Serves(toolID))
}

// Join returns a table with the steps of all tables. If two tables have a step at one stage, the
// later table counts.
func Join(tables ...Table) Table {
	all := Table{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

// Failed is the verdict that ends the call with a failure.
func Failed(f hook.Failure) hook.Verdict {
	return hook.Verdict{Outcome: hook.Failed, Failure: &f}
}

// Waits is the verdict that lets the call wait and then runs the stage again.
func Waits(w hook.Wait) hook.Verdict {
	return hook.Verdict{Outcome: hook.Waited, Wait: &w}
}

// Respond makes a verdict answer the call with a value, without running the tool. Only the
// cache calls it.
func Respond(v *hook.Verdict, value json.RawMessage) {
	v.Outcome, v.Value = hook.Responded, value
}

// Superseded is the verdict after a statement found a newer epoch in the record: the call
// is admitted again, and the stage runs again.
func Superseded() hook.Verdict { return hook.Verdict{Outcome: hook.Superseded} }
