package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// hintAfter is how long a person waits without a word.
	hintAfter = 2 * time.Second
	// stateTimeout bounds the wait for Temporal, or for a worker, to say where a
	// call stands.
	stateTimeout = 3 * time.Second
)

// start starts a call. A person is told after a while that Temporal is away.
func (a *app) start(ctx context.Context, s *session, inv toolspec.Invocation) (*client.Call, error) {
	stop := a.hinting(ctx, s, "the call starts when it does", func(context.Context) {})
	defer stop()
	return s.client().Start(ctx, inv)
}

// wait waits for the result. A person is told after a while what it waits for.
func (a *app) wait(ctx context.Context, s *session, call *client.Call) (toolspec.Result, error) {
	stop := a.hinting(ctx, s, "the call has started, and goes on when it does", func(ctx context.Context) {
		a.hintState(ctx, s.client(), call.WorkflowID)
	})
	defer stop()
	return s.client().Result(ctx, call)
}

// hinting says, until stop is called, once that Temporal is away, and what else
// there is to say after a while. It looks again every hintAfter.
func (a *app) hinting(ctx context.Context, s *session, then string, hint func(context.Context)) (stop func()) {
	if a.json {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var hints sync.WaitGroup
	hints.Go(func() {
		ticker := time.NewTicker(hintAfter)
		defer ticker.Stop()
		for first := true; ; first = false {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if a.hintAway(ctx, s, then) {
				return
			}
			if first {
				hint(ctx)
			}
		}
	})
	return func() {
		cancel()
		hints.Wait()
	}
}

// hintAway reports whether Temporal is away, and says so.
func (a *app) hintAway(ctx context.Context, s *session, then string) bool {
	asking, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	if _, err := s.temporal.CheckHealth(asking, &temporal.CheckHealthRequest{}); err == nil || ctx.Err() != nil {
		return false
	}
	fmt.Fprintf(a.Err, "Temporal does not answer at %s: trying again, and %s; Ctrl-C ends the wait\n", s.address(), then)
	return true
}

func (a *app) hintState(ctx context.Context, c *client.Client, workflowID string) {
	asking, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	state, err := c.State(asking, workflowID)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		fmt.Fprintln(a.Err, "no worker answers yet; `pawl doctor` tells more")
	case state.Approval != nil && state.Approval.Parked != "":
		fmt.Fprintf(a.Err, "the outcome is unknown (%s) and waits for a person: `pawl resolve %s`\n", state.Approval.Parked, state.Approval.ApprovalID)
	case state.Approval != nil:
		fmt.Fprintf(a.Err, "waits for a person: `pawl approve %s`, or `pawl deny`\n", state.Approval.ApprovalID)
	case state.Waiting != "":
		fmt.Fprintf(a.Err, "waits for capacity: %s\n", oneLine(state.Waiting, 200))
	}
}

// waitFor polls until done says so or ctx ends.
func waitFor(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
