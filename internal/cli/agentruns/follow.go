package agentruns

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// quietTime is the time without an event after which a command asks the run for its state.
	quietTime = 3 * time.Second
	// stateTimeout is the maximum wait for this state.
	stateTimeout = 3 * time.Second
	// drainTime is the maximum wait for the last events of a run that has ended.
	drainTime = 5 * time.Second
)

// noWorker is the hint that a command prints if it asks a run for its state and no worker answers.
const noWorker = "no worker answers yet; `pawl doctor` tells more"

// feed has channels for the events of a run and for its end.
type feed struct {
	events chan toolspec.RunEvent
	// failed has the error after which there are no more events.
	failed chan error
	ended  chan ending
	stop   func()
}

// ending is the result of a run, or why there is none.
type ending struct {
	result agent.Result
	err    error
}

// follow follows a run until stop is called. It starts with the first event whose number is greater
// than the parameter after.
func follow(ctx context.Context, c *client.Client, tenant, runID string, after int64) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{events: make(chan toolspec.RunEvent), failed: make(chan error, 1), ended: make(chan ending, 1)}
	var all sync.WaitGroup
	all.Go(func() {
		for e, err := range c.Watch(ctx, tenant, runID, after) {
			if err != nil {
				f.failed <- err
				return
			}
			select {
			case f.events <- e:
			case <-ctx.Done():
				return
			}
		}
	})
	all.Go(func() {
		result, err := c.AgentResult(ctx, c.AttachAgent(ctx, tenant, runID))
		if errors.Is(err, client.ErrNotFound) {
			// Temporal has deleted the history of the run, but the record may be kept longer.
			record, missing := c.AgentRun(ctx, client.RoundFilter{TenantID: tenant, RunID: runID, Limit: 1})
			if missing == nil && record.Result != nil {
				result, err = *record.Result, nil
			}
		}
		if ctx.Err() == nil {
			f.ended <- ending{result, err}
		}
	})
	f.stop = func() {
		cancel()
		all.Wait()
	}
	return f
}

// rest calls show with the last events of a run that has ended: the events whose numbers are greater than seq. It
// gives up after drainTime.
func (f *feed) rest(ctx context.Context, c *client.Client, tenant, runID string, seq int64, show func(toolspec.RunEvent)) {
	summary, err := c.Run(ctx, tenant, runID)
	if err != nil {
		return // the run has no events, or they cannot be read; the result is known
	}
	enough := time.NewTimer(drainTime)
	defer enough.Stop()
	for seq < summary.LastSeq {
		select {
		case e := <-f.events:
			seq = e.Seq
			show(e)
		case <-f.failed: //nolint:errcheck // the end is known, and the events are not
			return
		case <-enough.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// stateOf asks a run for its state.
func stateOf(ctx context.Context, c *client.Client, tenant, runID string) (agent.State, error) {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	return c.AgentState(ctx, tenant, runID)
}

// costs returns the totals of a run in words.
func costs(t agent.Totals) string {
	text := fmt.Sprintf("%s, %s, %d tokens in, %d out", count(t.Rounds, "round"), count(t.Calls, "call"), t.InputTokens+t.CacheReadTokens+t.CacheWriteTokens, t.OutputTokens)
	switch {
	case t.Unpriced > 0 && t.MicroUSD == 0:
		return text + ", cost unknown: the model has no price"
	case t.Unpriced > 0:
		return text + ", " + dollars(t.MicroUSD) + " and " + count(t.Unpriced, "round") + " without a price"
	}
	return text + ", " + dollars(t.MicroUSD)
}

func dollars(micro int64) string { return fmt.Sprintf("$%d.%06d", micro/1_000_000, micro%1_000_000) }

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
