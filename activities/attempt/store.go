package attempt

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/activities/output"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Store keeps the claims and the large results of attempts. An error that a retry can correct is
// marked errs.Transient.
type Store interface {
	stage.Records
	Claim(ctx context.Context, in ClaimRow) (contract.Outcome, error)
	Check(ctx context.Context, in contract.CheckIn) (contract.CheckOut, error)
	output.Store
}

// ClaimRow claims a dispatch before the tool runs. The answer is Done, Superseded, Claimed,
// Redelivered, Tombstoned, Killed, Unleased or Refused.
type ClaimRow struct {
	InvocationID string
	TenantID     string
	ToolID       string
	Epoch        int
	Dispatch     int
	// ClaimID is random, and new for each claim.
	ClaimID string
	// Effect is the effect of the tool in this worker. A kill switch may name it.
	Effect toolspec.Effect
	// Repeatable says that earlier claims without an answer do not matter. Otherwise every
	// earlier claim must be in Answered.
	Repeatable bool
	Answered   []contract.Claim
	// Runtime is how long the attempt may take. The claim extends the slots of the call by this
	// time. If the call has lost a slot, the answer is Unleased.
	Runtime time.Duration
	// ApprovalID, if any, must be approved for the call with ApprovalDigest; the same
	// statement consumes it. If it is not approved, the answer is Refused.
	ApprovalID     string
	ApprovalDigest string
}

// OutputRow is a redacted value to store.
type OutputRow = output.Row
