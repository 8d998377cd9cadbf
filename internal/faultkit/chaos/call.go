package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// tryAgain is the pause between two requests to a server that does not answer.
	tryAgain = 200 * time.Millisecond
	// startTimeout, decideTimeout and resultTimeout each bound one request.
	startTimeout  = 10 * time.Second
	decideTimeout = 15 * time.Second
	resultTimeout = time.Minute
)

// call is a planned call of a run.
type call struct {
	PlannedCall
	invocation toolspec.Invocation
	// accepted is closed when Temporal has accepted the start.
	accepted chan struct{}
	once     sync.Once
	// began and took are the time of the submit and how long the call took its submitter, under load.
	began time.Time
	took  time.Duration
	// hasFault reports that a fault was aimed at the call.
	hasFault atomic.Bool

	mu        sync.Mutex
	decisions []oracle.Decision
	answers   []oracle.Answer
	conflicts []oracle.Answer
}

func newCall(p PlannedCall, runID string) (*call, error) {
	inv, err := invocation(p, runID, p.In.Text)
	return &call{PlannedCall: p, invocation: inv, accepted: make(chan struct{})}, err
}

func invocation(p PlannedCall, runID, text string) (toolspec.Invocation, error) {
	p.In.Text = text
	args, err := json.Marshal(p.In)
	return toolspec.Invocation{
		ToolID: p.ToolID, ToolCallID: p.ToolCallID, Args: args,
		Context: toolspec.Context{TenantID: tenant, RunID: runID, ActorID: actor},
	}, err
}

func (c *call) isAccepted() bool {
	select {
	case <-c.accepted:
		return true
	default:
		return false
	}
}

// counts are the counts of the progress lines.
type counts struct{ accepted, answered atomic.Int64 }

// submit starts the call and waits for its result. It repeats a request that fails in an outage.
// Concurrent submits of one call are safe.
func (c *call) submit(ctx context.Context, s *servers, n *counts) {
	started := c.start(ctx, s.pawl, c.invocation)
	if started == nil {
		return
	}
	c.once.Do(func() { n.accepted.Add(1); close(c.accepted) })
	if c.asked() && len(c.Decisions) == 0 {
		return // the call waits for a person who never decides
	}
	answer, ok := await(ctx, s.pawl, started)
	if ok && answer.Err != "" && c.hasFault.Load() {
		answer, ok = c.follow(ctx, s)
	}
	if ok && c.addAnswer(answer) == 1 {
		n.answered.Add(1)
	}
}

// addAnswer adds an answer and returns the number of answers.
func (c *call) addAnswer(a oracle.Answer) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, a)
	return len(c.answers)
}

func (c *call) isAnswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.answers) > 0
}

// submitConflict submits the id of the call with other arguments, after the call was accepted.
func (c *call) submitConflict(ctx context.Context, p *client.Client) {
	other, err := invocation(c.PlannedCall, c.invocation.Context.RunID, "something else")
	if err != nil || !c.wait(ctx, c.ConflictAfter) {
		return
	}
	started := c.start(ctx, p, other)
	if started == nil || c.asked() && len(c.Decisions) == 0 {
		return
	}
	// A conflicting submit waits for the same workflow, so a fault of the call can end its wait without a
	// result.
	if answer, ok := await(ctx, p, started); ok && (answer.Err == "" || !c.hasFault.Load()) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conflicts = append(c.conflicts, answer)
	}
}

// wait waits until d after the call was accepted. It returns false if ctx ends first.
func (c *call) wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-c.accepted:
		return pause(ctx, d)
	}
}

func (c *call) start(ctx context.Context, p *client.Client, inv toolspec.Invocation) *client.Call {
	for {
		trying, cancel := context.WithTimeout(ctx, startTimeout)
		started, err := p.Start(trying, inv)
		cancel()
		if err == nil {
			return started
		}
		if !pause(ctx, tryAgain) {
			return nil
		}
	}
}

// await waits for the result. It returns false if ctx ends first.
func await(ctx context.Context, p *client.Client, started *client.Call) (oracle.Answer, bool) {
	for {
		trying, cancel := context.WithTimeout(ctx, resultTimeout)
		result, err := p.Result(trying, started)
		cancel()
		var ended *client.CallError
		var broken *temporal.WorkflowExecutionError
		switch {
		case err == nil:
			return oracle.Answer{Result: result}, true
		// The workflow closed without a result. The client then reports outcome_unknown, which is
		// not the result of the call.
		case errors.As(err, &broken), errors.Is(err, client.ErrNotFound):
			return oracle.Answer{Err: err.Error()}, true
		case errors.As(err, &ended):
			return oracle.Answer{Result: ended.Result}, true
		}
		if !pause(ctx, tryAgain) {
			return oracle.Answer{}, false
		}
	}
}

// decide sends the planned decisions, each at its time. The id of the first request is known before
// the request opens, so some decisions arrive too early.
func (c *call) decide(ctx context.Context, s *servers) {
	var sending sync.WaitGroup
	defer sending.Wait()
	for _, d := range c.Decisions {
		sending.Go(func() {
			if !c.wait(ctx, d.After) {
				return
			}
			decision := toolspec.Decision{
				ApprovalID: toolspec.ApprovalID(c.invocation.Identity().InvocationID(), 1), Decision: d.Verb, Approver: d.Approver,
			}
			// A decision that fails to send may still arrive, so it is recorded first.
			c.mu.Lock()
			at := len(c.decisions)
			c.decisions = append(c.decisions, oracle.Decision{Verb: d.Verb, Approver: d.Approver})
			c.mu.Unlock()
			if d.Signal {
				sendSignal(ctx, s, c.invocation.Identity().WorkflowID(), decision)
			} else if answer, ok := sendUpdate(ctx, s, c.invocation.Identity().WorkflowID(), decision); ok {
				c.mu.Lock()
				c.decisions[at].Answer = &answer
				c.mu.Unlock()
			}
		})
	}
}

func sendSignal(ctx context.Context, s *servers, workflowID string, d toolspec.Decision) {
	for {
		trying, cancel := context.WithTimeout(ctx, decideTimeout)
		err := s.temporal.SignalWorkflow(trying, workflowID, "", toolspec.DecideName, d)
		cancel()
		var over *serviceerror.NotFound
		if err == nil || errors.As(err, &over) || !pause(ctx, tryAgain) {
			return
		}
	}
}

// sendUpdate returns false if no answer says whether the decision counted.
func sendUpdate(ctx context.Context, s *servers, workflowID string, d toolspec.Decision) (toolspec.Answer, bool) {
	for {
		trying, cancel := context.WithTimeout(ctx, decideTimeout)
		answer, err := s.pawl.Decide(trying, workflowID, d)
		cancel()
		switch {
		case err == nil:
			return answer, true
		case errors.Is(err, client.ErrSettled), errors.Is(err, client.ErrNotFound):
			return toolspec.Answer{}, false
		}
		if !pause(ctx, tryAgain) {
			return toolspec.Answer{}, false
		}
	}
}
