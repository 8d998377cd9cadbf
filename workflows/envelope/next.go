package envelope

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Next says whether a call continues after one of its parts. The zero value means that it
// continues. Any other value ends the call: with a failure, with the output, as settled
// by a person, or with the result that the record already has.
type Next struct {
	ends      bool
	failure   *hook.Failure
	settledBy string
	recorded  *toolspec.Result
}

// Fail ends the call with a failure. nil becomes a failure with the code internal.
func Fail(f *hook.Failure) Next {
	if f == nil { // without a failure, the call would end as a success
		f = &hook.Failure{Code: toolspec.CodeInternal}
	}
	return Next{ends: true, failure: f}
}

// FailWith ends the call with a failure that has the code and the safe message.
func FailWith(code toolspec.Code, message string) Next {
	return Fail(&hook.Failure{Code: code, SafeMessage: message})
}

// Succeed ends the call with the output of the envelope.
func Succeed() Next { return Next{ends: true} }

// SettledBy ends the call as done, without an output, because a person decided so.
// approvalID names the request that the person decided.
func SettledBy(approvalID string) Next { return Next{ends: true, settledBy: approvalID} }

// Recorded ends the call with r, the result that the record has.
func Recorded(r toolspec.Result) Next { return Next{ends: true, recorded: &r} }

// IsEnd reports whether the call ends.
func (n Next) IsEnd() bool { return n.ends }

// Failure returns the failure that ends the call; nil if the call did not fail.
func (n Next) Failure() *hook.Failure { return n.failure }

// ApprovalID returns the id of the request by which a person settled the call as done, or
// an empty string.
func (n Next) ApprovalID() string { return n.settledBy }

// EndsWithOutput reports whether the call ends with the output of the envelope.
func (n Next) EndsWithOutput() bool {
	return n.ends && n.failure == nil && n.recorded == nil && n.settledBy == ""
}

// RecordedResult returns the result that the record has, or nil.
func (n Next) RecordedResult() *toolspec.Result { return n.recorded }

// NextAfter returns whether the call continues after a stage with the verdict v. If a hook responded, it sets the
// output of the call to the response. After hook.Asked the call continues: the caller of NextAfter asks the person.
func (c *Call) NextAfter(ctx workflow.Context, v hook.Verdict, stage hook.Stage) Next {
	switch v.Outcome {
	case hook.Failed:
		return Fail(v.Failure)
	case hook.Responded:
		source := toolspec.SourceResponded
		if stage == hook.DidCacheHit.Stage() {
			source = toolspec.SourceCache
		}
		c.SetSource(source, v.Challenge)
		c.SetOutput(v.Value, v.ValueInfo)
		return Succeed()
	case "", hook.Asked:
	default:
		// A newer worker gave an outcome that this version does not know, or the outcome is Waited
		// or Superseded and the caller did not handle it. In no case has the stage allowed the call.
		return FailWith(toolspec.CodeInternal, "")
	}
	if ctx.Err() != nil {
		return Fail(&hook.Failure{Code: toolspec.CodeCancelled})
	}
	return Next{}
}

// Verdict is the answer of the gate: whether the call continues, and the approval that
// the call needs before it continues. Ask is nil if the call needs no approval.
type Verdict struct {
	Next
	Ask *hook.Ask
}

// WithoutAsking returns whether the call continues at a point at which it cannot ask a person. If the
// gate requires an approval, the call fails with approval_stale: either no person has approved the call, or
// the approval does not cover the call any more.
func (v Verdict) WithoutAsking(c *Call) Next {
	if v.IsEnd() || v.Ask == nil {
		return v.Next
	}
	f := &hook.Failure{Code: toolspec.CodeApprovalStale, Details: c.ApprovalDetails()}
	if c.approval == nil {
		// The call does not ask a person here: it may hold capacity, and must not hold capacity while it waits for
		// a person.
		f.SafeMessage = "Policy asks for an approval by now; make the call again to be asked about"
	}
	return Fail(f)
}

// ApprovalDetails returns the id of the approved request; nil if no person has approved.
func (c *Call) ApprovalDetails() *toolspec.Details {
	if c.approval == nil {
		return nil
	}
	return &toolspec.Details{ApprovalID: c.approval.ApprovalID}
}

// OutcomeUnknown ends a call whose tool may have had its effect. why says how the last
// attempt was lost. If ctx is cancelled, the cause in the details is `cancelled` instead.
func OutcomeUnknown(ctx workflow.Context, why *hook.Failure) Next {
	f := contract.Interruption(why, false)
	if ctx.Err() != nil {
		f.Details.Cause = string(toolspec.CodeCancelled)
	}
	return Fail(f)
}
