package workflows

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/approval"
	"github.com/pawl-run/pawl/workflows/attempt"
	"github.com/pawl-run/pawl/workflows/capacity"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
	"github.com/pawl-run/pawl/workflows/gate"
	"github.com/pawl-run/pawl/workflows/hydrate"
	"github.com/pawl-run/pawl/workflows/output"
	"github.com/pawl-run/pawl/workflows/settle"
	"github.com/pawl-run/pawl/workflows/steps"
)

// InvokeTool is the workflow of one tool call. Every end of a call, also a denial or a failure of
// its tool, completes the workflow with a Result. The workflow fails only because of a bug.
//
// InvokeTool takes the input undecoded, and admit decodes it, because an input that does
// not decode must not make the workflow fail. Callers start the workflow with the input alone. If the call has
// moved here from another task queue, the previous Temporal run also passes moved, the JSON of a contract.Moved.
func InvokeTool(ctx workflow.Context, input, moved converter.RawValue) (toolspec.Result, error) {
	i, decisions := newInvocation(ctx, input, moved)
	if err := i.listen(ctx); err != nil {
		return toolspec.Result{}, err
	}
	for _, d := range decisions {
		i.approvals.Receive(ctx, d)
	}
	result, err := i.run(ctx)
	if err != nil {
		return toolspec.Result{}, err
	}
	i.approvals.Close("the call is settled")
	if err := workflow.Await(steps.Disconnected(ctx), func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return toolspec.Result{}, err
	}
	return result, nil
}

// invocation is a call with its parts. No part imports another part. If one part needs
// the work of another, invocation connects them.
type invocation struct {
	*envelope.Call
	approvals *approval.Approvals
	capacity  *capacity.Capacity
	attempts  *attempt.Attempts
	// inputDone says that the input stages, such as willNormalizeInput, have run. They run once for the call.
	inputDone bool
}

// newInvocation returns a call with its parts. If the call has moved here from another task queue, it also returns
// the decisions of approvers that the previous Temporal run passed on.
func newInvocation(ctx workflow.Context, input, moved converter.RawValue) (*invocation, []toolspec.Decision) {
	call, decisions := envelope.New(ctx, input, moved)
	i := &invocation{Call: call}
	i.approvals = approval.New(i.Call, approval.Parts{
		Regate:           func(ctx workflow.Context) envelope.Verdict { return i.regate(ctx, gate.Authorize, gate.Consent) },
		Rejudge:          func(ctx workflow.Context) envelope.Verdict { return gate.Rejudge(ctx, i.Call) },
		HasApproverHooks: func() bool { return gate.HasApproverHooks(i.Call) },
		AskHooks:         func(ctx workflow.Context) ([]hook.Ask, envelope.Next) { return gate.AskApproverHooks(ctx, i.Call) },
		Hydrate:          func(ctx workflow.Context) envelope.Next { return hydrate.Again(ctx, i.Call) },
		FenceAgain:       func(ctx workflow.Context) { i.attempts.FenceAgain(ctx) },
	})
	i.capacity = capacity.New(i.Call, i.judge)
	i.attempts = attempt.New(i.Call, attempt.Parts{Judge: i.judge, Denial: i.findDenial, LeasedAt: i.capacity.LeasedAt})
	return i, decisions
}

// run runs the call from admit to settle and returns its result. It returns an error only
// if admit or settle fails, which fails the workflow, or if the call moves to another task queue.
func (i *invocation) run(ctx workflow.Context) (toolspec.Result, error) {
	out, err := i.Admit(ctx)
	if err != nil {
		return toolspec.Result{}, err
	}
	i.adoptRecord(out)
	switch {
	case out.Result != nil:
		i.MarkSettled(*out.Result)
		return *out.Result, nil
	case out.Outcome == contract.Refused && !out.Recorded:
		// The call has no record, so there is nothing to settle. A call that has a record
		// and a failure of admit continues below: runCall ends it with that failure, and
		// Settle writes the failure to the record.
		result := settle.Result(ctx, i.Call, envelope.Fail(out.Failure))
		i.MarkSettled(result)
		return result, nil
	}
	end := settle.Ending{Next: i.waitForPlan(ctx)}
	if !end.Next.IsEnd() {
		// A call with a regular activity may run for long, so people must be able to find it
		// by its search attributes while it runs. Any other call first writes them when it
		// waits or ends, because each upsert is a write to Temporal's visibility store.
		if i.plansRegularActivity() {
			i.Upsert(ctx)
		}
		end.Next = i.runCall(ctx)
	}
	// If only workers on another task queue have the tool, WaitForPart returns a failure with the code
	// unavailable. The call then moves, unless it was cancelled meanwhile.
	if f := end.Next.Failure(); f != nil && f.Code == toolspec.CodeUnavailable && i.MovesTo() != "" {
		if ctx.Err() == nil {
			return toolspec.Result{}, i.move(ctx)
		}
		end.Next = envelope.Fail(&hook.Failure{Code: toolspec.CodeCancelled})
	}
	i.Stay()
	// The output stages need the value of the output. The workflow has no value if the
	// call failed, if a person settled it, if its result is from the record, or if a
	// worker of an older release has only stored it.
	if end.Next.EndsWithOutput() && !i.HasStoredOutputOnly() {
		var shaped envelope.Next
		if end.Kept, shaped = output.Shape(steps.Disconnected(ctx), i.Call); shaped.IsEnd() {
			end.Next = shaped
		}
	}
	end.Claims = i.attempts.Claims()
	return settle.Settle(ctx, i.Call, end)
}

// adoptRecord copies the data that admit has read from the record into the call. It also gives the approvals the
// id of the call, so that they refuse decisions about other calls.
func (i *invocation) adoptRecord(out contract.AdmitOut) {
	i.Adopt(out)
	i.approvals.SetInvocation(out.InvocationID)
}

// waitForPlan runs admit again until a worker runs it that can follow the recorded plan. It returns how the call
// ends, or the zero Next if there is such a worker. The activity admit compares the version of the plan with the
// versions of its worker. The workflow does not compare them itself, because a newer worker must be able to replay
// the history of an older worker.
func (i *invocation) waitForPlan(ctx workflow.Context) envelope.Next {
	delay := steps.MissingDelay
	for i.Admitted().Outcome == contract.NotHere {
		if f := i.WaitForPart(ctx, &delay, i.Admitted().By); f != nil {
			return envelope.Fail(f)
		}
		out, err := i.Admit(ctx)
		if err != nil {
			return envelope.Fail(i.Classify(ctx, err))
		}
		if i.adoptRecord(out); out.Result != nil {
			return envelope.Recorded(*out.Result)
		}
	}
	return envelope.Next{}
}

// runCall runs the call from the end of admit to the start of the output stages, and
// returns how the call ends.
func (i *invocation) runCall(ctx workflow.Context) envelope.Next {
	// The call has a record, but admit has found that the call cannot run, for example because no
	// worker has the tool.
	if f := i.Admitted().Failure; f != nil {
		if p := i.Admitted().Provenance; p != nil {
			i.RecordHydration(contract.Hydration{AtMs: workflow.Now(ctx).UnixMilli(), Provenance: *p})
		}
		return envelope.Fail(f)
	}
	if next := i.runPreStages(ctx); next.IsEnd() {
		return next
	}
	// A call that is cancelled before execute ends as cancelled. In the local lane, a later cancel does not
	// change the answer of the tool.
	if ctx.Err() != nil {
		return envelope.Fail(&hook.Failure{Code: toolspec.CodeCancelled})
	}
	i.attempts.Begin()
	found := i.attempts.Run(ctx)
	for {
		var next envelope.Next
		switch found.Then {
		case attempt.Over:
			return found.Next
		case attempt.Repeat:
			found = i.attempts.Run(ctx)
			continue
		case attempt.Resolve:
			found = i.askForResolution(ctx, found.Cause)
			continue
		case attempt.Dispatch:
		case attempt.Regate:
			if next = i.HandleSuperseded(ctx); !next.IsEnd() {
				i.NextGate()
				next = i.regate(ctx, gate.Authorize, gate.Consent).WithoutAsking(i.Call)
			}
		case attempt.Lease:
			next = i.capacity.Reacquire(ctx)
		case attempt.Rehydrate:
			if next = i.rehydrate(ctx); !next.IsEnd() {
				if found = i.attempts.AfterRehydrate(ctx); found.Then != attempt.Dispatch {
					continue
				}
			}
		}
		switch {
		case next.IsEnd():
			return next
		case ctx.Err() != nil:
			return envelope.Fail(&hook.Failure{Code: toolspec.CodeCancelled})
		}
		found = i.attempts.Run(ctx)
	}
}

// runPreStages runs the stages before execute, in the order of the plan. It returns how the call ends, or the zero
// Next if the call goes on to execute.
func (i *invocation) runPreStages(ctx workflow.Context) envelope.Next {
	i.NextGate()
	i.NextCapacity()
	for _, step := range i.Plan().Pre {
		// The input stages may change the arguments. Judge the new arguments once, after the
		// last input stage and before any other stage.
		if step.Phase != hook.PhaseInput && i.ArgsChanged() {
			i.inputDone = true
			if next := i.judgeArgs(ctx, hydrate.Again); next.IsEnd() {
				return next
			}
		}
		switch {
		case step.Stage == hook.Hydrate:
			if next := i.hydrate(ctx); next.IsEnd() {
				return next
			}
			continue
		// Skip a stage that has nothing to do for this call, the input stages if askForApproval has
		// already run them, and didCacheHit or didCacheMiss if the cache lookup had the opposite
		// result.
		case i.IsIdle(step),
			step.Phase == hook.PhaseInput && i.inputDone,
			step.Stage == hook.DidCacheHit.Stage() && !i.HasCachedValue(),
			step.Stage == hook.DidCacheMiss.Stage() && i.HasCachedValue():
			continue
		}
		run := i.capacity.Run
		if step.Stage == gate.Authorize || step.Stage == gate.Consent {
			run = i.runGate
		}
		v, next := run(ctx, step)
		switch {
		case next.IsEnd():
			return next
		case v.Outcome == hook.Asked:
			next = i.askForApproval(ctx, *v.Ask)
		default:
			next = i.NextAfter(ctx, v, step.Stage)
		}
		if next.IsEnd() {
			return next
		}
	}
	i.inputDone = true
	// No stage followed the input stages, so the loop has not judged the new arguments.
	if i.ArgsChanged() {
		return i.judgeArgs(ctx, hydrate.Again)
	}
	return envelope.Next{}
}

// runGate runs willAuthorize or willCheckConsent. If a hook answers "wait until this time", runGate waits and runs
// the stage again. It returns the first verdict that asks for no wait. If the call ends meanwhile, the Next says how,
// and the verdict does not count.
func (i *invocation) runGate(ctx workflow.Context, step hook.Step) (hook.Verdict, envelope.Next) {
	for {
		v := i.RunStage(ctx, step, i.Rounds().Gate)
		if v.Outcome != hook.Waited {
			return v, envelope.Next{}
		}
		next := gate.Wait(ctx, i.Call, *v.Wait)
		if !next.IsEnd() && step.Stage == gate.Consent {
			// Authorize judged the call before this wait, which may have been long.
			next = i.regate(ctx, gate.Authorize).Next
		}
		if next.IsEnd() {
			return v, next
		}
	}
}

// hydrate parses and validates the input. If a deploy has replaced the tool since admit,
// the gate judges the new tool.
func (i *invocation) hydrate(ctx workflow.Context) envelope.Next {
	if next := hydrate.Input(ctx, i.Call); next.IsEnd() || i.ToolDigest() == i.Plan().ToolDigest {
		return next
	}
	i.NextGate()
	return i.regate(ctx, gate.Authorize).Next // the plan runs the consent stage later
}

// judgeArgs handles a change of the arguments: it validates the new arguments, and then the gate judges them. If
// the gate requires an approval, judgeArgs asks a person. It returns how the call ends, or the zero Next.
func (i *invocation) judgeArgs(ctx workflow.Context, validate func(workflow.Context, *envelope.Call) envelope.Next) envelope.Next {
	i.TakeArgsChanged()
	tool := i.ToolDigest()
	if next := validate(ctx, i.Call); next.IsEnd() {
		return next
	}
	i.NextGate()
	// The stage willAuthorize sees no arguments, so it runs again only if another version of the tool validated them.
	stages := []hook.Stage{gate.Consent}
	if i.ToolDigest() != tool {
		stages = []hook.Stage{gate.Authorize, gate.Consent}
	}
	verdict := i.regate(ctx, stages...)
	if verdict.Ask != nil && !verdict.IsEnd() {
		return i.askForApproval(ctx, *verdict.Ask)
	}
	return verdict.Next
}

// rehydrate handles a deploy that replaced the tool during the call: the new version of the tool
// validates the arguments, and the gate judges the call again. A call that a person has approved fails with
// approval_stale instead, because the approval is for the old version.
func (i *invocation) rehydrate(ctx workflow.Context) envelope.Next {
	if i.Approval() != nil {
		return envelope.Fail(&hook.Failure{Code: toolspec.CodeApprovalStale, Details: i.ApprovalDetails()})
	}
	return i.judgeArgs(ctx, hydrate.Anew)
}

// askForApproval asks a person for an approval. The plan has the input stages after the
// gate, but askForApproval runs them first, so that the tool runs with exactly the
// approved arguments. A call that holds slots gives them back while it waits.
func (i *invocation) askForApproval(ctx workflow.Context, question hook.Ask) envelope.Next {
	if !i.inputDone {
		for _, step := range i.Plan().Pre {
			if step.Phase != hook.PhaseInput {
				continue
			}
			if next := i.NextAfter(ctx, i.RunStage(ctx, step, 1), step.Stage); next.IsEnd() {
				return next
			}
		}
		i.inputDone = true
		if i.TakeArgsChanged() {
			if next := hydrate.Again(ctx, i.Call); next.IsEnd() {
				return next
			}
		}
	}
	givesBack := i.capacity.GivesBack(ctx)
	if next := i.approvals.Ask(ctx, question, givesBack); next.IsEnd() || !givesBack {
		return next
	}
	return i.capacity.Acquire(ctx)
}

// judge reads the gate state again and asks the gate. It fails the call if the gate
// requires an approval by a person.
func (i *invocation) judge(ctx workflow.Context) envelope.Next {
	if next := i.ReadGateState(ctx); next.IsEnd() {
		return next
	}
	return i.regate(ctx, gate.Authorize, gate.Consent).WithoutAsking(i.Call)
}

// findDenial runs willAuthorize while the tool of the call runs. If the gate now denies the call, for example because
// its grant was revoked, findDenial returns the denial, and the attempt must stop. It returns nil if the call may
// continue, or if the gate gives no answer.
func (i *invocation) findDenial(ctx workflow.Context) *hook.Failure {
	step, ok := i.Plan().Step(gate.Authorize)
	if !ok || i.ReadGateState(ctx).IsEnd() {
		return nil // the gate gives no answer; a later step meets the cause and handles it
	}
	return gate.Denial(ctx, i.Call, step)
}

// regate runs stages of the gate again. The first run of the gate follows the plan in
// runPreStages. After that, all parts run the gate through regate, with two exceptions:
// findDenial, which only looks for a denial, and approvals, which use gate.Rejudge while they wait.
func (i *invocation) regate(ctx workflow.Context, stages ...hook.Stage) envelope.Verdict {
	return gate.Judge(ctx, i.Call, stages...)
}

// plansRegularActivity reports whether the call is going to run an activity that is not a local activity: an attempt in the
// regular lane, or a durable hook. Hooks of the error stages do not count, because they run only if the call fails.
func (i *invocation) plansRegularActivity() bool {
	p := i.Plan()
	// The gate may have moved a call of the claimed lane to the regular lane.
	leavesTask := p.Lane == hook.RegularLane || p.Lane == hook.ClaimedLane && i.Lane() == hook.RegularLane
	return leavesTask || envelope.DurableTime(p.Pre...) > 0 || envelope.DurableTime(p.Execute...) > 0 || envelope.DurableTime(p.Post...) > 0
}
