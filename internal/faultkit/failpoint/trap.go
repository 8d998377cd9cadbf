package failpoint

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// Trap carries out a Plan in this process, once.
type Trap struct {
	plan  Plan
	log   io.Writer
	polls *polls

	mu   sync.Mutex
	hits int
}

// New makes a Trap that tells on log what it does and, of a process that was
// stopped, what became of the step that it stood at.
func New(plan Plan, log io.Writer) *Trap { return &Trap{plan: plan, log: log, polls: newPolls()} }

// Hit says that the process has come to a point. Where that is what the plan
// waits for, the signal takes effect before Hit returns: after Kill it does not
// return, after Stop it returns once the process is continued, and says so.
func (t *Trap) Hit(p Point) (stopped bool) {
	if t.plan.At != p {
		return false
	}
	t.mu.Lock()
	t.hits++
	due := t.hits == t.plan.Nth
	t.mu.Unlock()
	if !due {
		return false
	}
	if t.plan.By == Stop {
		resume := t.polls.hangUp()
		defer resume()
	}
	fmt.Fprintf(t.log, "failpoint: %s at %s\n", t.plan.By, p)
	signalSelf(t.plan.By)
	return t.plan.By == Stop
}

// Effect stands around the effect of a tool, as ledger.Around.
func (t *Trap) Effect(_ string, effect func() error) error {
	t.Hit(EffectBefore)
	if err := effect(); err != nil {
		return err
	}
	t.Hit(EffectAfter)
	return nil
}

// step runs f between two points. A step that was held up goes on without its
// deadline, as a statement does that was already on its way to the server.
func step[T any](ctx context.Context, t *Trap, before, after Point, outcome func(T) any, f func(context.Context) (T, error)) (T, error) {
	held := t.Hit(before)
	if held {
		ctx = context.WithoutCancel(ctx)
	}
	out, err := f(ctx)
	if held {
		fmt.Fprintf(t.log, "failpoint: held at %s: %v, %v\n", before, outcome(out), err)
	}
	if err == nil {
		t.Hit(after)
	}
	return out, err
}
