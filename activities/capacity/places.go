package capacity

import (
	"sync"
	"time"

	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// HoldTime is how long a call keeps its slots without asking for them again.
	HoldTime = 5 * time.Minute
	// holdMargin is the time that may pass between the check of [SlotTimes.Expired] and the start of the tool. Expired reports slots as lost
	// this much, and the longest runtime of the tool, before the end of HoldTime.
	holdMargin = time.Minute
	// manySlots is the number of remembered calls at which Remember begins to drop expired slots.
	manySlots = 4096
)

// SlotTimes remembers when this process asked for the slots of its calls. It uses only the monotonic
// clock of the process: the clocks of two machines are never compared, because one of them may be
// wrong by hours (case 28 of docs/internals/faults.md). The zero value is ready for use.
type SlotTimes struct {
	mu    sync.Mutex
	asked map[string]time.Time
}

// Remember records that a call has its slots. asked is the time of this process right before it asked the database for
// them. With manySlots calls or more, Remember first forgets the calls that asked longer than HoldTime ago.
func (p *SlotTimes) Remember(invocationID string, asked time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = make(map[string]time.Time)
	}
	if len(p.asked) >= manySlots {
		for id, at := range p.asked {
			if time.Since(at) > HoldTime {
				delete(p.asked, id)
			}
		}
	}
	p.asked[invocationID] = asked
}

// Forget drops the slots of a call that has ended.
func (p *SlotTimes) Forget(invocationID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, invocationID)
}

// Expired reports whether a call in the local lane may have lost its slots. A worker that was suspended for
// minutes could run the call although another call has its slot by now. If another process asked for the slots,
// Expired is true: the call must ask again, and gets the slots that it still has. In the other lanes the claim
// checks the slots in the database.
func (p *SlotTimes) Expired(in contract.ExecuteIn) bool {
	if in.LeasedAtMs == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, ok := p.asked[in.Facts.InvocationID]
	return !ok || time.Since(asked) > HoldTime-holdMargin-time.Duration(in.MaxRuntimeMs)*time.Millisecond
}
