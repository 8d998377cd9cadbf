package activities

import (
	"sync"
	"time"

	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

const (
	// HoldTime is for how long what a call takes of limited capacity is its own
	// without another word from it.
	HoldTime = 5 * time.Minute
	// holdMargin is what may pass between a look at the time and the effect.
	holdMargin = time.Minute
	// manyPlaces is how many are remembered before those are looked for that nobody
	// can use any more.
	manyPlaces = 4096
)

// places remembers when this process asked for the places of its calls. Only its
// own monotonic clock is asked, then and later: no two clocks are compared, for
// the clock of a machine may be wrong by hours (fault 28).
type places struct {
	mu    sync.Mutex
	asked map[string]time.Time
}

// took notes that a call may hold places that it asked for then.
func (p *places) took(invocationID string, asked time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = make(map[string]time.Time)
	}
	if len(p.asked) >= manyPlaces {
		for id, at := range p.asked {
			if time.Since(at) > HoldTime {
				delete(p.asked, id)
			}
		}
	}
	p.asked[invocationID] = asked
}

func (p *places) forget(invocationID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, invocationID)
}

// expired reports whether a call of the local lane, which claims nothing, comes
// too late to run in the place that it took: a worker that stood still for
// minutes would run beside whoever has the place now. A call that another
// process asked for asks again; what it holds it then gets again. In the regular
// lane the claim asks the database.
func (p *places) expired(in workflows.ExecuteIn) bool {
	if in.LeasedAtMs == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, here := p.asked[in.Facts.InvocationID]
	return !here || time.Since(asked) > HoldTime-holdMargin-time.Duration(in.MaxRuntimeMs)*time.Millisecond
}

// asks reports whether a stage asks for places.
func asks(s hook.Stage) bool { return s == hook.WillAcquireSemaphore.Stage() }
