package failpoint

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/point"
)

// Trap runs a Plan in this process, once.
type Trap struct {
	plan  Plan
	log   io.Writer
	polls *polls

	mu   sync.Mutex
	hits int
}

// New returns a Trap. It writes to log the signal that it sends and, after a stop, the result of
// the step at which the process was stopped.
func New(plan Plan, log io.Writer) *Trap { return &Trap{plan: plan, log: log, polls: newPolls()} }

// Hit reports that the process has reached a point. If the plan is for this point and this count,
// the signal takes effect before Hit returns: after Kill, Hit does not return; after Stop, Hit
// returns true when the process is continued.
func (t *Trap) Hit(p point.Name) (stopped bool) {
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

// Effect hits the points before and after the effect of a tool. It is a ledger.Around.
func (t *Trap) Effect(_ ledger.Effect, effect func() error) error {
	t.Hit(point.EffectBefore)
	if err := effect(); err != nil {
		return err
	}
	t.Hit(point.EffectAfter)
	return nil
}

// hit ignores the call: a plan is for all calls of the process.
func (t *Trap) hit(p point.Name, _ string) { t.Hit(p) }

// take runs a step. A step that was stopped continues without its deadline, like a statement that
// is already on its way to the server.
func (t *Trap) take(ctx context.Context, s step) (any, error) {
	held := t.Hit(s.before)
	if held {
		ctx = context.WithoutCancel(ctx)
	}
	out, err := s.run(ctx)
	if held {
		fmt.Fprintf(t.log, "failpoint: held at %s: %v, %v\n", s.before, s.outcome(out), err)
	}
	if err == nil {
		t.Hit(s.after)
	}
	return out, err
}
