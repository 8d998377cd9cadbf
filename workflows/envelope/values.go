package envelope

import (
	"bytes"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// arguments holds the current and the earlier arguments of the call.
type arguments struct {
	args, safeArgs json.RawMessage
	argsHistory    []json.RawMessage
	// safeHistory has each entry of argsHistory in the masked form that people and records
	// may see; an entry is nil while that form is not known.
	safeHistory []json.RawMessage
	// argsChanged says that a hook has changed the arguments, and the gate must judge the new ones.
	argsChanged bool
	// repaired says that hydrate has repaired the arguments. It stays true after every later change.
	repaired bool
	// noSchema says that the tool has no schema, so nothing validated the arguments.
	noSchema bool
}

// Args returns the current arguments.
func (c *Call) Args() json.RawMessage { return c.args }

// SafeArgs returns the arguments in the masked form that people and records may see. It is
// nil while that form is not known.
func (c *Call) SafeArgs() json.RawMessage { return c.safeArgs }

// SafeHistory returns every value that the arguments had, in the masked form that people
// and records may see.
func (c *Call) SafeHistory() []json.RawMessage { return c.safeHistory }

// SetArgs replaces the arguments and adds the new ones to the history. safe is the masked
// form of the new arguments; nil if it is not known yet.
func (c *Call) SetArgs(args, safe json.RawMessage) {
	c.args, c.safeArgs = args, safe
	c.argsHistory = append(c.argsHistory[:len(c.argsHistory):len(c.argsHistory)], args)
	c.safeHistory = append(c.safeHistory[:len(c.safeHistory):len(c.safeHistory)], safe)
}

// SetValidatedArgs replaces the arguments by the output of hydrate, without a new entry in the history. safe is the
// masked form of the arguments. safeHistory has the masked form of each value in the history; nil if it did not change.
func (c *Call) SetValidatedArgs(args, safe json.RawMessage, safeHistory []json.RawMessage, repaired, noSchema bool) {
	if c.args = args; safeHistory != nil {
		c.safeHistory = safeHistory
	}
	c.setSafeArgs(safe)
	c.repaired, c.noSchema = c.repaired || repaired, noSchema
}

// setSafeArgs sets the masked form of the arguments, also in the last entry of the history.
func (c *Call) setSafeArgs(safe json.RawMessage) {
	c.safeArgs = safe
	if n := len(c.safeHistory); n > 0 {
		c.safeHistory = append(c.safeHistory[:n-1:n-1], safe)
	}
}

// ArgsChanged reports whether a hook changed the arguments since the last
// TakeArgsChanged.
func (c *Call) ArgsChanged() bool { return c.argsChanged }

// TakeArgsChanged reports whether a hook changed the arguments, and clears the mark. The
// caller must have the new arguments judged.
func (c *Call) TakeArgsChanged() bool {
	changed := c.argsChanged
	c.argsChanged = false
	return changed
}

// output holds the current and the earlier output of the call.
type output struct {
	value         json.RawMessage
	info          toolspec.OutputInfo
	outputHistory []json.RawMessage
	// visible is the part of outputHistory that records may show. It lacks the values
	// that a hook at willRedactOutput replaced, and the values that a later step hid.
	visible   []json.RawMessage
	challenge bool
	source    toolspec.Source
	// cached is the value that willReadCache found for the call, in the result cache or by a hook; nil if there is none.
	cached     json.RawMessage
	cachedInfo toolspec.OutputInfo
	// hit says that cached is from the result cache, and not from a hook.
	hit bool
}

// Output returns the current output of the call, or its short form.
func (c *Call) Output() json.RawMessage { return c.value }

// OutputInfo describes the current output.
func (c *Call) OutputInfo() toolspec.OutputInfo { return c.info }

// SetStoredOutput sets an output of which the workflow has only the reference, because a worker of an older release
// gave the answer. Unlike SetOutput, SetStoredOutput adds nothing to the outputs that hooks see.
func (c *Call) SetStoredOutput(info toolspec.OutputInfo) { c.value, c.info = nil, info }

// HasStoredOutputOnly reports whether SetStoredOutput set the output.
func (c *Call) HasStoredOutputOnly() bool { return c.info.OutputRef != "" && c.value == nil }

// SetOutput replaces the output and adds the new one to the history. A reference to the stored stream of the tool is
// kept: a new output without a reference gets the reference of the old output.
func (c *Call) SetOutput(value json.RawMessage, info toolspec.OutputInfo) {
	hasStream := c.value != nil && c.info.OutputRef != "" && !c.info.Truncated
	if hasStream && info.OutputRef == "" {
		info.OutputRef = c.info.OutputRef
	}
	c.value, c.info = value, info
	c.outputHistory = append(c.outputHistory[:len(c.outputHistory):len(c.outputHistory)], value)
	if n := len(c.visible); n == 0 || !bytes.Equal(c.visible[n-1], value) {
		c.visible = append(c.visible[:n:n], value)
	}
}

// VisibleOutputs returns the values of the output that the record may show, in order.
func (c *Call) VisibleOutputs() []json.RawMessage { return c.visible }

// HideOutputs removes the first n of VisibleOutputs.
func (c *Call) HideOutputs(n int) { c.visible = c.visible[n:] }

// HideAllOutputs removes all of VisibleOutputs.
func (c *Call) HideAllOutputs() { c.visible = nil }

// Source returns the origin of the output.
func (c *Call) Source() toolspec.Source { return c.source }

// Challenge reports whether the output is a challenge: not a value of the tool, but a demand that the
// caller must meet first.
func (c *Call) Challenge() bool { return c.challenge }

// SetSource records the origin of the output, and whether the output is a challenge.
func (c *Call) SetSource(source toolspec.Source, challenge bool) {
	c.source, c.challenge = source, challenge
}

// HasCachedValue reports whether the cache had a value for the call.
func (c *Call) HasCachedValue() bool { return c.cached != nil }

// ShapesOutput reports whether the plan has an output stage that can refuse or change the output. Such a
// stage needs the value, and not only a reference to it. willWriteCache is no such stage: it decides only
// whether the cache keeps the value.
func (c *Call) ShapesOutput() bool {
	for _, step := range c.plan.Post {
		if step.Phase == hook.PhaseOutput && step.Stage != hook.WillWriteCache.Stage() {
			return true
		}
	}
	return false
}
