package attempt

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/broker/redact"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// claimTime bounds the write of the claim. No heartbeat is sent before the tool runs, so claimTime is
	// well below the time after which Temporal counts the activity as lost.
	claimTime = 3 * time.Second
	// keepTime bounds the write of a kept answer, for which the workflow waits.
	keepTime = 2 * time.Second
	// afterTool is the time that an attempt in the claimed lane has after the time of its tool: to stop
	// the tool, to store a large value and to keep the answer.
	afterTool = 10 * time.Second
	// earlierEvery is the time between two looks at a claim whose tool may still run.
	earlierEvery = 250 * time.Millisecond
	// maxKept bounds a kept answer, in bytes: the short form of a value and the other fields of the answer.
	maxKept = 2 * toolspec.MaxInline
)

// claim stores that the tool is about to run. If the claim succeeds, kept and out are nil. Otherwise the tool
// must not run: kept is the answer of an earlier execution, or out is the answer of the attempt. subject is the
// digest of what the attempt runs (permit.subject), and empty outside of the claimed lane.
//
// If the database gives no answer, the claim may have been stored. Then claim does not try again: only this
// process knows that the tool did not run, and its answer says so.
func (a *Attempts) claim(ctx context.Context, in contract.ExecuteIn, claimID, subject string, bound *catalog.Bound) (kept, out *contract.ExecuteOut) {
	row := ClaimRow{
		InvocationID: in.Facts.InvocationID, TenantID: in.Facts.Context.TenantID, ToolID: in.Facts.ToolID,
		Epoch: in.Epoch, Dispatch: in.Dispatch, ClaimID: claimID, Effect: bound.Definition().Effect,
		SafeArgs: in.Facts.SafeArgs, Repeatable: bound.Definition().Repeatable() && !in.Once, Answered: in.Answered,
		Subject: subject, Runtime: time.Duration(in.MaxRuntimeMs) * time.Millisecond,
	}
	var err error
	if approval := in.Facts.Approval; approval != nil {
		row.ApprovalID = approval.ApprovalID
		row.PreviewDigest = approval.PreviewDigest
		// Compute the digest of the tool and the arguments that run now. approval.Digest comes from the history, and may
		// be the digest of another call.
		row.ApprovalDigest, err = judge.Approved(in.Facts).Digest()
	}
	var outcome contract.Outcome
	if err == nil {
		outcome, err = a.tryClaim(ctx, row)
	}
	if err == nil && subject != "" && (outcome == contract.Claimed || outcome == contract.Redelivered) {
		// A workflow task was lost. In that task the tool may have run, and it may still run now.
		if kept, err = a.awaitEarlier(ctx, in, subject); kept != nil {
			return kept, nil
		}
		if err == nil {
			outcome, err = a.tryClaim(ctx, row)
		}
	}
	if err != nil {
		a.Log.WarnContext(ctx, "the claim has no answer; the tool is not run", "invocationId", in.Facts.InvocationID, "dispatch", in.Dispatch, "reason", errs.Reason(err))
		out := contract.ExecuteOut{Outcome: contract.Undispatched}
		if !errs.IsTransient(err) {
			out.Failure = &hook.Failure{Code: toolspec.CodeInternal}
		}
		return nil, &out
	}
	if outcome == contract.Done {
		return nil, nil
	}
	out = &contract.ExecuteOut{Outcome: outcome}
	if outcome == contract.Killed {
		out.Outcome, out.Failure = contract.Refused, judge.KillFailure("")
	}
	if outcome == contract.Refused {
		out.Failure = &hook.Failure{Code: toolspec.CodeApprovalStale, Details: &toolspec.Details{ApprovalID: row.ApprovalID}}
	}
	return nil, out
}

func (a *Attempts) tryClaim(ctx context.Context, row ClaimRow) (contract.Outcome, error) {
	soon, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	return a.Store.Claim(soon, row)
}

// awaitEarlier returns the kept answer of an earlier claim of the call with the same subject. It waits for this
// answer as long as the tool of the last claim may run. It returns nil if there is no such answer and none can
// follow.
func (a *Attempts) awaitEarlier(ctx context.Context, in contract.ExecuteIn, subject string) (*contract.ExecuteOut, error) {
	for {
		earlier, found, err := a.Store.Earlier(ctx, EarlierRow{
			InvocationID: in.Facts.InvocationID, TenantID: in.Facts.Context.TenantID, Epoch: in.Epoch, Answered: in.Answered, Subject: subject,
		})
		switch {
		case err != nil:
			return nil, err
		case found && earlier.Answer != nil && earlier.Subject == subject:
			var kept contract.ExecuteOut
			if err := json.Unmarshal(earlier.Answer, &kept); err != nil {
				return nil, err
			}
			kept.ClaimID, kept.Dispatch = earlier.ID, earlier.Dispatch
			a.Log.InfoContext(ctx, "the answer of an attempt whose workflow task was lost is used", "invocationId", in.Facts.InvocationID, "dispatch", earlier.Dispatch)
			return &kept, nil
		case !found || earlier.Answer != nil || earlier.Runs <= 0:
			return nil, nil
		}
		select {
		case <-time.After(min(earlier.Runs, earlierEvery)):
		case <-ctx.Done():
			return nil, errs.Transient(ctx.Err())
		}
	}
}

// keep stores the answer of an attempt in the claimed lane, for the next execution if the workflow task is
// lost. It does not keep the answer of an attempt that was stopped, because it says nothing about the effect.
// It keeps no challenge, because a challenge is neither redacted nor searched for secrets. It removes live secrets
// from the kept answer itself, because the answer of the activity is searched for them only later. Without a kept
// answer, the attempt is lost if its workflow task is lost.
func (a *Attempts) keep(ctx context.Context, in contract.ExecuteIn, claimID, subject string, out contract.ExecuteOut) {
	if out.Outcome != contract.Done && out.Outcome != contract.Refused || out.Challenge {
		return
	}
	encoded, err := contract.Encode(out)
	answer, clean := redact.JSON(encoded.Payload().GetData(), a.Secrets)
	if err == nil && clean && len(answer) <= maxKept {
		soon, cancel := context.WithTimeout(ctx, keepTime)
		defer cancel()
		err = a.Store.Keep(soon, KeepRow{
			InvocationID: in.Facts.InvocationID, Claim: contract.Claim{Dispatch: in.Dispatch, ID: claimID}, Subject: subject, Answer: answer,
		})
	}
	if err != nil || !clean || len(answer) > maxKept {
		a.Log.WarnContext(ctx, "the answer of an attempt is not kept; if its workflow task is lost, so is the attempt",
			"invocationId", in.Facts.InvocationID, "dispatch", in.Dispatch, "bytes", len(answer), "secret", !clean, "reason", errs.Reason(err))
	}
}
