package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/faultkit/point"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	// answerAfter is the delay of a decision. It gives the workflow task in which the call asked
	// time to end.
	answerAfter = 150 * time.Millisecond
	// largeAnswer is one byte more than a payload may hold.
	largeAnswer = toolspec.MaxInline + 1
	// askAgain is the interval at which approve checks whether the call still waits.
	askAgain = 3 * time.Second
)

// pairCall is a call that the two strikes of a pair hit.
type pairCall struct {
	*call
	pair Pair
	pick uint64
	// asking signals that the call has asked a person.
	asking chan struct{}

	state sync.Mutex
	// first and both report which strikes have hit.
	first, both bool
	// errs are the errors of strikes that failed.
	errs []error
}

// newPairCall plans the nth call of a pair, from 0. place, the index of the pair among all pairs,
// and n make its id. Another seed gives a pair with one call another tool.
func newPairCall(pair Pair, place, n int, seed, pick uint64) (*pairCall, error) {
	p := PlannedCall{ToolCallID: fmt.Sprintf("p%04d-%d", place, n), ToolID: pair.toolOf(place + n + int(seed%4))}
	p.In.Text = "effect of " + p.ToolCallID
	p.In.AfterMs = int(pick % 40)
	if pair.saves() || pick%8 == 0 {
		p.In.AnswerBytes = largeAnswer
	}
	if p.asked() {
		p.Decisions = []PlannedDecision{{Verb: toolspec.Approve, Approver: "user:ann"}} // approve sends the decision, at other times
	}
	c, err := newCall(p, fmt.Sprintf("pairs-%d", seed))
	return &pairCall{call: c, pair: pair, pick: pick, asking: make(chan struct{}, 1)}, err
}

// next returns the strike that hits the call at a point, if any, and marks it as done.
func (c *pairCall) next(at point.Name) (Strike, bool) {
	c.state.Lock()
	defer c.state.Unlock()
	switch {
	case !c.first && at == c.pair.First.At:
		c.first = true
		return c.pair.First, true
	case c.first && !c.both && at == c.pair.Then.At:
		c.both = true
		return c.pair.Then, true
	}
	return Strike{}, false
}

// spare undoes the mark of a strike that did not hit.
func (c *pairCall) spare() {
	c.state.Lock()
	defer c.state.Unlock()
	if c.both {
		c.both = false
	} else {
		c.first = false
	}
}

// missed records a strike that the server does not know or does not allow. After any other error
// the strike may have hit, or the call had ended, or a server did not answer.
func (c *pairCall) missed(s Strike, err error) {
	var unknown *serviceerror.Unimplemented
	var invalid *serviceerror.InvalidArgument
	var forbidden *serviceerror.PermissionDenied
	if !errors.As(err, &unknown) && !errors.As(err, &invalid) && !errors.As(err, &forbidden) {
		return
	}
	c.state.Lock()
	defer c.state.Unlock()
	c.errs = append(c.errs, fmt.Errorf("%s: %w", s, err))
}

func (c *pairCall) asks() {
	select {
	case c.asking <- struct{}{}:
	default:
	}
}

// runCall submits the call, approves it whenever it asks, and waits for its result.
func (c *pairCall) runCall(ctx context.Context, s *servers, n *counts) {
	// A fault may end the workflow without a result; hasFault makes submit follow the call to its
	// next run.
	c.hasFault.Store(true)
	answering, done := context.WithCancel(ctx)
	var person sync.WaitGroup
	defer person.Wait()
	defer done()
	if c.call.asked() {
		person.Go(func() { c.approve(answering, s) })
	}
	c.submit(ctx, s, n)
}

// approve sends an approval whenever the call asks, and again if the call still waits.
func (c *pairCall) approve(ctx context.Context, s *servers) {
	d := toolspec.Decision{
		ApprovalID: toolspec.ApprovalID(c.invocation.Identity().InvocationID(), 1), Decision: toolspec.Approve, Approver: "user:ann",
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.asking:
			if !pause(ctx, answerAfter) {
				return
			}
		case <-time.After(askAgain):
			record, err := s.store.Show(ctx, tenant, c.invocation.Identity().InvocationID())
			if err != nil || record.Status != toolspec.StatusWaitingApproval {
				continue
			}
			if n := len(record.Approvals); n > 0 {
				d.ApprovalID = record.Approvals[n-1].ApprovalID
			}
		}
		c.mu.Lock()
		c.decisions = append(c.decisions, oracle.Decision{Verb: d.Decision, Approver: d.Approver})
		c.mu.Unlock()
		trying, cancel := context.WithTimeout(ctx, decideTimeout)
		_ = s.temporal.SignalWorkflow(trying, c.invocation.Identity().WorkflowID(), "", toolspec.DecideName, d) // a decision that fails is sent again
		cancel()
	}
}
