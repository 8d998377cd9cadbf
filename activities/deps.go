package activities

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

// Source finds bound tools. It is the only way to one.
type Source interface {
	Get(toolID string) (*catalog.Bound, bool)
}

// Policies holds policy versions by digest.
type Policies interface {
	// Policy returns the compiled version; hook.Transient marks a store that is
	// away, ErrPolicyUnreadable a version that another worker may be able to read.
	// The empty digest is the policy that denies everything.
	Policy(ctx context.Context, digest string) (*policy.Policy, error)
}

// ErrPolicyUnreadable says that a stored version does not compile here: a newer
// release has written it, in words that this one does not know.
var ErrPolicyUnreadable = errors.New("this worker cannot read the policy version")

// Records keeps invocations, approvals and what came of them. Every statement
// names (invocation, epoch) and is one guarded write whose answer the caller
// obeys. An error that passes by itself is marked hook.Transient.
type Records interface {
	Admit(ctx context.Context, in AdmitRow) (Record, error)
	// Refuse notes input that gets no record: it has no trustworthy identity.
	Refuse(ctx context.Context, in RefusedInput) error
	Claim(ctx context.Context, in ClaimRow) (workflows.Outcome, error)
	Check(ctx context.Context, in workflows.CheckIn) (workflows.CheckOut, error)
	Settle(ctx context.Context, in workflows.SettleIn) (workflows.SettleOut, error)
	Request(ctx context.Context, in RequestRow) (RequestRecord, error)
	// Roles returns the roles that relations give an identity, each as role:NAME.
	Roles(ctx context.Context, tenantID, identity string) ([]string, error)
	// Grants returns the remembered approvals that the call might be covered by.
	Grants(ctx context.Context, q GrantQuery) ([]Grant, error)
	Review(ctx context.Context, in ReviewRow) (ReviewRecord, error)
	// SaveOutput keeps a redacted value that is too large for a payload and
	// returns its reference. The same (invocation, dispatch) overwrites.
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
	// Result is there if the row is settled.
	Result *toolspec.Result
	Epoch  int
	Rounds workflows.Rounds
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

// ClaimRow claims a dispatch before the tool runs. The answer is Done,
// Superseded, Claimed, Tombstoned, Killed or Unleased.
type ClaimRow struct {
	InvocationID string
	Epoch        int
	Dispatch     int
	// Effect is that of the tool as it is now: a kill switch may be for it.
	Effect toolspec.Effect
	// Repeatable says that earlier unanswered claims do not matter; else only
	// those listed in Answered do not.
	Repeatable bool
	Answered   []int
	// Runtime is how long the attempt may take. What the call holds of limited
	// capacity is its own for as long; where that is lost, the answer is Unleased.
	Runtime time.Duration
	// ApprovalID, if any, must be approved, and is consumed by the same
	// statement. Where it is not, the answer is Refused.
	ApprovalID string
}

// RequestRow opens an approval request.
type RequestRow struct {
	InvocationID string
	TenantID     string
	Epoch        int
	// Last is the last number this run knows; a request that an earlier run
	// opened for the same digest and that is still open or approved is found
	// again, whatever its number.
	Last int
	// Edits are numbers of requests for which the run has an edit once more. One
	// for the same digest that was edited is found again too.
	Edits    []int
	View     toolspec.ApprovalView // ApprovalID and ExpiresAtMs are filled in
	Granted  hook.GrantedApproval  // ApprovalID is filled in
	Rule     policy.ApprovalRule
	EditedBy string
	// OnBehalfOf is the subject of the call, if it has one.
	OnBehalfOf  string
	PolicyRule  string
	PolicyID    string
	ExpireAfter time.Duration
	// Hydrations are written along, also where the request is found again.
	Hydrations []workflows.Hydration
	// Remembered is the grant that answers the request if it still stands, or empty.
	Remembered string
}

// GrantQuery asks for the remembered approvals of a tool that an actor may use.
type GrantQuery struct{ TenantID, ToolID, ActorID, SessionID string }

// RequestRecord is the request that stands, or Superseded.
type RequestRecord struct {
	Superseded bool
	Number     int
	CreatedAt  time.Time
	ExpiresAt  time.Time
	Remaining  time.Duration
	// State is open, or how the request was answered.
	State    workflows.RequestState
	Approver string
	// Granted is as recorded when the request was opened.
	Granted hook.GrantedApproval
}

// ReviewRow brings a decision, or a look without one, to a request. The store
// calls Judge with the request as it stands, and writes what it says.
type ReviewRow struct {
	InvocationID string
	TenantID     string
	ApprovalID   string
	Epoch        int
	Gate         int
	Capacity     int
	Decision     *toolspec.Decision
	// KeyID is the key that the decision's proof says it is signed with, if any.
	KeyID string
	// Close, without a decision, closes the request: nobody needs to decide.
	Close bool
	// Judge says whether the decision counts, given the request's own rule. It is
	// asked again where another decision has counted meanwhile.
	Judge func(OpenRequest) (Judgement, error)
}

// OpenRequest is what a judge may know of a request.
type OpenRequest struct {
	Rule        policy.ApprovalRule
	RequestedBy string
	EditedBy    string
	OnBehalfOf  string
	// Parked says why the outcome is unknown, where that is the question.
	Parked string
	// Digest is what the decision is about, and Granted what an approval covers.
	Digest  string
	Granted hook.GrantedApproval
	// PolicyDigest is the active policy.
	PolicyDigest string
	// Votes are the approvals that have counted.
	Votes []policy.Vote
	// Key is what the tenant has registered under the id, or nil.
	Key *proof.Registered
	// Now is the database's clock, and Waited how long by it the request is open.
	Now    time.Time
	Waited time.Duration
}

// Judgement is what comes of a decision. One that is to be sent again is not written
// down.
type Judgement struct {
	toolspec.Answer
	// Final says that it answers the request for good.
	Final bool
	// Seat is the place in the chain of approvers that an approval counts for.
	Seat int
	// Signed says that the proof of the approver was verified, and KeyID with which key.
	Signed bool
	KeyID  string
	// Grant is what an approval leaves behind for later calls, or nil.
	Grant *GrantRow
}

// ReviewRecord is how the request stands, or Superseded.
type ReviewRecord struct {
	Superseded bool
	Answer     toolspec.Answer
	State      workflows.RequestState
	// PolicyDigest is the active policy, read by the same statement.
	PolicyDigest string
	// Kills are read no later than the pointer.
	Kills []hook.Kill
	// Connection is read no later either.
	Connection *hook.Connection
	Remaining  time.Duration
	Approver   string
}

// OutputRow is a redacted value to keep outside of payloads.
type OutputRow struct {
	InvocationID string
	TenantID     string
	Dispatch     int
	Value        json.RawMessage
}

// Owners asks Temporal for the workflow runs that calls belong to.
type Owners interface {
	// Owner describes a run of the workflow, the latest one without a run id. An
	// error means that nobody knows; hook.Transient marks one that is the server's
	// and not this workflow's.
	Owner(ctx context.Context, workflowID, runID string) (Owner, error)
}

// Upkeep is what the sweeper does to the record. Each is one bounded step that
// may run at any time and twice at once.
type Upkeep interface {
	// OpenCalls returns a page of the open calls of a namespace, oldest first.
	OpenCalls(ctx context.Context, page OpenPage) ([]OpenCall, error)
	// Sweep settles a call whose workflow is over and returns the code that it
	// ended with, or "" where the record has moved on.
	Sweep(ctx context.Context, in SweepRow) (toolspec.Code, error)
	// ReleaseExpired takes back places at up to most semaphores that expired with
	// nobody to give them back, hands them on, and returns how many there were.
	ReleaseExpired(ctx context.Context, most int) (int, error)
	// DeleteIdleCapacity deletes up to most rows each of quotas and semaphores that
	// say no more than none would, and returns how many.
	DeleteIdleCapacity(ctx context.Context, most int) (int, error)
	// DeleteOldSessions deletes up to most bindings of sessions that nobody uses any
	// more, and returns how many.
	DeleteOldSessions(ctx context.Context, most int) (int, error)
	// EnsurePartitions makes those of this month and of the months ahead.
	EnsurePartitions(ctx context.Context, months int) error
	// DeleteExpiredCalls deletes settled calls that are older than days, a batch
	// of at most most, and returns how many.
	DeleteExpiredCalls(ctx context.Context, days, most int) (int, error)
	// DeleteExpiredRows is the same for rows in DEFAULT partitions; a batch of
	// each table.
	DeleteExpiredRows(ctx context.Context, days, most int) (int, error)
	// DeleteExpiredCache deletes values of the result cache that are past their
	// time, a batch of at most most, and returns how many.
	DeleteExpiredCache(ctx context.Context, most int) (int, error)
	// DropExpiredPartitions drops those that nobody needs. One that is in use is
	// counted as busy and left.
	DropExpiredPartitions(ctx context.Context, days int) (DroppedPartitions, error)
}

// OpenPage asks for open calls.
type OpenPage struct {
	Namespace string
	// After is the last call of the page before, or nil.
	After *OpenCall
	// Until leaves out calls that were made later; the zero time does not.
	Until time.Time
	Limit int
}

// OpenCall is a call that nobody has settled.
type OpenCall struct {
	InvocationID string
	WorkflowID   string
	// RunID is of the run that admitted it last.
	RunID     string
	Epoch     int
	CreatedAt time.Time
	// SeenAt is when it was read, by the database's clock.
	SeenAt time.Time
}

// SweepRow settles a call in place of its owner.
type SweepRow struct {
	InvocationID string
	Namespace    string
	// Epoch was read before Temporal was asked.
	Epoch int
	// Cause is how the owner ended.
	Cause OwnerStatus
	// Code is how the call ends, unless its effect may have happened.
	Code toolspec.Code
}

// DroppedPartitions counts.
type DroppedPartitions struct{ Dropped, Busy int }
