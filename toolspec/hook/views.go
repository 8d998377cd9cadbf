package hook

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// Begin is the view of the context stages.
type Begin struct {
	reads
	scratches
	aborts
}

func newBegin(c *core) *Begin { return &Begin{reads{c}, scratches{c}, aborts{c}} }

// Binder is the view of willBindProviders.
type Binder struct {
	reads
	scratches
	binds
	aborts
}

func newBinder(c *core) *Binder { return &Binder{reads{c}, scratches{c}, binds{c}, aborts{c}} }

// BindsReturned returns a handler that calls f at willBindProviders, and binds the recipes that f returns
// for the call. f returns the recipes in a form that provide.Recipes reads.
func BindsReturned(f func(ctx context.Context, v *Binder) (any, error)) Handler {
	return WillBindProviders.Do(func(ctx context.Context, v *Binder) error {
		returned, err := f(ctx, v)
		if err != nil {
			return err
		}
		recipes, err := provide.Recipes(returned)
		if err != nil {
			return err
		}
		v.Bind(recipes...)
		return nil
	})
}

// Gate is the view of willAuthorize. It does not see the arguments.
type Gate struct {
	reads
	scratches
	tightens
	aborts
	retries
	waits
}

func newGate(c *core) *Gate {
	return &Gate{reads{c}, scratches{c}, tightens{c}, aborts{c}, retries{c}, waits{c}}
}

// Check is the view of stages that see the arguments and cannot change them: flags, capacity, secrets, cache miss.
type Check struct {
	reads
	readsArgs
	scratches
	aborts
	retries
	responds
}

func newCheck(c *core) *Check {
	return &Check{reads{c}, readsArgs{c}, scratches{c}, aborts{c}, retries{c}, responds{c}}
}

// Consent is the view of willCheckConsent: it may ask a person.
type Consent struct {
	Check
	tightens
	asks
	waits
}

func newConsent(c *core) *Consent { return &Consent{*newCheck(c), tightens{c}, asks{c}, waits{c}} }

// Granted returns the approval that the call has, or nil.
func (v *Consent) Granted() *GrantedApproval { return readsEnd{v.asks.c}.Approval() }

// Input is the view of the stages that shape arguments.
type Input struct {
	Check
	setsArgs
}

func newInput(c *core) *Input { return &Input{*newCheck(c), setsArgs{c}} }

// Lookup is the view of willReadCache.
type Lookup struct{ Check }

func newLookup(c *core) *Lookup { return &Lookup{*newCheck(c)} }

// Found passes a cached value to didCacheHit, where a hook decides whether the value answers the call.
func (v *Lookup) Found(value any) {
	c := v.reads.c
	if raw := c.encodeOutput("the cached value", value); raw != nil {
		c.delta.Cached, c.delta.Hit = raw, false
	}
}

// Cached is the view of didCacheHit.
type Cached struct{ Check }

func newCached(c *core) *Cached { return &Cached{*newCheck(c)} }

// Value returns the cached value.
func (v *Cached) Value() json.RawMessage { return slices.Clone(v.reads.c.facts.Cached) }

// Ignore lets the tool run although the result cache has a value; the value of the tool then replaces the entry, unless a younger call has
// written it. A value that a hook passed to Lookup.Found needs no Ignore: it answers the call only if a hook at didCacheHit responds with it.
func (v *Cached) Ignore() { v.reads.c.delta.Ignored = true }

// Attempt is the view of onRetry and willExecute.
type Attempt struct {
	reads
	readsArgs
	aborts
}

func newAttempt(c *core) *Attempt { return &Attempt{reads{c}, readsArgs{c}, aborts{c}} }

// Attempt returns the number of the attempt, from 1.
func (v *Attempt) Attempt() int { return v.reads.c.facts.Attempt }

// Executed is the view of didExecute. A hook there sees the value of the tool before redaction, so it may
// neither write the scratchpad nor change the value.
type Executed struct {
	reads
	readsArgs
	aborts
}

func newExecuted(c *core) *Executed { return &Executed{reads{c}, readsArgs{c}, aborts{c}} }

// RawOutput returns the value of the tool before redaction. Do not store or send this value.
func (v *Executed) RawOutput() json.RawMessage { return slices.Clone(v.reads.c.rawOutput) }

// Around is the view of aroundExecute.
type Around struct {
	reads
	readsArgs
	aborts
	responds
}

func newAround(c *core) *Around { return &Around{reads{c}, readsArgs{c}, aborts{c}, responds{c}} }

// Next runs the next aroundExecute hook, or after the last hook willExecute, the tool and didExecute. The
// hook may call Next once, and must return the error of Next.
func (v *Around) Next() (json.RawMessage, error) {
	value, err := v.reads.c.next()
	return slices.Clone(value), err
}

// Output is the view of the stages that shape the value.
type Output struct {
	reads
	readsArgs
	readsOutput
	scratches
	setsOutput
	aborts
}

func newOutput(c *core) *Output {
	return &Output{reads{c}, readsArgs{c}, readsOutput{c}, scratches{c}, setsOutput{c}, aborts{c}}
}

// IsChallenge reports whether the value is a challenge and not a result of the tool.
func (v *Output) IsChallenge() bool { return v.reads.c.facts.Challenge }

// Report is the view of the stages that only read: onGiveUp, onError and the stages at the end of a call.
type Report struct {
	reads
	readsOutput
	readsEnd
}

func newReport(c *core) *Report { return &Report{reads{c}, readsOutput{c}, readsEnd{c}} }

// SafeArgs returns the arguments as records see them.
func (v *Report) SafeArgs() json.RawMessage { return readsArgs{v.reads.c}.SafeArgs() }

// OK reports whether the call has a value.
func (v *Report) OK() bool { return v.reads.c.facts.Failure == nil }

// ErrorCode returns the code of the failure, or "".
func (v *Report) ErrorCode() toolspec.Code {
	if f := v.reads.c.facts.Failure; f != nil {
		return f.Code
	}
	return ""
}

// Keep is the view of willWriteCache, where a hook may shorten how long the result cache keeps the value,
// and add tags. Settle writes the value that the call had before willTransformOutput, and only if the
// tool was executed.
type Keep struct {
	Report
	keeps
}

func newKeep(c *core) *Keep { return &Keep{*newReport(c), keeps{c}} }

// Audit is the view of willAudit.
type Audit struct {
	Report
	records
}

func newAudit(c *core) *Audit { return &Audit{*newReport(c), records{c}} }
