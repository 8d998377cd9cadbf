package calls

import (
	"context"
	"fmt"
	"sync"
	"time"

	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// hintAfter is the time without output before the first hint, and the interval of the checks
	// of Temporal. The intervals between queries of the call's state double, up to hintsMost
	// times hintAfter, because a worker has to answer each query.
	hintAfter = 2 * time.Second
	hintsMost = 15
	// stateTimeout is the maximum wait for one answer of Temporal, or of a worker about the state
	// of a call.
	stateTimeout = 3 * time.Second
)

// startCall starts a call. If Temporal does not answer for a while, it prints a hint.
func startCall(ctx context.Context, a *app.App, s *app.Session, inv toolspec.Invocation) (*client.Call, error) {
	stop := startHints(ctx, a, s, "the call starts when it does", func(context.Context) string { return "" })
	defer stop()
	return s.Client().Start(ctx, inv)
}

// waitForResult waits for the result. After a while it prints a hint that says what the call
// waits for.
func waitForResult(ctx context.Context, a *app.App, s *app.Session, call *client.Call) (toolspec.Result, error) {
	stop := startHints(ctx, a, s, "the call has started, and goes on when it does", func(ctx context.Context) string {
		return stateHint(ctx, s.Client(), call.WorkflowID)
	})
	defer stop()
	return s.Client().Result(ctx, call)
}

// startHints prints hints until stop is called: one hint when Temporal does not answer, and then
// no more. While Temporal answers, it prints one hint when no worker answers, unless a worker has
// answered before, and one hint that says what the call waits for. It prints nothing with --json.
func startHints(ctx context.Context, a *app.App, s *app.Session, then string, hint func(context.Context) string) (stop func()) {
	if a.JSON {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var hints sync.WaitGroup
	hints.Go(func() {
		ticker := time.NewTicker(hintAfter)
		defer ticker.Stop()
		answered, said := false, ""
		for left, pause := 1, 1; ; { // the next query of the state comes after left ticks
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if hintIfAway(ctx, a, s, then) {
				return
			}
			if left--; left > 0 || said != "" && said != noWorker {
				continue
			}
			pause = min(2*pause, hintsMost)
			left = pause
			text := hint(ctx)
			answered = answered || text != noWorker
			if text != "" && text != said && (text != noWorker || !answered) && ctx.Err() == nil {
				fmt.Fprintln(a.Err, text)
				said = text
			}
		}
	})
	return func() {
		cancel()
		hints.Wait()
	}
}

// hintIfAway reports whether Temporal does not answer. In that case it prints a hint.
func hintIfAway(ctx context.Context, a *app.App, s *app.Session, then string) bool {
	asking, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	if _, err := s.Temporal.CheckHealth(asking, &temporal.CheckHealthRequest{}); err == nil || ctx.Err() != nil {
		return false
	}
	fmt.Fprintf(a.Err, "Temporal does not answer at %s: trying again, and %s; Ctrl-C ends the wait\n", s.Address(), then)
	return true
}

// noWorker is the hint for a call that no worker has answered for.
const noWorker = "no worker answers yet; `pawl doctor` tells more"

// stateHint returns a hint that says what a call waits for. It returns "" if the call waits for
// nothing.
func stateHint(ctx context.Context, c *client.Client, workflowID string) string {
	asking, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	state, err := c.State(asking, workflowID)
	switch {
	case err != nil:
		return noWorker
	case state.Approval != nil && state.Approval.Parked != "":
		return fmt.Sprintf("the outcome is unknown (%s) and waits for a person: `pawl resolve %s`", state.Approval.Parked, state.Approval.ApprovalID)
	case state.Approval != nil:
		return fmt.Sprintf("waits for a person: `pawl approve %s`, or `pawl deny`", state.Approval.ApprovalID)
	case state.Waiting != "":
		return "waits for capacity: " + app.OneLine(state.Waiting, 200)
	}
	return ""
}
