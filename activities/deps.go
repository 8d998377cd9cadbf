package activities

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Records keeps invocations, approvals and what came of them. Every statement
// names (invocation, epoch), compares the recorded run with the one that executes
// it (contract.Executing), and is one guarded write whose answer decides. An error
// that passes by itself is marked errs.Transient.
type Records interface {
	approval.Requests
	Admit(ctx context.Context, in AdmitRow) (Record, error)
	// Refuse notes input that gets no record: it has no trustworthy identity.
	Refuse(ctx context.Context, in RefusedInput) error
	// Owned returns the recorded plan of a call, and false where the record is not
	// open, is of another epoch or another call, or is not the execution's.
	Owned(ctx context.Context, in OwnedRow) (plan hook.Plan, owned bool, err error)
	// Forged notes an answer that no worker has given.
	Forged(ctx context.Context, in ForgedAnswer) error
	Claim(ctx context.Context, in ClaimRow) (contract.Outcome, error)
	Check(ctx context.Context, in contract.CheckIn) (contract.CheckOut, error)
	Settle(ctx context.Context, in contract.SettleIn) (contract.SettleOut, error)
	// SaveOutput keeps a redacted value that is too large for a payload and
	// returns its reference. The same (invocation, dispatch, claim) overwrites.
	SaveOutput(ctx context.Context, in OutputRow) (ref string, err error)
}

// AdmitRow is a call as it arrived.
type AdmitRow struct {
	InvocationID string
	InputDigest  string
	WorkflowID   string
	// RunID is Temporal's: evidence only.
	RunID string
	// Namespace is that of the workflow: where its owner is to be looked for.
	Namespace  string
	Invocation toolspec.Invocation
	Plan       hook.Plan
	StartedAt  time.Time
}

// Record is the row as it stands after Admit.
type Record struct {
	// Digest is the input digest of the row; where it differs from the call's,
	// the id is taken by another call.
	Digest string
	// Elsewhere says that an open call belongs to a workflow of another namespace:
	// this one is no run of it.
	Elsewhere bool
	// Result is there if the row is settled.
	Result *toolspec.Result
	Epoch  int
	Rounds contract.Rounds
	// Plan is the recorded one, by the first Admit.
	Plan hook.Plan
	// PolicyDigest is the active policy, "" if none is.
	PolicyDigest string
	// Kills are the kill switches that are on for the call's tenant and tool.
	Kills []hook.Kill
	// Connection is how the call's connection stands, nil without one.
	Connection *hook.Connection
}

// RefusedInput is what may be kept of input that is refused: nothing of it.
type RefusedInput struct {
	WorkflowID, RunID string
	Code              toolspec.Code
	// Reason is safe.
	Reason string
	Bytes  int
}

// OwnedRow is a call as an activity was told of it.
type OwnedRow struct {
	InvocationID string
	Epoch        int
	ToolID       string
	ToolCallID   string
	Context      toolspec.Context
}

// ForgedAnswer names the activity that somebody answered in a worker's place, and
// the answer by its digest, in hexadecimal.
type ForgedAnswer struct{ InvocationID, TenantID, Activity, Answer string }

// ClaimRow claims a dispatch before the tool runs. The answer is Done,
// Superseded, Claimed, Redelivered, Tombstoned, Killed or Unleased.
type ClaimRow struct {
	InvocationID string
	TenantID     string
	ToolID       string
	Epoch        int
	Dispatch     int
	// ClaimID is drawn at random for this very claim.
	ClaimID string
	// Effect is that of the tool as it is now: a kill switch may be for it.
	Effect toolspec.Effect
	// Repeatable says that earlier unanswered claims do not matter; else only
	// those listed in Answered do not.
	Repeatable bool
	Answered   []contract.Claim
	// Runtime is how long the attempt may take. What the call holds of limited
	// capacity is its own for as long; where that is lost, the answer is Unleased.
	Runtime time.Duration
	// ApprovalID, if any, must be approved for what has ApprovalDigest, and is
	// consumed by the same statement. Where it is not, the answer is Refused.
	ApprovalID     string
	ApprovalDigest string
}

// OutputRow is a redacted value to keep outside of payloads.
type OutputRow struct {
	InvocationID string
	TenantID     string
	Dispatch     int
	// ClaimID tells the values of two executions of one dispatch apart.
	ClaimID string
	Value   json.RawMessage
}
