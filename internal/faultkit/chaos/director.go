package chaos

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/faultkit/point"
)

const (
	// lateTime is how long a step is held up: longer than a claim or a step waits
	// for its answer, and shorter than a workflow task may take.
	lateTime = 4 * time.Second
	// gatherTime is how long the first call at a fault of a server or a worker waits
	// for others: shorter than any step may take.
	gatherTime = 700 * time.Millisecond
	// maxGathers is how often one fault of a worker or a server happens in a batch at
	// the most: else a server would stand still for as long as calls come to it, one
	// after the other, and nothing could end.
	maxGathers = 3
	// maxHit bounds what a worker sends, in bytes.
	maxHit = 4 << 10
)

// wideTime is how long a fault of a worker or a server lasts.
func wideTime(kind oracle.FaultKind) time.Duration {
	switch kind {
	case oracle.Stop:
		return 11 * time.Second // past the heartbeat that is missed
	case oracle.TemporalFreeze:
		return 9 * time.Second // the same
	case oracle.Lock, oracle.PostgresFreeze:
		return 4500 * time.Millisecond // past the time of a claim
	default: // a kill is over at once
		return 0
	}
}

// director answers the points of workers: it knows the calls of a batch and what
// is to happen to each where.
type director struct {
	lane   *lane
	server *httptest.Server
	// strikes counts hits and faults under way.
	strikes sync.WaitGroup

	mu    sync.Mutex
	calls map[string]*pairCall
	gates map[Strike]*gate
	// gathered counts gates in this batch.
	gathered map[Strike]int
}

// gate gathers calls that one fault hits together.
type gate struct {
	begun chan struct{} // closed once the fault has begun, or nothing came of it
}

func newDirector(l *lane) *director {
	d := &director{lane: l, gates: map[Strike]*gate{}, gathered: map[Strike]int{}}
	d.server = httptest.NewServer(http.HandlerFunc(d.serve))
	return d
}

// direct sets the calls whose points count, by invocation id and by workflow id.
func (d *director) direct(calls []*pairCall) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.gathered = map[string]*pairCall{}, map[Strike]int{}
	for _, c := range calls {
		id := c.invocation.Identity()
		d.calls[id.InvocationID()], d.calls[id.WorkflowID()] = c, c
	}
}

func (d *director) serve(w http.ResponseWriter, r *http.Request) {
	var hit point.Hit
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxHit)).Decode(&hit); err != nil {
		http.Error(w, "not a hit", http.StatusBadRequest)
		return
	}
	order := point.Order{}
	if c := d.begin(hit.Call); c != nil {
		order = d.comes(r.Context(), c, hit.At)
		d.strikes.Done()
	}
	body, err := json.Marshal(order)
	if err != nil {
		http.Error(w, "no order", http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(body) // a worker that was killed does not read it
}

// begin finds a call by one of its ids, or returns nil. Where it finds one, the
// strike counts as under way until Done.
func (d *director) begin(id string) *pairCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.calls[id]
	if c != nil {
		d.strikes.Add(1)
	}
	return c
}

// comes says what happens to a call at a point. It returns once the call may go
// on there.
func (d *director) comes(ctx context.Context, c *pairCall, at point.Name) point.Order {
	if at == point.WaitAfter {
		c.asks()
	}
	strike, struck := c.next(at)
	if !struck {
		return point.Order{}
	}
	switch {
	case strike.Kind == oracle.Late:
		d.note(c, strike, func() error {
			pause(ctx, lateTime)
			return nil
		})
		return point.Order{Late: true}
	case strike.wide():
		if !d.gather(ctx, strike) {
			c.spare()
		}
	default:
		// The worker that holds the call may die of another fault; this one goes on.
		d.note(c, strike, func() error {
			trying, cancel := context.WithTimeout(d.lane.ctx, startTimeout)
			defer cancel()
			return d.lane.servers.meddle(trying, strike.Kind, c.call, c.pick)
		})
	}
	return point.Order{}
}

// note carries out a fault of one call and writes it down. One that fails may have
// hit.
func (d *director) note(c *pairCall, strike Strike, carryOut func() error) {
	f := oracle.Fault{Kind: strike.Kind, Call: c.ToolCallID, At: strike.At, From: time.Now()}
	err := carryOut()
	f.To = time.Now()
	d.lane.note(f)
	if err != nil {
		c.missed(strike, err)
	}
}

// gather waits for other calls that come to the same strike, and returns when its
// fault has begun. It returns false where the fault has happened too often.
func (d *director) gather(ctx context.Context, strike Strike) bool {
	d.mu.Lock()
	g := d.gates[strike]
	if g == nil && d.gathered[strike] == maxGathers {
		d.mu.Unlock()
		return false
	}
	if g == nil {
		d.gathered[strike]++
		g = &gate{begun: make(chan struct{})}
		d.gates[strike] = g
		d.strikes.Go(func() {
			pause(d.lane.ctx, gatherTime)
			d.lane.strikeAll(strike, func() { close(g.begun) })
			d.mu.Lock()
			delete(d.gates, strike)
			d.mu.Unlock()
		})
	}
	d.mu.Unlock()
	select {
	case <-g.begun:
	case <-ctx.Done():
	}
	return true
}
