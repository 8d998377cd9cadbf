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
	// hintAfter is the time after which a command that waits checks for the first time whether a hint is needed, and
	// the interval at which it checks that Temporal answers.
	hintAfter = 2 * time.Second
	// hintsMost bounds the time between two queries of the call's state, in units of hintAfter. This time doubles with
	// each query, because a worker has to answer each of them.
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

// startHints prints hints until stop is called. If Temporal does not answer, it prints one hint, with the text of
// then, and no more hints. While Temporal answers, it prints noWorker if no worker has ever answered, and one hint
// that says what the call waits for, which hint returns. It prints nothing with --json.
func startHints(ctx context.Context, a *app.App, s *app.Session, then string, hint func(context.Context) string) (stop func()) {
	if a.JSON {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var hints sync.WaitGroup
	hints.Go(func() {
		ticker := time.NewTicker(hintAfter)
		defer ticker.Stop()
		answered, lastHint := false, ""
		for ticksToQuery, ticksBetween := 1, 1; ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if hintIfAway(ctx, a, s, then) {
				return
			}
			if ticksToQuery--; ticksToQuery > 0 || lastHint != "" && lastHint != noWorker {
				continue
			}
			ticksBetween = min(2*ticksBetween, hintsMost)
			ticksToQuery = ticksBetween
			text := hint(ctx)
			answered = answered || text != noWorker
			if text != "" && text != lastHint && (text != noWorker || !answered) && ctx.Err() == nil {
				fmt.Fprintln(a.Err, text)
				lastHint = text
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

// noWorker is the hint that a command prints if it asks a call for its state and no worker answers.
const noWorker = "no worker answers yet; `pawl doctor` tells more"

// stateHint asks a call for its state, and returns a hint that says what the call waits for, "" if it waits for
// nothing, or noWorker if there is no answer.
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
