package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// hintAfter is how long a person waits for a result without a word.
	hintAfter = 2 * time.Second
	// stateTimeout bounds the wait for a worker to say where a call stands.
	stateTimeout = 3 * time.Second
)

// wait waits for the result. A person is told after a while what it waits for.
func (a *app) wait(ctx context.Context, c *client.Client, call *client.Call) (toolspec.Result, error) {
	if a.json {
		return c.Result(ctx, call)
	}
	hinting, cancel := context.WithCancel(ctx)
	var hint sync.WaitGroup
	hint.Go(func() { a.hint(hinting, c, call.WorkflowID) })
	defer func() {
		cancel()
		hint.Wait()
	}()
	return c.Result(ctx, call)
}

func (a *app) hint(ctx context.Context, c *client.Client, workflowID string) {
	timer := time.NewTimer(hintAfter)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
	}
	asking, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	state, err := c.State(asking, workflowID)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		fmt.Fprintln(a.Err, "no worker answers yet; `pawl doctor` tells more")
	case state.Approval != nil:
		fmt.Fprintf(a.Err, "waits for a person: `pawl approve %s`, or `pawl deny`\n", state.Approval.ApprovalID)
	}
}
