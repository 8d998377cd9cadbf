package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

const (
	// PointsEnv is the variable with the address at which a worker process asks at the points of
	// calls. Empty means that it does not ask.
	PointsEnv = "PAWL_CHAOS_POINTS"
	// connections is the size of a worker's database pool. Each call that is held up may keep a
	// connection.
	connections = 90
	// batchTimeout bounds the time from the start of a batch until its calls have ended.
	batchTimeout = 3 * time.Minute
)

// lane has its own servers and its own worker, and runs one batch of calls at a time.
type lane struct {
	ctx      context.Context
	servers  *servers
	workers  *workerPool
	director *director
	counts   *counts
	faultLog
	// kept are the calls of earlier batches, as they were read after each batch.
	kept []oracle.Call
}

// openLane starts the servers and the worker of a lane. fail ends the whole run.
func openLane(ctx context.Context, o Options, n *counts, fail context.CancelCauseFunc) (l *lane, err error) {
	l = &lane{ctx: ctx, counts: n}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.servers, err = start(ctx, o, rules); err != nil {
		return l, err
	}
	l.director = newDirector(l)
	environment := append(l.servers.environment(), PointsEnv+"="+l.director.server.URL, fmt.Sprintf("PAWL_DATABASE_CONNECTIONS=%d", connections))
	l.workers, err = startPool(o, environment, fail, l.note)
	return l, err
}

// close ends the workers before the director, because workers wait for answers of the director.
func (l *lane) close() {
	if l.workers != nil {
		l.workers.close()
	}
	if l.director != nil {
		l.director.server.CloseClientConnections()
		l.director.server.Close()
	}
	if l.servers != nil {
		l.servers.close()
	}
}

// strikeAll runs a fault of the worker or of a server. It calls begun when the fault has started,
// and at the latest before it returns.
func (l *lane) strikeAll(s Strike, begun func()) {
	begun = sync.OnceFunc(begun)
	defer begun()
	d, server := wideTime(s.Kind), l.servers
	var f oracle.Fault
	var err error
	switch s.Kind {
	case oracle.Kill:
		l.workers.kill(0)
		return
	case oracle.Stop:
		l.workers.replace(l.ctx, 0, d, begun)
		return
	case oracle.Lock:
		f, err = server.lockClaims(l.ctx, d, begun)
	case oracle.PostgresFreeze:
		f, err = server.freezePostgres(l.ctx, d, begun)
	case oracle.TemporalFreeze:
		l.away(1)
		defer l.away(-1)
		f, err = server.freezeTemporal(l.ctx, d, begun)
	default:
		err = fmt.Errorf("%s hits one call", s.Kind)
	}
	if f.At = s.At; err != nil {
		l.workers.fail(fmt.Errorf("%s ended badly: %w", s, err))
		return
	}
	l.note(f)
}

// run runs a batch: it submits the calls, waits until the calls and the strikes have ended, and
// reads each result once more.
func (l *lane) run(calls []*pairCall) (oracle.Snapshot, error) {
	ctx, cancel := context.WithTimeoutCause(l.ctx, batchTimeout, errUnsettled)
	defer cancel()
	var watching sync.WaitGroup
	defer watching.Wait()
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	watching.Go(func() { l.watch(watched, l.servers.temporal) })
	l.director.direct(calls)
	var running sync.WaitGroup
	for _, c := range calls {
		running.Go(func() { c.runCall(ctx, l.servers, l.counts) })
	}
	running.Wait()
	l.director.direct(nil)
	l.director.strikes.Wait()
	plain := make([]*call, len(calls))
	for i, c := range calls {
		plain[i] = c.call
		running.Go(func() {
			if answer, ok := c.follow(ctx, l.servers); ok {
				c.addAnswer(answer)
			}
		})
	}
	running.Wait()
	l.workers.stopReplaced()
	if err := l.ctx.Err(); err != nil {
		return oracle.Snapshot{}, context.Cause(l.ctx)
	}
	seen, err := l.servers.look(l.ctx, plain, l.noted())
	if err != nil {
		return seen, err
	}
	l.kept = append(l.kept, seen.Calls...)
	return ofItsCalls(seen), nil
}

// ofItsCalls removes the effects of calls that are not in s.
func ofItsCalls(s oracle.Snapshot) oracle.Snapshot {
	known := map[string]bool{}
	for i := range s.Calls {
		known[s.Calls[i].InvocationID] = true
	}
	s.Effects = slices.DeleteFunc(s.Effects, func(e ledger.Effect) bool { return !known[e.InvocationID] })
	return s
}

// all returns the calls, effects and faults of all batches of the lane.
func (l *lane) all() oracle.Snapshot {
	return oracle.Snapshot{Calls: l.kept, Effects: l.servers.ledger.Effects(), Faults: l.noted()}
}
