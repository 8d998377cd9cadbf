package chaos

import (
	"context"
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

// watch notes when Temporal takes so long to write that attempts are lost as if
// it were away: on a machine that is too busy for the run. A look that comes late
// says the same, for then all have stood still.
func (r *run) watch(ctx context.Context) {
	for due := time.Now().Add(watchEvery); pause(ctx, watchEvery); due = time.Now().Add(watchEvery) {
		_, err := r.servers.temporal.SignalWithStartWorkflow(ctx, watchID, watchSignal, nil,
			temporal.StartWorkflowOptions{TaskQueue: watchQueue}, watchID)
		to := time.Now()
		if ctx.Err() == nil && (err != nil || to.Sub(due) >= stalled) {
			r.noteStall(due, to)
		}
	}
}

// noteStall leaves out what a planned outage explains, and joins what follows
// each other.
func (r *run) noteStall(from, to time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.temporalAway > 0 {
		return
	}
	for i := range r.faults {
		f := &r.faults[i]
		if f.Kind == oracle.Temporal && !f.To.Before(from) {
			return
		}
		if f.Kind == oracle.Stall && from.Sub(f.To) <= 2*watchEvery {
			f.To = to
			return
		}
	}
	r.faults = append(r.faults, oracle.Fault{Kind: oracle.Stall, From: from, To: to})
}

// away counts planned outages of Temporal under way.
func (r *run) away(change int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.temporalAway += change
}
