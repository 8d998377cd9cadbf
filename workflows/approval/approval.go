package approval

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
	"github.com/pawl-run/pawl/workflows/steps"
)

// parkedRequestTime is the least time that a call has to open a request about its unknown outcome. It has this time
// even if its deadline has passed.
const parkedRequestTime = time.Minute

// Parts are the other parts of a call that an approval needs.
type Parts struct {
	// Regate runs the whole gate again.
	Regate func(workflow.Context) envelope.Verdict
	// Rejudge runs the gate again, without the hooks that AskHooks asks.
	Rejudge func(workflow.Context) envelope.Verdict
	// HasApproverHooks reports whether the plan of the call asks hooks before each request.
	HasApproverHooks func() bool
	// AskHooks asks these hooks which approvers the request needs, and returns their questions.
	AskHooks func(workflow.Context) ([]hook.Ask, envelope.Next)
	// Hydrate validates arguments that an approver has edited.
	Hydrate func(workflow.Context) envelope.Next
	// FenceAgain reads the claims of a parked call again: the person decides about the attempts of these claims.
	FenceAgain func(workflow.Context)
}

// Approvals holds the approval requests of a call and the decisions that arrived.
type Approvals struct {
	call  *envelope.Call
	parts Parts
	inbox inbox
	// open is the request that people can decide on; nil if no request is open.
	open *toolspec.ApprovalView
	// hooksAsk says that a hook requires the open request. The request then stays open even if policy no
	// longer asks for an approval.
	hooksAsk bool
	// editedBy is the approver who last edited the arguments; empty if no approver edited them.
	// Edited arguments need an approval even if neither policy nor a hook asks for one any more.
	editedBy string
	// warned is the number of dropped signals that warnDropped has handled. If it is 0, the log has no warning yet.
	warned int
}

// New returns the approvals of a call that has no request yet.
func New(c *envelope.Call, parts Parts) *Approvals { return &Approvals{call: c, parts: parts} }

// OpenRequest returns the request that people can decide on, or nil.
func (a *Approvals) OpenRequest() *toolspec.ApprovalView { return a.open }

// SetInvocation sets the id of the call, which admit has returned. It refuses the
// decisions for other calls that have arrived.
func (a *Approvals) SetInvocation(invocationID string) { a.inbox.setInvocation(invocationID) }

// Close refuses every waiting and every later decision with the reason. A repeat of a decision that counted is
// confirmed instead.
func (a *Approvals) Close(reason string) { a.inbox.close(reason) }

// Ask opens an approval request and waits for the decision of a person. It returns the zero Next if a person approves
// the call, or if the gate no longer requires an approval; otherwise it returns how the call ends. The caller has run
// the input stages before, so the tool gets exactly the approved arguments. givesBack says that the call gives back
// its capacity while it waits.
//
// Ask asks the hooks that name approvers once for each request, and not at a recheck: a service that
// a hook needs must not delay or end the wait.
func (a *Approvals) Ask(ctx workflow.Context, ask hook.Ask, givesBack bool) envelope.Next {
	c := a.call
	for {
		asks, next := a.askHooks(ctx, ask)
		if next.IsEnd() {
			return next
		}
		if ask.Hook != "" && len(asks) > 0 {
			ask = asks[0] // ask may be about earlier arguments; asks[0] is about the current arguments
		}
		request, next := a.request(ctx, contract.RequestIn{Ask: ask, Asks: asks, Edits: a.inbox.edits(), EditedBy: a.editedBy, GivesBack: givesBack})
		if next.IsEnd() {
			return next
		}
		answer, next := a.wait(ctx, request)
		switch {
		case next.IsEnd():
			return next
		case request.Edited && answer.State != contract.RequestEdited:
			// An edit answered this request in an earlier run, and the inbox does not
			// have that edit. The next pass opens a new request with the same question.
			continue
		}
		switch answer.State {
		case contract.RequestApproved:
			granted := *request.Granted
			granted.Approver = answer.Approver
			c.SetApproval(granted)
			// The gate compares the approval with the call. If the gate requires an approval again, the
			// approval does not cover the call, and the call ends.
			return a.parts.Regate(ctx).WithoutAsking(c)
		case contract.RequestEdited:
			a.editedBy = answer.Approver
			// Every edit stays in the history of the arguments, so the size of all edits together
			// is bounded.
			if !c.AddChangedBytes(len(answer.EditedArgs)) {
				return envelope.FailWith(toolspec.CodeApprovalDenied, "the arguments were edited too often")
			}
			c.SetArgs(answer.EditedArgs, answer.SafeArgs)
			if next := a.parts.Hydrate(ctx); next.IsEnd() {
				return next
			}
		case contract.RequestOpen:
			// A recheck came, and policy no longer requires an approval.
			a.closeRequest(ctx, request)
			// Ask the whole gate again: a recheck ignores hooks that name a time, and runs no hooks if
			// the plan asks the hooks before each request.
			c.NextGate()
			verdict := a.parts.Regate(ctx)
			if verdict.IsEnd() || verdict.Ask == nil {
				return verdict.Next
			}
			ask = *verdict.Ask
			continue
		case contract.RequestLost:
			continue
		default:
			return notApproved(answer.State, request.View.ApprovalID)
		}
		// The gate may deny the edited arguments. If the gate allows them, they still need
		// an approval, even if the gate does not ask for one.
		verdict := a.parts.Rejudge(ctx)
		if verdict.IsEnd() {
			return verdict.Next
		}
		if verdict.Ask != nil {
			ask = *verdict.Ask
		}
	}
}

// request opens an approval request, or finds the request that the call already has for
// the same digest. The activity Request asks policy again, about the arguments with which the tool
// is going to run. There are three results:
//   - Next says how the call ends.
//   - The outcome is Done: the call has a request.
//   - The outcome is Refused without a failure. Policy does not allow this parked call to
//     wait for a person.
func (a *Approvals) request(ctx workflow.Context, in contract.RequestIn) (contract.RequestOut, envelope.Next) {
	c := a.call
	name := contract.Request.Name()
	c.SetStage(name)
	for {
		at := workflow.Now(ctx)
		// Each pass reads the facts, the epoch and the rounds again, because the answer
		// "superseded" changes them.
		in.Facts, in.Epoch, in.Last = c.Facts(ctx, c.Rounds().Gate), c.Epoch(), c.Rounds().Request
		in.Hydrations, in.Capacity = c.Hydrations(), c.Rounds().Capacity
		deadline := c.Remaining(ctx)
		if in.Parked != "" {
			// The lost attempt may have used up the deadline. The call still asks.
			deadline = max(deadline, parkedRequestTime)
		}
		out, err := steps.Local(ctx, contract.Request, in, steps.PreviewOptions("open the approval request", deadline))
		if err != nil {
			out.Failure = c.Classify(ctx, err)
		}
		// The record has a newer epoch. The call runs admit again, and repeats the request unless
		// the record has a result.
		if out.Outcome == contract.Superseded {
			if next := c.HandleSuperseded(ctx); next.IsEnd() {
				return out, next
			}
			continue
		}
		// The step failed, or it refused the request: policy denies the call, approvals
		// are off, or a kill switch is on.
		if out.Failure != nil {
			c.RecordStep(name, string(out.Failure.Code), at, out.DurationUs)
			return out, envelope.Fail(out.Failure)
		}
		if out.Outcome == contract.Done {
			c.RecordStep(name, "ok", at, out.DurationUs)
			c.ClearHydrations() // the activity wrote the hydrations to the record
			c.SetLastRequest(out.Number)
		}
		return out, envelope.Next{}
	}
}

// wait waits until a decision ends the request, the request expires, a recheck shows that the call does not need an
// approval any more, or the call ends, for example by a cancel. It returns the state of the request and the decision,
// or how the call ends. If the record already has the decision, wait returns it at once. The deadline of the call does
// not count the wait.
func (a *Approvals) wait(ctx workflow.Context, request contract.RequestOut) (contract.ReviewOut, envelope.Next) {
	// An earlier run got the approval, or a remembered approval covers the call.
	if request.Approved {
		a.inbox.recordCounted(request, contract.RequestApproved, request.Granted.Approver)
		return contract.ReviewOut{State: contract.RequestApproved, Approver: request.Granted.Approver}, envelope.Next{}
	}
	if request.Edited {
		return a.findEarlierEdit(ctx, request)
	}
	a.call.PauseDeadline(ctx)
	a.open = request.View
	a.inbox.openRequest(request, workflow.Now(ctx))
	status := toolspec.StatusWaitingApproval
	if request.View.Parked != "" {
		status = toolspec.StatusParkedUnknown
	}
	a.warnDropped(ctx)
	a.call.SetStatus(ctx, status, a.details())
	answer, next := a.reviewDecisions(ctx, request)
	a.open = nil
	a.call.ResumeDeadline(ctx)
	if a.call.MovesTo() == "" { // otherwise the next run of the call opens the same request
		a.inbox.recordCounted(request, answer.State, answer.Approver)
		a.inbox.closeRequest(request.Number)
	}
	a.call.SetStatus(ctx, toolspec.StatusRunning, "")
	return answer, next
}

// findEarlierEdit finds in the inbox the edit that answered the request in an earlier run, and returns it with the
// edited arguments. It returns a zero ReviewOut if the inbox does not have that edit.
//
// The record does not hold the edited arguments, but Temporal delivers the edit again
// after a reset. The activity Review recognizes the edit that counted. Every other edit of the
// request gets the answer that it comes too late.
func (a *Approvals) findEarlierEdit(ctx workflow.Context, request contract.RequestOut) (contract.ReviewOut, envelope.Next) {
	for {
		edit := a.inbox.edit(request.Number)
		if edit == nil {
			return contract.ReviewOut{}, envelope.Next{}
		}
		out, next := a.review(ctx, request, edit)
		a.inbox.answer(edit, out.Answer)
		if next.IsEnd() {
			return out, next
		}
		if out.State == contract.RequestEdited && out.Answer.Counted {
			a.inbox.closeRequest(request.Number)
			return out, next
		}
	}
}

// closeRequest closes a request that no longer needs a decision, so that people do not
// see it in the list of open requests. If it fails, settle closes the request.
func (a *Approvals) closeRequest(ctx workflow.Context, request contract.RequestOut) {
	at := workflow.Now(ctx)
	in := a.reviewIn(request)
	in.Close = true
	out, err := steps.Local(ctx, contract.Review, in, steps.Options("close the request", a.call.Remaining(ctx)))
	if err == nil && out.Outcome == contract.Done {
		a.call.RecordStep(contract.Review.Name(), string(contract.RequestClosed), at, out.DurationUs)
	}
}

// reviewDecisions reviews the decisions on the open request in the order of their arrival. It
// returns when the request is no longer open in the record: a final decision counted, or
// the request expired or was closed. It also returns when a recheck shows that the call
// does not need an approval any more (the state is then open), and when the call ends.
//
// The timer only wakes the call. The database's clock decides whether the request has
// expired.
func (a *Approvals) reviewDecisions(ctx workflow.Context, request contract.RequestOut) (contract.ReviewOut, envelope.Next) {
	parked := request.View.Parked != ""
	remaining := time.Duration(request.RemainingMs) * time.Millisecond
	epoch := a.call.Epoch()
	for {
		if err := a.awaitDecision(ctx, remaining); err != nil || ctx.Err() != nil {
			return contract.ReviewOut{}, envelope.Fail(&hook.Failure{
				Code: toolspec.CodeCancelled, Details: &toolspec.Details{ApprovalID: request.View.ApprovalID},
			})
		}
		// Review a waiting decision before the recheck, because the decision may end the
		// wait. The recheck stays pending until no decision waits.
		recheck := false
		decision := a.inbox.next()
		if decision == nil {
			recheck = a.call.TakeRecheck()
		}
		// Without a decision, review only reads the state of the request, and the gate state that a
		// recheck needs.
		out, next := a.review(ctx, request, decision)
		a.inbox.setAccepts(out.Accepts)
		if decision != nil {
			a.inbox.answer(decision, out.Answer)
			// Keep every decision that counts, so that the call can confirm the decision if its
			// sender repeats it. The call may still wait, because a rule may need several approvals.
			// fits is true: the record counts only decisions that are valid for the request.
			if becomes, fits := contract.Becomes(decision.decision.Decision, parked); fits && out.Answer.Counted {
				a.inbox.recordCounted(request, becomes, decision.decision.Approver)
			}
		}
		if next.IsEnd() {
			return out, next
		}
		remaining = time.Duration(out.RemainingMs) * time.Millisecond
		if out.State != contract.RequestOpen {
			return out, next
		}
		// A parked call does not ask the gate: policy cannot say whether the tool call took effect.
		if parked {
			epoch = a.fenceAgain(ctx, epoch)
		} else if recheck {
			verdict := a.judgeWhileWaiting(ctx)
			needsApproval := verdict.Ask != nil || a.hooksAsk || a.editedBy != ""
			if verdict.IsEnd() || !needsApproval {
				return out, verdict.Next
			}
		}
	}
}

// awaitDecision waits until a decision on the open request has arrived, a recheck is pending, or
// d has passed. It returns an error if the call is cancelled.
func (a *Approvals) awaitDecision(ctx workflow.Context, d time.Duration) error {
	timerCtx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timerCtx, max(d, 0), workflow.TimerOptions{Summary: "the approval request expires"})
	return workflow.Await(ctx, func() bool { return a.inbox.hasDecision() || a.call.HasRecheck() || timer.IsReady() })
}

// review verifies and records the decision d on the request. If d is nil, review reads
// the state of the request. In both cases it begins a round of the gate and updates the
// gate state of the call.
func (a *Approvals) review(ctx workflow.Context, request contract.RequestOut, d *delivery) (contract.ReviewOut, envelope.Next) {
	c := a.call
	for {
		at := workflow.Now(ctx)
		c.NextGate()
		in := a.reviewIn(request)
		in.Capacity = c.Rounds().Capacity
		// Read the accepted keys again if there is no decision, if the call has never read
		// them, or if the call does not know the key of the decision: the key may have been
		// registered after the call last read the keys.
		in.Refresh = a.inbox.open != nil && (d == nil || d.evidence == unlisted || a.inbox.open.Accepts == nil)
		summary := "see how the request stands"
		if d != nil {
			in.Decision = &d.decision
			// The arguments and the session limit the calls that a remembered approval
			// covers.
			if d.decision.Remember && request.View.Parked == "" {
				in.Args, in.SessionID = c.Args(), c.Admitted().Context.SessionID
			}
			summary = "verify a decision"
		}
		out, err := steps.Local(ctx, contract.Review, in, steps.Options(summary, steps.Forever))
		if err != nil {
			return out, envelope.Fail(c.Classify(ctx, err))
		}
		if out.Outcome == contract.Superseded {
			if next := c.HandleSuperseded(ctx); next.IsEnd() {
				return out, next
			}
			continue
		}
		c.SetGateState(out.PolicyDigest, out.Kills, out.Connection)
		outcome := string(out.State)
		if d != nil && !out.Answer.Counted {
			outcome = "not_counted"
		}
		c.RecordStep(contract.Review.Name(), outcome, at, out.DurationUs)
		return out, envelope.Next{}
	}
}

// reviewIn returns the input of Review for the request, without a decision.
func (a *Approvals) reviewIn(request contract.RequestOut) contract.ReviewIn {
	admitted := a.call.Admitted()
	return contract.ReviewIn{
		InvocationID: admitted.InvocationID, ToolID: admitted.ToolID, ToolDigest: a.call.ToolDigest(), TenantID: admitted.Context.TenantID,
		ApprovalID: request.View.ApprovalID, Epoch: a.call.Epoch(), Gate: a.call.Rounds().Gate,
	}
}

// notApproved ends a call whose request got no approval. The code is approval_expired for
// an expired request and approval_denied for every other state.
func notApproved(state contract.RequestState, approvalID string) envelope.Next {
	f := &hook.Failure{Code: toolspec.CodeApprovalDenied, Details: &toolspec.Details{ApprovalID: approvalID}}
	switch state {
	case contract.RequestExpired:
		f.Code = toolspec.CodeApprovalExpired
	case contract.RequestWithdrawn:
		f.SafeMessage = "The approval request was withdrawn"
	default:
	}
	return envelope.Fail(f)
}
