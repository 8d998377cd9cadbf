package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// consent gets a person's approval, holding no capacity. It returns an ending,
// or nil where the call may go on: approved, or no longer in need of it.
//
// The input stages run ahead of the wait, once, so that what is approved is
// literally what runs.
func (c *call) consent(ctx workflow.Context, ask hook.Ask) *ending {
	if end := c.inputAhead(ctx); end != nil {
		return end
	}
	editedBy := ""
	for {
		open, end := c.request(ctx, ask, editedBy)
		if end != nil {
			return end
		}
		answer, end := c.wait(ctx, open)
		switch {
		case end != nil:
			return end
		case open.Edited && answer.State != RequestEdited:
			// The edit did not come again, so the question is asked again.
			continue
		}
		switch answer.State {
		case RequestApproved:
			granted := *open.Granted
			granted.Approver = answer.Approver
			c.approval = &granted
			return c.gateAgain(ctx, nil)
		case RequestEdited:
			editedBy = answer.Approver
			// Every edit stays in the history of the arguments.
			if c.deltaBytes += len(answer.EditedArgs); c.deltaBytes > hook.MaxDelta {
				end := failedWith(toolspec.CodeApprovalDenied, "the arguments were edited too often")
				return &end
			}
			c.setArgs(answer.EditedArgs, answer.SafeArgs)
			if end := c.hydrate(ctx, false); end != nil {
				return end
			}
		case RequestOpen:
			// A recheck, and policy no longer asks.
			c.closeRequest(ctx, open)
			return nil
		default:
			end := notApproved(answer.State, open.View.ApprovalID)
			return &end
		}
		if end := c.gateAgain(ctx, &ask); end != nil {
			return end
		}
	}
}

// inputAhead runs the input stages that the plan has further on, and validates
// what they changed.
func (c *call) inputAhead(ctx workflow.Context) *ending {
	if c.inputDone {
		return nil
	}
	for _, step := range c.plan.Pre {
		if step.Phase != hook.PhaseInput {
			continue
		}
		if end := c.over(ctx, c.runStage(ctx, step, 1), step.Stage); end != nil {
			return end
		}
	}
	c.inputDone = true
	if !c.argsChanged {
		return nil
	}
	c.argsChanged = false
	return c.hydrate(ctx, false)
}

// gateAgain asks willAuthorize and willCheckConsent once more. A question where
// a person has approved means that the approval does not cover the call; with
// ask given, a question is what was expected and replaces it.
func (c *call) gateAgain(ctx workflow.Context, ask *hook.Ask) *ending {
	for _, s := range []hook.Stage{hook.WillAuthorize.Stage(), hook.WillCheckConsent.Stage()} {
		step, ok := c.plan.Step(s)
		if !ok {
			continue
		}
		v := c.runStage(ctx, step, c.rounds.Gate)
		if v.Outcome == hook.Asked {
			if ask == nil {
				f := &hook.Failure{Code: toolspec.CodeApprovalStale, Details: c.approvalDetails()}
				if c.approval == nil {
					// It may hold capacity, and nobody waits for a person with that.
					f.SafeMessage = "Policy asks for an approval by now; make the call again to be asked about"
				}
				end := failed(f)
				return &end
			}
			*ask = *v.Ask
			continue
		}
		if end := c.over(ctx, v, s); end != nil {
			return end
		}
	}
	return nil
}

func (c *call) approvalDetails() *toolspec.Details {
	if c.approval == nil {
		return nil
	}
	return &toolspec.Details{ApprovalID: c.approval.ApprovalID}
}

// request opens the approval request. Policy decides once more there, with the
// arguments as they will run.
func (c *call) request(ctx workflow.Context, ask hook.Ask, editedBy string) (RequestOut, *ending) {
	return c.open(ctx, RequestIn{Ask: ask, Edits: c.inbox.edits(), EditedBy: editedBy})
}

// open opens a request, or finds the one that stands.
func (c *call) open(ctx workflow.Context, in RequestIn) (RequestOut, *ending) {
	c.stage = nameRequest
	for {
		at := workflow.Now(ctx)
		in.Facts, in.Epoch, in.Last = c.facts(ctx, c.rounds.Gate), c.epoch, c.rounds.Request
		in.Hydrations = c.hydrations
		deadline := c.remaining(ctx)
		if in.Parked != "" {
			deadline = max(deadline, doubtTime)
		}
		out, err := local(ctx, Request, in, stepOptions("open the approval request", deadline))
		if err != nil {
			out.Failure = c.classify(ctx, err)
		}
		if out.Outcome == Superseded {
			if end := c.supersede(ctx); end != nil {
				return out, end
			}
			continue
		}
		if out.Failure != nil {
			c.step(nameRequest, string(out.Failure.Code), at, out.DurationUs)
			end := failed(out.Failure)
			return out, &end
		}
		if out.Outcome != Done {
			return out, nil
		}
		c.step(nameRequest, "ok", at, out.DurationUs)
		c.hydrations = nil // the record has them
		c.rounds.Request = max(c.rounds.Request, out.Number)
		return out, nil
	}
}

// wait holds until the request is decided, expires or the call is cancelled.
func (c *call) wait(ctx workflow.Context, open RequestOut) (ReviewOut, *ending) {
	if open.Approved {
		c.inbox.stand(open, RequestApproved, open.Granted.Approver)
		return ReviewOut{State: RequestApproved, Approver: open.Granted.Approver}, nil
	}
	if open.Edited {
		return c.editedBefore(ctx, open)
	}
	c.waits = workflow.Now(ctx)
	c.pending = open.View
	c.inbox.expect(open.Number)
	status := toolspec.StatusWaitingApproval
	if open.View.Parked != "" {
		status = toolspec.StatusParkedUnknown
	}
	c.setStatus(ctx, status)
	answer, end := c.decided(ctx, open)
	c.pending = nil
	c.waited += workflow.Now(ctx).Sub(c.waits)
	c.inbox.stand(open, answer.State, answer.Approver)
	c.inbox.done(open.Number)
	c.setStatus(ctx, toolspec.StatusRunning)
	return answer, end
}

// editedBefore finds the edit that answered the request before this run asked.
// What the record knows of it proves that it is the one; any other is told that
// it comes too late.
func (c *call) editedBefore(ctx workflow.Context, open RequestOut) (ReviewOut, *ending) {
	for {
		letter := c.inbox.edit(open.Number)
		if letter == nil {
			return ReviewOut{}, nil
		}
		out, end := c.review(ctx, open, letter)
		letter.answer(out.Answer)
		if end != nil {
			return out, end
		}
		if out.State == RequestEdited && out.Answer.Counted {
			c.inbox.expect(open.Number)
			c.inbox.done(open.Number)
			return out, nil
		}
	}
}

// closeRequest takes a request off the list that nobody needs to decide on. Where
// it cannot, settle does.
func (c *call) closeRequest(ctx workflow.Context, open RequestOut) {
	at := workflow.Now(ctx)
	out, err := local(ctx, Review, ReviewIn{
		InvocationID: c.admitted.InvocationID, ToolID: c.admitted.ToolID, TenantID: c.admitted.Context.TenantID,
		ApprovalID: open.View.ApprovalID, Epoch: c.epoch, Gate: c.rounds.Gate, Close: true,
	}, stepOptions("close the request", c.remaining(ctx)))
	if err == nil && out.Outcome == Done {
		c.step(nameReview, string(RequestClosed), at, out.DurationUs)
	}
}

// decided takes decisions in the order they came; the first one that counts and
// is final ends the wait. Timers only wake: whether a request has expired is
// for the database's clock to say.
func (c *call) decided(ctx workflow.Context, open RequestOut) (ReviewOut, *ending) {
	remaining := time.Duration(open.RemainingMs) * time.Millisecond
	for {
		if err := c.inbox.await(ctx, remaining); err != nil || ctx.Err() != nil {
			end := failed(&hook.Failure{Code: toolspec.CodeCancelled, Details: &toolspec.Details{ApprovalID: open.View.ApprovalID}})
			return ReviewOut{}, &end
		}
		letter := c.inbox.next()
		out, end := c.review(ctx, open, letter)
		if letter != nil {
			letter.answer(out.Answer)
			if becomes, fits := Becomes(letter.decision.Decision, open.View.Parked != ""); fits && out.Answer.Counted {
				c.inbox.stand(open, becomes, letter.decision.Approver)
			}
		}
		if end != nil {
			return out, end
		}
		remaining = time.Duration(out.RemainingMs) * time.Millisecond
		if out.State != RequestOpen {
			return out, nil
		}
		if letter == nil && c.inbox.recheck() && open.View.Parked == "" {
			if end, asks := c.stillAsked(ctx); end != nil || !asks {
				return out, end
			}
		}
	}
}

// stillAsked runs the gate while the call waits: policy may now refuse the call,
// or let it pass without a person.
func (c *call) stillAsked(ctx workflow.Context) (end *ending, asks bool) {
	// What people have taken so far is not the gate's to lack.
	c.waited += workflow.Now(ctx).Sub(c.waits)
	asked := hook.Ask{Rule: "\x00"}
	end = c.gateAgain(ctx, &asked)
	c.waits = workflow.Now(ctx)
	return end, asked.Rule != "\x00"
}

func (c *call) review(ctx workflow.Context, open RequestOut, l *letter) (ReviewOut, *ending) {
	for {
		at := workflow.Now(ctx)
		c.rounds.Gate++
		in := ReviewIn{
			InvocationID: c.admitted.InvocationID, ToolID: c.admitted.ToolID, TenantID: c.admitted.Context.TenantID,
			ApprovalID: open.View.ApprovalID, Epoch: c.epoch, Gate: c.rounds.Gate, Capacity: c.rounds.Capacity,
		}
		summary := "see how the request stands"
		if l != nil {
			in.Decision = &l.decision
			if l.decision.Remember && open.View.Parked == "" {
				in.Args, in.SessionID = c.args, c.admitted.Context.SessionID
			}
			summary = "verify a decision"
		}
		out, err := local(ctx, Review, in, stepOptions(summary, forever))
		if err != nil {
			end := failed(c.classify(ctx, err))
			return out, &end
		}
		if out.Outcome == Superseded {
			if end := c.supersede(ctx); end != nil {
				return out, end
			}
			continue
		}
		c.stands(out.PolicyDigest, out.Kills, out.Connection)
		outcome := string(out.State)
		if l != nil && !out.Answer.Counted {
			outcome = "not_counted"
		}
		c.step(nameReview, outcome, at, out.DurationUs)
		return out, nil
	}
}

// supersede admits again; an ending means that the record has a result.
func (c *call) supersede(ctx workflow.Context) *ending {
	end, err := c.readmit(ctx)
	if err != nil {
		failed := failed(c.classify(ctx, err))
		return &failed
	}
	return end
}

func notApproved(state RequestState, approvalID string) ending {
	code, message := toolspec.CodeApprovalDenied, ""
	switch state {
	case RequestExpired:
		code = toolspec.CodeApprovalExpired
	case RequestWithdrawn:
		message = "The approval request was withdrawn"
	case RequestOpen, RequestApproved, RequestDenied, RequestEdited, RequestClosed, RequestRetried, RequestSettledOK, RequestSettledFailed:
	}
	return failed(&hook.Failure{Code: code, SafeMessage: message, Details: &toolspec.Details{ApprovalID: approvalID}})
}
