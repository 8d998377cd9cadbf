package hook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// MaxDurable bounds the longest run of a durable hook.
const MaxDurable = 24 * time.Hour

// Durable runs each stage of the hook as an activity, for hooks that need more time. Without Durable,
// a stage has two seconds and runs inside the workflow task. longest bounds one run of the hook at
// one stage: it is from one millisecond to MaxDurable. After a longer run, a Closed stage ends the
// call with `timeout`, and at a Logged stage the record notes the failure.
//
// A durable hook makes the deadline of its calls later: each stage of the hook, up to and including the
// output stages, adds longest once. onRetry and onGiveUp each add longest MaxAttempts-1 times, but at
// least once. A stage that runs again adds nothing. The deadline does not count the stages after the
// output stages: together they have one minute, plus longest for each stage of the hook there.
//
// If the worker dies during a stage, another worker that has the hook runs the whole stage again with
// the same IdempotencyKey. Pawl sends the heartbeats. If the call is cancelled or the worker stops,
// the context of the hook ends. If the hook returns a Transient error, the stage runs again, with a
// backoff, until its deadline. Other errors count as in any hook.
//
// The stages inside execute (aroundExecute, willExecute, didExecute) already run in an activity, so
// the registry refuses a durable hook at these stages. Each durable stage costs one activity per
// call, so put fast functions into another hook.
func Durable(longest time.Duration) Option {
	// 0 marks a hook that is not durable. checkDurable refuses -1.
	if longest <= 0 {
		longest = -1
	}
	return option(func(h *Hook) { h.durable = longest })
}

// insideExecute reports whether a stage is part of the execute activity.
func insideExecute(s Stage) bool {
	return s == AroundExecute.stage || s == WillExecute.stage || s == DidExecute.stage
}

func (h Hook) checkDurable() error {
	if h.durable == 0 {
		return nil
	}
	if h.durable < time.Millisecond || h.durable > MaxDurable {
		return fmt.Errorf("hook %q: a durable hook runs for at least a millisecond and at most %s", h.name, MaxDurable)
	}
	for _, handler := range h.handlers {
		if insideExecute(handler.stage) {
			return fmt.Errorf("hook %q is durable and stands at %s, which is part of the execute activity: make that a hook of its own", h.name, handler.stage)
		}
	}
	return nil
}

// sumDurable returns the sum of the times that the durable hooks among names passed to Durable, in
// milliseconds.
func (r *Registry) sumDurable(names []string) (ms int64) {
	for _, name := range names {
		ms += milliseconds(r.byName[name].durable)
	}
	return ms
}

// withTimeout returns a context that ends after the longest run of a durable hook. For any other hook it
// returns ctx.
func (h Hook) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.durable == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, h.durable)
}

// late is the error of a durable hook that did not end within its longest run.
type late struct{ after time.Duration }

// Error returns the longest run of the hook, as text.
func (l *late) Error() string { return "the hook did not end within " + l.after.String() }

// LogReason returns the text of Error, which contains no data of the call.
func (l *late) LogReason() string { return l.Error() }

// replaceLate returns a late error in place of err if the durable hook used up its own time, which the
// context own bounds, before the time of the stage was over. It returns a Transient error unchanged,
// because that asks for another run.
func (h Hook) replaceLate(stage, own context.Context, err error) error {
	isLate := h.durable > 0 && errors.Is(own.Err(), context.DeadlineExceeded) && stage.Err() == nil
	if err != nil && isLate && !errs.IsTransient(err) {
		return &late{after: h.durable}
	}
	return err
}

// failureOf returns the failure of a call whose hook returned an error at a closed stage.
func failureOf(s Stage, name string, err error) *Failure {
	var l *late
	if !errors.As(err, &l) {
		return internalFailure(s, name)
	}
	return &Failure{
		Code:        toolspec.CodeTimeout,
		SafeMessage: fmt.Sprintf("hook %s did not end within %s at %s", name, l.after, s),
		Details:     &toolspec.Details{Stage: string(s)},
	}
}
