package hook

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// AttemptInput has the names of the hooks of an attempt, by stage and in the order in which they run, and
// the Facts that they get.
type AttemptInput struct {
	Around, WillExecute, DidExecute []string
	Facts                           Facts
}

// AttemptVerdict is the outcome of one attempt with its hooks.
type AttemptVerdict struct {
	// Outcome is Continue if the tool returned a value or its own error: Value or Err has it. If the tool
	// or a hook answered or aborted, it is Responded or Failed, and Missing if this worker lacks a hook.
	Outcome   Outcome
	Value     json.RawMessage
	Challenge bool
	Failure   *Failure
	By        string
	// Err is the tool's own error, if that error ended the attempt.
	Err   error
	Trace []Traced
	// Transient reports that a transient error of a hook failed the attempt, so another attempt may
	// succeed.
	Transient bool
	// Ran reports that the tool was called.
	Ran bool
}

// Traced is a stage that ran inside execute.
type Traced struct {
	Stage      Stage `json:"stage"`
	OK         bool  `json:"ok"`
	DurationUs int64 `json:"durationUs"`
	startedAt  time.Time
}

// Attempt runs one attempt: the aroundExecute hooks, nested by priority, and inside them
// willExecute, the tool and didExecute. Value is the raw value of the tool, or a response of a hook
// or of the tool.
func (r *Registry) Attempt(ctx context.Context, in AttemptInput, tool func(context.Context) (json.RawMessage, error)) AttemptVerdict {
	if name, lacks := r.Lacks(in); lacks {
		return AttemptVerdict{Outcome: Missing, By: name}
	}
	a := &attempt{r: r, in: in, tool: tool}
	value, err := a.runAround(ctx, 0)
	v := AttemptVerdict{Value: value, Trace: a.trace, Ran: a.ran}
	if err == nil {
		return v
	}
	v.Value = nil
	var ended *ended
	if errors.As(err, &ended) {
		v.Outcome, v.By, v.Transient = ended.end.outcome, ended.by, ended.transient
		v.Value, v.Challenge, v.Failure = ended.end.value, ended.end.challenge, ended.end.failure
		return v
	}
	v.Err = err
	return v
}

// Lacks returns the name of a hook of the attempt that this worker does not have. Call it before
// the claim: a claimed attempt cannot move to another worker.
func (r *Registry) Lacks(in AttemptInput) (name string, lacks bool) {
	for _, at := range []struct {
		stage Stage
		names []string
	}{{AroundExecute.stage, in.Around}, {WillExecute.stage, in.WillExecute}, {DidExecute.stage, in.DidExecute}} {
		if name, lacks := r.LacksAt(at.stage, at.names); lacks {
			return name, true
		}
	}
	return "", false
}

// LacksAt returns the first of the names for which this worker has no hook at the stage.
func (r *Registry) LacksAt(s Stage, names []string) (name string, lacks bool) {
	for _, name := range names {
		if _, exists := r.byName[name].at(s); !exists {
			return name, true
		}
	}
	return "", false
}

type attempt struct {
	r     *Registry
	in    AttemptInput
	tool  func(context.Context) (json.RawMessage, error)
	trace []Traced
	// nextErr is the error that the last call of Next returned. If an around hook returns nil in its place,
	// the attempt still fails with nextErr.
	nextErr error
	// ran reports that the tool was called.
	ran bool
}

// ended is the error by which a hook or the tool ends the attempt with an outcome, for example after an
// Abort at willExecute. Each around hook outside of it gets this error from Next.
type ended struct {
	end       control
	by        string
	transient bool
}

// Error names the outcome.
func (e *ended) Error() string { return "attempt ended: " + string(e.end.outcome) }

// runAround runs the around hooks from index i on, and runBody inside them. It returns the value of the
// tool, or the error that ends the attempt.
func (a *attempt) runAround(ctx context.Context, i int) (json.RawMessage, error) {
	if i == len(a.in.Around) {
		return a.runBody(ctx)
	}
	name := a.in.Around[i]
	h := a.r.byName[name]
	handler, _ := h.at(AroundExecute.stage)
	var value json.RawMessage
	calls := 0
	c := &core{facts: a.in.Facts, delta: &Delta{}}
	c.next = func() (json.RawMessage, error) {
		if calls++; calls > 1 {
			c.fail(errors.New("next was called twice"))
			return nil, c.misuse
		}
		var err error
		value, err = a.runAround(ctx, i+1)
		a.nextErr, c.nextErr = err, err
		return value, err
	}
	done := a.start(AroundExecute.stage)
	end, err := a.r.runHook(ctx, h, handler, c)
	done(err == nil)
	switch {
	case end != nil:
		return nil, &ended{end: *end, by: name}
	case c.misuse == nil && a.nextErr != nil:
		return nil, a.nextErr
	case err != nil:
		return nil, endByError(AroundExecute.stage, name, err)
	case c.skipped:
		return a.runAround(ctx, i+1)
	case calls == 0:
		c.fail(errors.New("next was not called and nothing was answered"))
		a.r.report(ctx, h, AroundExecute.stage, c, c.misuse)
		return nil, endByError(AroundExecute.stage, name, c.misuse)
	}
	return value, nil
}

// runBody runs willExecute, the tool and didExecute.
func (a *attempt) runBody(ctx context.Context) (json.RawMessage, error) {
	if err := a.runStage(ctx, WillExecute.stage, a.in.WillExecute, nil); err != nil {
		return nil, err
	}
	a.ran = true
	value, err := a.tool(ctx)
	if err != nil {
		return nil, convertToolError(err)
	}
	if err := a.runStage(ctx, DidExecute.stage, a.in.DidExecute, value); err != nil {
		return nil, err
	}
	return value, nil
}

// runStage runs the hooks of a stage. raw is the value of the tool, or nil before the tool.
func (a *attempt) runStage(ctx context.Context, s Stage, names []string, raw json.RawMessage) error {
	if len(names) == 0 {
		return nil
	}
	done := a.start(s)
	for _, name := range names {
		h := a.r.byName[name]
		handler, _ := h.at(s)
		end, err := a.r.runHook(ctx, h, handler, &core{facts: a.in.Facts, delta: &Delta{}, rawOutput: raw})
		if err != nil {
			done(false)
			return endByError(s, name, err)
		}
		if end != nil {
			done(false)
			return &ended{end: *end, by: name}
		}
	}
	done(true)
	return nil
}

// endByError returns the error that ends the attempt after a hook has returned err.
func endByError(s Stage, name string, err error) error {
	return &ended{control{outcome: Failed, failure: internalFailure(s, name)}, name, errs.IsTransient(err)}
}

// byTool is the value of AttemptVerdict.By if the tool itself responded or aborted. No hook can have this name.
const byTool = "(tool)"

// convertToolError converts the error by which a tool responds or aborts (toolspec.Response,
// toolspec.AbortError) to an ended error with the outcome. It returns any other error unchanged.
func convertToolError(err error) error {
	var response *toolspec.Response
	var abort *toolspec.AbortError
	switch {
	case errors.As(err, &response):
		return &ended{end: control{outcome: Responded, value: response.Value(), challenge: response.Challenge()}, by: byTool}
	case errors.As(err, &abort):
		f := Failure{Code: toolspec.CodeAborted, Details: &toolspec.Details{Code: abortCode(abort.Code)}}
		if !toolspec.SecretValue(abort.Reason) {
			f.SafeMessage = clip(abort.Reason, maxReason)
		}
		HTTPStatus(abort.HTTPStatus)(&f)
		return &ended{end: control{outcome: Failed, failure: &f}, by: byTool}
	}
	return err
}

// start adds a stage to the trace and returns a function that completes the entry. The trace is in
// the order in which stages start.
func (a *attempt) start(s Stage) func(ok bool) {
	i := len(a.trace)
	a.trace = append(a.trace, Traced{Stage: s, startedAt: time.Now()})
	return func(ok bool) {
		a.trace[i].OK = ok
		a.trace[i].DurationUs = time.Since(a.trace[i].startedAt).Microseconds()
	}
}
