package runs

import (
	"context"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// maxGroup is the largest number of writes in one transaction.
	maxGroup = 64
	// groupTime bounds a transaction.
	groupTime = 10 * time.Second
)

// groups writes the events of runs. A transaction locks the row of its run until it commits, so one run
// has one transaction at a time. Writes that arrive meanwhile go into the next transaction together.
type groups struct {
	db *db.DB

	mu sync.Mutex
	// waiting holds the writes for the next transaction, of each run for which commit runs.
	waiting map[inRun][]*write
}

// inRun names a run.
type inRun struct{ tenantID, runID string }

// write is what one caller writes: statements and the places for their rows.
type write struct {
	ctx      context.Context
	op       string
	readings []db.Reading
	done     chan error
}

func newGroups(d *db.DB) *groups { return &groups{db: d, waiting: map[inRun][]*write{}} }

// write runs statements in one transaction, perhaps with the statements of other callers for the same
// run. If ctx ends while the transaction runs, the statements may still count, and their rows must not be read.
func (g *groups) write(ctx context.Context, op string, run inRun, readings ...db.Reading) error {
	if ctx.Err() != nil {
		return db.Failure(op, ctx.Err())
	}
	w := &write{ctx, op, readings, make(chan error, 1)}
	g.mu.Lock()
	queue, busy := g.waiting[run]
	g.waiting[run] = append(queue, w)
	g.mu.Unlock()
	if !busy {
		// The transaction may also have writes of other callers, so it does not end with the context of this caller.
		go g.commit(context.WithoutCancel(ctx), run)
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return db.Failure(op, ctx.Err())
	}
}

// commit sends the waiting writes of a run until no write waits.
func (g *groups) commit(ctx context.Context, run inRun) {
	for {
		g.mu.Lock()
		queue := g.waiting[run]
		if len(queue) == 0 {
			delete(g.waiting, run)
			g.mu.Unlock()
			return
		}
		var group []*write
		for len(queue) > 0 && len(group) < maxGroup {
			// A write whose caller has gone is left out: nobody waits for it, and its report may be old.
			if queue[0].ctx.Err() == nil {
				group = append(group, queue[0])
			}
			queue = queue[1:]
		}
		g.waiting[run] = queue
		g.mu.Unlock()
		if len(group) == 0 {
			continue
		}
		err := g.send(ctx, group...)
		if err == nil || len(group) == 1 || errs.IsTransient(err) {
			for _, w := range group {
				w.done <- err
			}
			continue
		}
		// The database refused one write, and with it the whole group. Sent alone, only the refused write fails.
		for _, w := range group {
			w.done <- g.send(ctx, w)
		}
	}
}

func (g *groups) send(ctx context.Context, group ...*write) error {
	ctx, cancel := context.WithTimeout(ctx, groupTime)
	defer cancel()
	var readings []db.Reading
	for _, w := range group {
		readings = append(readings, w.readings...)
	}
	return g.db.Read(ctx, group[0].op, readings...)
}
