package failpoint

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/point"
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

// Effect stands around the effect of a tool, as ledger.Around.
func (t *Trap) Effect(_ ledger.Effect, effect func() error) error {
	t.Hit(point.EffectBefore)
	if err := effect(); err != nil {
		return err
	}
	t.Hit(point.EffectAfter)
	return nil
}

// hit is Hit for any call: the plan does not tell calls apart.
func (t *Trap) hit(p point.Name, _ string) { t.Hit(p) }

// take runs a step. One that was held up goes on without its deadline, as a
// statement does that was already on its way to the server.
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
