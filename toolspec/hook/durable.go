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

// Durable makes the hook's stages activities of their own, for hooks that take
// longer than a moment: a stage otherwise has two seconds and runs inside the
// workflow task. longest, up to MaxDurable, bounds one run of the hook; one that
// takes longer fails with `timeout`. The call's deadline grows by it.
//
// What a durable hook has begun survives its worker: another one that has the
// hook runs the stage again, whole and under the same IdempotencyKey. Pawl sends
// the heartbeats; a cancelled call and a worker that stops end the hook's
// context. An error that is Transient has the stage run again, with a backoff,
// until the call's deadline; every other error counts as anywhere else.
//
// The stages inside execute (aroundExecute, willExecute, didExecute) are part of
// an activity already: a durable hook on one of them is refused when it is
// registered. Durability costs an activity per stage and call, so give what is
// quick a hook of its own.
func Durable(longest time.Duration) Option {
	// Zero would be no durable hook at all, and nobody would be told.
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

// durable adds up the longest runs of the durable hooks among names, in
// milliseconds.
func (r *Registry) durable(names []string) (ms int64) {
	for _, name := range names {
		ms += milliseconds(r.byName[name].durable)
	}
	return ms
}

// within gives a durable hook no more than its longest run.
func (h Hook) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.durable == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, h.durable)
}

// late says that a durable hook was stopped by the end of its own time.
type late struct{ after time.Duration }

// Error says how long the hook had.
func (l *late) Error() string { return "the hook did not end within " + l.after.String() }

// LogReason is the same: it holds nothing of the call.
func (l *late) LogReason() string { return l.Error() }

// lateness replaces the error of a hook whose own time is over while that of its
// stage is not. One that calls its error Transient wants another try.
func (h Hook) lateness(stage, own context.Context, err error) error {
	if err == nil || h.durable == 0 || stage.Err() != nil || !errors.Is(own.Err(), context.DeadlineExceeded) || errs.IsTransient(err) {
		return err
	}
	return &late{after: h.durable}
}

// failed is what a hook's error makes of the call at a closed stage.
func failed(s Stage, name string, err error) *Failure {
	var l *late
	if !errors.As(err, &l) {
		return internal(s, name)
	}
	return &Failure{
		Code:        toolspec.CodeTimeout,
		SafeMessage: fmt.Sprintf("hook %s did not end within %s at %s", name, l.after, s),
		Details:     &toolspec.Details{Stage: string(s)},
	}
}
