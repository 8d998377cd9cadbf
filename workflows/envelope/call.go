package envelope

import (
	"encoding/json"
	"slices"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

// Call holds the state of one tool call. Its byte slices are never modified in place: a
// change replaces the slice.
type Call struct {
	raw      converter.RawValue
	admitted contract.AdmitOut
	plan     hook.Plan
	epoch    int
	rounds   contract.Rounds
	attempt  int
	// restricted says that RestrictPlan has changed the plan.
	restricted bool

	clock
	gateState
	arguments
	output
	scratch
	trace
	status
	rechecks
	moves
}

// scratch holds values that stages wrote for later stages.
type scratch struct {
	budgets  hook.Budgets
	data     []hook.Entry
	bindings []hook.Binding
	// needs lists the on-demand stages that the gate requires, such as willAcquireQuota for a tool with a quota.
	needs []hook.Stage
	// changedBytes counts the bytes that hooks and approvers have changed.
	changedBytes int
	// permit is the permit that the gate issued last.
	permit json.RawMessage
	// approval is the approval that a person granted, or nil.
	approval *hook.GrantedApproval
	failure  *hook.Failure
	audit    []hook.AuditEntry
}

// New returns the state of the call that this workflow runs. If the call has moved here from another task queue, New
// also returns the decisions of approvers that the previous Temporal run passed on. New does not decode the input of
// the call.
func New(ctx workflow.Context, raw, moved converter.RawValue) (*Call, []toolspec.Decision) {
	now := workflow.Now(ctx)
	c := &Call{
		raw:    raw,
		clock:  clock{runStartedAt: now, callStartedAt: now},
		status: status{status: toolspec.StatusRunning, stage: contract.Admit.Name()},
	}
	return c, c.adoptMoved(ctx, moved).Decisions
}

// Raw returns the input of the workflow.
func (c *Call) Raw() converter.RawValue { return c.raw }

// Input returns the input of the workflow as bytes, and the encoding that its metadata
// names.
func (c *Call) Input() (data []byte, encoding string) {
	payload := c.raw.Payload()
	return payload.GetData(), string(payload.GetMetadata()[converter.MetadataEncoding])
}

// Admitted returns the answer of admit that the last call of Adopt took over. Readmit, which only
// renews the epoch, the rounds and the gate state, does not change it.
func (c *Call) Admitted() contract.AdmitOut { return c.admitted }

// Plan returns the recorded plan, or the restricted plan after RestrictPlan.
func (c *Call) Plan() hook.Plan { return c.plan }

// Epoch returns the epoch under which this run may write into the record.
func (c *Call) Epoch() int { return c.epoch }

// RaiseEpoch sets the epoch of the call to epoch, which a step has written to the record.
func (c *Call) RaiseEpoch(epoch int) { c.epoch = epoch }

// Rounds returns the last number that the call has used of each counter: gate, dispatch, request and
// capacity.
func (c *Call) Rounds() contract.Rounds { return c.rounds }

// NextGate starts a round of the gate. The record stores by round what stages do. Without a new number, it
// would take the next run of the gate for a retry of the last run.
func (c *Call) NextGate() { c.rounds.Gate++ }

// NextCapacity starts a round of the stages that may wait for capacity. In a new round
// these stages acquire capacity again.
func (c *Call) NextCapacity() { c.rounds.Capacity++ }

// NextDispatch takes the number of the next dispatch and returns it.
func (c *Call) NextDispatch() int {
	c.rounds.Dispatch++
	return c.rounds.Dispatch
}

// SetLastRequest records the number of an approval request. A number below the recorded number
// changes nothing.
func (c *Call) SetLastRequest(number int) { c.rounds.Request = max(c.rounds.Request, number) }

// Attempt returns the number of the attempt, from 1. It is 0 before the first attempt.
func (c *Call) Attempt() int { return c.attempt }

// SetAttempt starts attempt n.
func (c *Call) SetAttempt(n int) { c.attempt = n }

// Lane returns the lane of the attempts: the lane of the plan, with two exceptions. After an approval request it is
// the regular lane: only a claim can consume an approval, and an attempt may first have to make the preview of the
// tool again. A call with a connection leaves the claimed lane for the regular lane, because only a regular activity
// can be cancelled when the right to the connection is lost.
func (c *Call) Lane() hook.Lane {
	if c.rounds.Request > 0 || c.plan.Lane == hook.ClaimedLane && c.connection != nil {
		return hook.RegularLane
	}
	return c.plan.Lane
}

// RestrictPlan changes the plan to one that is safe for every tool: one attempt, in the
// regular lane. It holds for the rest of the run, also if Adopt takes over the recorded plan again.
func (c *Call) RestrictPlan() {
	c.restricted = true
	c.plan.Lane, c.plan.Repeatable, c.plan.MaxAttempts = hook.RegularLane, false, 1
}

// Owner returns the ids of the call, with which steps.Answer checks the receipt of an answer.
func (c *Call) Owner() steps.Owner {
	return steps.Owner{InvocationID: c.admitted.InvocationID, TenantID: c.admitted.Context.TenantID}
}

// Budgets returns the budgets of the call, from the plan and from the hooks so far.
func (c *Call) Budgets() hook.Budgets { return c.budgets }

// MaxAttempts returns how many attempts the tool and policy both allow. A budget of 0
// sets no limit.
func (c *Call) MaxAttempts() int {
	if n := c.budgets.MaxAttempts; n > 0 {
		return min(n, c.plan.MaxAttempts)
	}
	return c.plan.MaxAttempts
}

// Runtime returns the longest time that an attempt may take.
func (c *Call) Runtime() time.Duration {
	return time.Duration(c.budgets.MaxRuntimeMs) * time.Millisecond
}

// Terms returns the hooks and the bounds of every attempt, under the current plan and budgets.
func (c *Call) Terms() hook.Terms {
	t := hook.Terms{Once: !c.plan.Repeatable, MaxRuntimeMs: c.Runtime().Milliseconds(), MaxResultBytes: c.budgets.MaxResultBytes}
	for _, step := range c.plan.Execute {
		switch step.Stage {
		case hook.AroundExecute.Stage():
			t.Around = step.Hooks
		case hook.WillExecute.Stage():
			t.WillExecute = step.Hooks
		case hook.DidExecute.Stage():
			t.DidExecute = step.Hooks
		default: // OnRetry and OnGiveUp run outside of the attempt
		}
	}
	return t
}

// Needs returns the on-demand stages that the gate requires.
func (c *Call) Needs() []hook.Stage { return c.needs }

// IsIdle reports whether a stage has nothing to do for the call: it has no hooks, and Pawl
// itself has nothing to do there.
func (c *Call) IsIdle(step hook.Step) bool { return len(step.Hooks) == 0 && !c.hasOwn(step) }

// hasOwn reports whether Pawl's own step has something to do for the call: the step is not on
// demand, or the gate demands it.
func (c *Call) hasOwn(step hook.Step) bool {
	return step.Own != "" && (!step.OnDemand || slices.Contains(c.needs, step.Stage))
}

// Permit returns the permit that the gate issued last; nil before the first one.
func (c *Call) Permit() json.RawMessage { return c.permit }

// SetApproval records the approval that a person granted.
func (c *Call) SetApproval(g hook.GrantedApproval) { c.approval = &g }

// Approval returns the approval that a person granted, or nil.
func (c *Call) Approval() *hook.GrantedApproval { return c.approval }

// AddChangedBytes counts n bytes that hooks or approvers changed. It returns false, and counts nothing, if the
// sum would be more than hook.MaxDelta. Without this limit, the history could grow so large that
// the server terminates the workflow.
func (c *Call) AddChangedBytes(n int) bool {
	if c.changedBytes+n > hook.MaxDelta {
		return false
	}
	c.changedBytes += n
	return true
}

// SetFailure sets the failure that the following stages see. nil removes the failure.
func (c *Call) SetFailure(f *hook.Failure) { c.failure = f }

// Audit returns the audit entries that hooks wrote for the record.
func (c *Call) Audit() []hook.AuditEntry { return c.audit }

// ClearAudit drops the audit entries. A caller calls it before the hooks that wrote them run again.
func (c *Call) ClearAudit() { c.audit = nil }

// Facts returns the current facts of the call for a stage. round is the number of the run of that
// stage, from 1; a retry by Temporal has the same number.
func (c *Call) Facts(ctx workflow.Context, round int) hook.Facts {
	ids := make([]string, len(c.audit))
	for i := range c.audit {
		ids[i] = toolspec.AuditID(c.admitted.InvocationID, i+1)
	}
	return hook.Facts{
		InvocationID: c.admitted.InvocationID, ToolID: c.admitted.ToolID, ToolCallID: c.admitted.ToolCallID,
		Context: c.admitted.Context, Submitter: c.admitted.Submitter, Effect: c.effect, Risk: c.risk, ScriptArg: c.scriptArg, Discovered: c.discovered, ToolDigest: c.toolDigest,
		PolicyDigest: c.policyDigest, InputDigest: c.admitted.InputDigest,
		Epoch: c.epoch, Round: round, Attempt: c.attempt,
		Args: c.args, SafeArgs: c.safeArgs, ArgsHistory: c.argsHistory,
		Output: c.value, OutputInfo: c.info, OutputHistory: c.outputHistory, Challenge: c.challenge, Source: c.source,
		Cached: c.cached, CachedInfo: c.cachedInfo, Hit: c.hit, Data: c.data, Bindings: c.bindings, Failure: c.failure, Approval: c.approval,
		Attempts: c.attempt, AuditIDs: ids,
		Repaired: c.repaired, NoSchema: c.noSchema,
		Kills: c.kills, Connection: c.connection, StartedAtMs: c.callStartedAt.UnixMilli(), NowMs: workflow.Now(ctx).UnixMilli(),
		RemainingMs: c.Remaining(ctx).Milliseconds(),
	}
}
