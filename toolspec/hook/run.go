package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// Run runs the hooks of one stage in the order of their names in the input. A hook sees the changes that
// Pawl's own step has made (changed), and the changes of the hooks before it. The first hook that ends
// the stage decides its outcome. In PartApprovers, a hook that asks or responds does not end the stage:
// Run collects what all hooks ask. Run returns an error if a hook's error is Transient or if ctx is
// cancelled. The whole stage must then run again.
func (r *Registry) Run(ctx context.Context, in StageInput, changed Delta) (Verdict, error) {
	started := time.Now()
	info, _ := InfoOf(in.Stage)
	verdict := Verdict{Delta: changed.clone()}
	facts := in.Facts
	for _, name := range in.Hooks {
		h, known := r.byName[name]
		handler, exists := h.at(in.Stage)
		if !known || !exists {
			if info.Failure == Closed {
				return Verdict{Outcome: Missing, By: name, DurationUs: time.Since(started).Microseconds()}, nil
			}
			verdict.Notes = append(verdict.Notes, Note{Hook: name, Reason: "this worker does not have the hook"})
			continue
		}
		own, cancel := h.withTimeout(ctx)
		end, err := r.runHook(own, h, handler, &core{facts: facts, delta: &verdict.Delta})
		err = h.replaceLate(ctx, own, err)
		cancel()
		switch {
		case err != nil && errs.IsTransient(err):
			return Verdict{}, err
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
			// The call was cancelled, or the worker stops. This is not a fault of the hook.
			return Verdict{}, ctx.Err()
		case err != nil && info.Failure == Logged:
			verdict.Notes = append(verdict.Notes, Note{Hook: name, Reason: "failed"})
		case err != nil:
			end = &control{outcome: Failed, failure: failureOf(in.Stage, name, err)}
		}
		if end != nil && in.Part == PartApprovers && collectAsk(end, &verdict) {
			continue
		}
		if end != nil && info.Failure == Closed {
			verdict.Outcome, verdict.Value, verdict.Challenge = end.outcome, end.value, end.challenge
			verdict.Failure, verdict.Ask, verdict.Wait, verdict.By = end.failure, end.ask, end.wait, name
			break
		}
	}
	if in.Stage == WillWriteCache.stage && len(verdict.Notes) > 0 {
		// A hook that failed may have wanted to keep the value out of the cache.
		verdict.Delta.Entry = nil
	}
	verdict.DurationUs = time.Since(started).Microseconds()
	return verdict, nil
}

// collectAsk adds the Ask of a hook to v, and reports whether the next hooks must still run. It ignores a
// response, because a response must not replace the decision of people.
func collectAsk(end *control, v *Verdict) bool {
	switch end.outcome {
	case Responded: // the hook responds again when the stage runs after the approval
	case Asked:
		v.Asks = append(v.Asks, *end.ask)
		v.Outcome, v.Ask, v.By = Asked, &v.Asks[0], v.Asks[0].Hook
	default: // the call fails or waits, so nobody is asked
		v.Asks, v.Ask = nil, nil
		return false
	}
	return true
}

// runHook runs one hook. It returns the outcome, or nil and nil if the stage continues, or an error
// whose text never leaves the process.
func (r *Registry) runHook(ctx context.Context, h Hook, handler Handler, c *core) (end *control, err error) {
	c.stage, c.hook, c.namesApprovers = handler.stage, h.name, h.namesApprovers
	c.providers = provide.FromContext(ctx)
	before := c.delta.clone()
	defer func() {
		if err != nil {
			*c.delta = before
			if c.nextErr == nil || !errors.Is(err, c.nextErr) {
				r.report(ctx, h, handler.stage, c, err)
			}
		}
	}()
	if h.filter != nil {
		var wanted bool
		err := guard(func() (err error) { wanted, err = h.filter(ctx, c.facts.clone()); return err })
		if err != nil || !wanted {
			c.skipped = err == nil
			return nil, err
		}
	}
	err = guard(func() error { return handler.call(ctx, c) })
	var returned *control
	switch {
	case c.misuse != nil:
		return nil, c.misuse
	case errors.As(err, &returned) && returned == c.verb:
		return returned, nil
	case err != nil:
		return nil, err
	case c.verb != nil:
		return nil, errVerbDropped
	// The bytes of Output and Cached do not count, because these values leave the worker in their short form.
	case c.delta.Size()-len(c.delta.Output)-len(c.delta.Cached) > MaxDelta:
		return nil, fmt.Errorf("the stage changes more than %d bytes", MaxDelta)
	}
	return nil, nil
}

var errVerbDropped = errors.New("a verb was called and its error was not returned")

// panicked is a recovered panic. It does not keep the value of the panic, which may hold data of the call.
type panicked struct{ stack string }

// Error returns the same text for every panic.
func (*panicked) Error() string { return "panic" }

// guard calls f and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = &panicked{stack: errs.Frames(debug.Stack())}
		}
	}()
	return f()
}

// report logs the failure of a hook, with names and types only. Texts of errors and panics may hold data
// of the call, so report does not log these texts.
func (r *Registry) report(ctx context.Context, h Hook, s Stage, c *core, err error) {
	attrs := []slog.Attr{
		slog.String("hook", h.name), slog.String("stage", string(s)),
		slog.String("invocationId", c.facts.InvocationID), slog.String("toolId", c.facts.ToolID),
		slog.String("errorType", fmt.Sprintf("%T", err)),
	}
	var p *panicked
	switch {
	case errors.As(err, &p):
		attrs = append(attrs, slog.String("at", p.stack))
	case c.misuse != nil || errors.Is(err, errVerbDropped):
		attrs = append(attrs, slog.String("misuse", err.Error()))
	}
	r.log.LogAttrs(ctx, slog.LevelError, "hook failed", attrs...)
}

// internalFailure returns the failure of a call whose hook has failed at a stage.
func internalFailure(s Stage, name string) *Failure {
	return &Failure{
		Code:        toolspec.CodeInternal,
		SafeMessage: fmt.Sprintf("hook %s failed at %s", name, s),
		Details:     &toolspec.Details{Stage: string(s)},
	}
}
