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
	// lateTime is how long a step is held up. It is longer than the timeout of a claim or a step,
	// and shorter than the timeout of a workflow task.
	lateTime = 4 * time.Second
	// gatherTime is how long the first call at a fault of a server or a worker waits for other
	// calls. It is shorter than the timeout of any step.
	gatherTime = 700 * time.Millisecond
	// maxGathers bounds how often one fault of a worker or a server happens in a batch. Without the
	// bound, each call that arrives would stop the server again, and no call could end.
	maxGathers = 3
	// maxHit bounds the body of a hit, in bytes.
	maxHit = 4 << 10
)

// wideTime is how long a fault of a worker or a server lasts.
func wideTime(kind oracle.FaultKind) time.Duration {
	switch kind {
	case oracle.Stop:
		return 11 * time.Second // longer than the heartbeat timeout
	case oracle.TemporalFreeze:
		return 9 * time.Second // longer than the heartbeat timeout
	case oracle.Lock, oracle.PostgresFreeze:
		return 4500 * time.Millisecond // longer than the timeout of a claim
	default: // a kill takes no time
		return 0
	}
}

// director answers the hits of workers. It knows the calls of a batch and their strikes.
type director struct {
	lane   *lane
	server *httptest.Server
	// strikes counts hits and faults that have not ended.
	strikes sync.WaitGroup

	mu    sync.Mutex
	calls map[string]*pairCall
	gates map[Strike]*gate
	// gathered counts the gates of each strike in this batch.
	gathered map[Strike]int
}

// gate holds the calls that one fault hits together until the fault starts.
type gate struct {
	begun chan struct{} // closed when the fault has started or failed
}

func newDirector(l *lane) *director {
	d := &director{lane: l, gates: map[Strike]*gate{}, gathered: map[Strike]int{}}
	d.server = httptest.NewServer(http.HandlerFunc(d.serve))
	return d
}

// direct sets the calls of the batch, by invocation id and by workflow id.
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
	_, _ = w.Write(body) // a worker that was killed does not read the order
}

// begin returns the call with an id, or nil. For a call, the caller must call strikes.Done.
func (d *director) begin(id string) *pairCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.calls[id]
	if c != nil {
		d.strikes.Add(1)
	}
	return c
}

// comes handles a hit of a call. It returns when the call may continue.
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
		// The strike does not use ctx: another fault may kill the worker that sent the hit.
		d.note(c, strike, func() error {
			trying, cancel := context.WithTimeout(d.lane.ctx, startTimeout)
			defer cancel()
			return d.lane.servers.injectFault(trying, strike.Kind, c.call, c.pick)
		})
	}
	return point.Order{}
}

// note runs a fault of one call and records it. A fault that returns an error may have hit.
func (d *director) note(c *pairCall, strike Strike, carryOut func() error) {
	f := oracle.Fault{Kind: strike.Kind, Call: c.ToolCallID, At: strike.At, From: time.Now()}
	err := carryOut()
	f.To = time.Now()
	d.lane.note(f)
	if err != nil {
		c.missed(strike, err)
	}
}

// gather waits for other calls at the same strike, and returns when the fault has started. It
// returns false if the fault has already happened maxGathers times.
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
