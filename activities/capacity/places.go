package capacity

import (
	"sync"
	"time"

	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// HoldTime is how long a call keeps the places that it took without asking again.
	HoldTime = 5 * time.Minute
	// holdMargin is the time that may pass between the check of Expired and the effect of the
	// tool.
	holdMargin = time.Minute
	// manyPlaces is the number of calls from which Took drops expired places.
	manyPlaces = 4096
)

// Places remembers when this process asked for the places of its calls. It uses only the
// monotonic clock of the process: the clocks of two machines are never compared, because
// one of them may be wrong by hours (fault 28). The zero value is ready for use.
type Places struct {
	mu    sync.Mutex
	asked map[string]time.Time
}

// Took notes that a call has got the places that it asked for at the time asked.
func (p *Places) Took(invocationID string, asked time.Time) {
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

// Forget drops the places of a call that has ended.
func (p *Places) Forget(invocationID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, invocationID)
}

// Expired reports whether it is too late for a call of the local lane to run with its places. Such
// a call makes no claim, and a worker that was stopped for minutes would run it although another
// call has its place now. A call whose places another process asked for has to ask again, and gets
// the places that it still has. In the regular lane the claim checks the places in the database.
func (p *Places) Expired(in contract.ExecuteIn) bool {
	if in.LeasedAtMs == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, ok := p.asked[in.Facts.InvocationID]
	return !ok || time.Since(asked) > HoldTime-holdMargin-time.Duration(in.MaxRuntimeMs)*time.Millisecond
}
