package chaos

import (
	"context"
	"slices"
	"sync"
	"time"

	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

const (
	// watchEvery is the interval of writes to the Temporal server.
	watchEvery = time.Second
	// stalled is the duration of a write at which the server loses heartbeats.
	stalled = 2 * time.Second
	// watchID is a workflow without a worker, to which watch writes.
	watchID, watchQueue, watchSignal = "chaos-watch", "chaos-watch", "look"
)

// faultLog records faults and stalls of the machine.
type faultLog struct {
	mu     sync.Mutex
	faults []oracle.Fault
	// temporalAway is the number of planned outages of Temporal that have not ended.
	temporalAway int
}

func (l *faultLog) note(f oracle.Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, f)
}

func (l *faultLog) noted() []oracle.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.faults)
}

func (l *faultLog) away(change int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.temporalAway += change
}

// watch records a stall if a write to Temporal takes so long that attempts are lost as in an
// outage: the machine is too busy for the run. A write that starts late counts too, because then
// the whole machine has stalled.
func (l *faultLog) watch(ctx context.Context, server temporal.Client) {
	for due := time.Now().Add(watchEvery); pause(ctx, watchEvery); due = time.Now().Add(watchEvery) {
		_, err := server.SignalWithStartWorkflow(ctx, watchID, watchSignal, nil, temporal.StartWorkflowOptions{TaskQueue: watchQueue}, watchID)
		to := time.Now()
		if ctx.Err() == nil && (err != nil || to.Sub(due) >= stalled) {
			l.noteStall(due, to)
		}
	}
}

// noteStall ignores a stall during a planned outage, and joins stalls that follow each other.
func (l *faultLog) noteStall(from, to time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.temporalAway > 0 {
		return
	}
	for i := range l.faults {
		f := &l.faults[i]
		if (f.Kind == oracle.Temporal || f.Kind == oracle.TemporalFreeze) && !f.To.Before(from) {
			return
		}
		if f.Kind == oracle.Stall && from.Sub(f.To) <= 2*watchEvery {
			f.To = to
			return
		}
	}
	l.faults = append(l.faults, oracle.Fault{Kind: oracle.Stall, From: from, To: to})
}
