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
	// watchEvery is the pause between two looks at the Temporal server.
	watchEvery = time.Second
	// stalled is how long a write takes at a server that loses heartbeats.
	stalled = 2 * time.Second
	// watchID is a workflow that no worker takes, to write into.
	watchID, watchQueue, watchSignal = "chaos-watch", "chaos-watch", "look"
)

// faultLog is what was broken, and when the machine stood still.
type faultLog struct {
	mu     sync.Mutex
	faults []oracle.Fault
	// temporalAway counts planned outages under way.
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

// away counts planned outages of Temporal under way.
func (l *faultLog) away(change int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.temporalAway += change
}

// watch notes when Temporal takes so long to write that attempts are lost as if
// it were away: on a machine that is too busy for the run. A look that comes late
// says the same, for then all have stood still.
func (l *faultLog) watch(ctx context.Context, server temporal.Client) {
	for due := time.Now().Add(watchEvery); pause(ctx, watchEvery); due = time.Now().Add(watchEvery) {
		_, err := server.SignalWithStartWorkflow(ctx, watchID, watchSignal, nil, temporal.StartWorkflowOptions{TaskQueue: watchQueue}, watchID)
		to := time.Now()
		if ctx.Err() == nil && (err != nil || to.Sub(due) >= stalled) {
			l.noteStall(due, to)
		}
	}
}

// noteStall leaves out what a planned outage explains, and joins what follows
// each other.
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
