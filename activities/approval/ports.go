package approval

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/preview"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Requests stores approval requests and the decisions on them. Each write is one statement. It names the
// invocation and its epoch, and writes nothing if the record has another epoch, or if another Temporal run
// executes the call (contract.Executing). The result of the method says whether the statement has written. An
// error that a retry can correct is marked errs.Transient.
type Requests interface {
	// Request opens a request, or returns an earlier request for the same digest and the same EditedBy.
	Request(ctx context.Context, in RequestRow) (RequestRecord, error)
	// Roles returns the roles that relations give to an identity, each as role:NAME.
	Roles(ctx context.Context, tenantID, identity string) ([]string, error)
	// Grants returns the remembered approvals that may cover the call.
	Grants(ctx context.Context, q GrantQuery) ([]Grant, error)
	// Look reads a request. If the record already has the decision of the row, Look also
	// returns the answer that the decision got.
	Look(ctx context.Context, in LookRow) (LookRecord, error)
	// Decide writes a decision and whether it counts. If another decision has been counted
	// since the request was read, Decide writes nothing and answers Stale.
	Decide(ctx context.Context, in DecideRow) (DecideRecord, error)
}

// Parts are the dependencies of Approvals. All except PolicyEngines and IDTokens are required.
type Parts struct {
	Requests Requests
	Policies judge.Policies
	// PolicyEngines returns the engine that gives the verdicts of a policy version. nil means Pawl's own engine.
	PolicyEngines policy.Engines
	Tools         judge.Source
	Previews      *preview.Previews
	// IDTokens verifies the ID tokens of approvers. If it is nil, no ID token counts.
	IDTokens IDTokens
	// Validate validates arguments for a tool. It returns the valid arguments, and in safe the
	// arguments as people may see them.
	Validate func(bound *catalog.Bound, raw json.RawMessage) (args, safe json.RawMessage, f *hook.Failure)
	Log      *slog.Logger
}

// policy returns a version of the policy. If this worker cannot read the version, the error is transient: another worker may
// be able to read it.
func (p Parts) policy(ctx context.Context, digest string) (*policy.Policy, error) {
	version, err := p.Policies.Policy(ctx, digest)
	return version, judge.MarkUnreadable(err)
}

// Approvals opens approval requests and verifies decisions on them.
type Approvals struct{ parts Parts }

// New makes the activities of approvals.
func New(p Parts) *Approvals { return &Approvals{p} }

// Register binds the activities.
func (a *Approvals) Register(r contract.Registry) {
	contract.Bind(r, contract.Request, a.parts.Log, a.Request)
	contract.Bind(r, contract.Review, a.parts.Log, a.Review)
}

// RequestRow describes an approval request that Requests.Request opens or finds again.
type RequestRow struct {
	InvocationID string
	TenantID     string
	Epoch        int
	// Last is the number of the last request of the call that this Temporal run knows. A new request gets the next
	// number. But if the record has a request for the same digest and the same EditedBy, for example from an earlier
	// Temporal run, Pawl uses that request again, whatever its number is, also if people have decided on it: so they
	// are not asked twice. If the record has only other requests after Last, they stay as they are, and the answer is
	// Superseded: the run admits the call again, and then knows their numbers.
	Last int
	// Edits are the numbers of the requests that approvers have answered with an edit, if this Temporal run has the
	// edit. Pawl uses an edited request again only if Edits has its number.
	Edits []int
	// View has no ApprovalID and no ExpiresAtMs: the caller adds them to the view that it returns.
	View toolspec.ApprovalView
	// Granted has no ApprovalID. The record adds it.
	Granted     hook.GrantedApproval
	Rule        policy.ApprovalRule
	EditedBy    string
	PolicyRule  string
	PolicyID    string
	ExpireAfter time.Duration
	// Hydrations are written to the record by the same statement, also if Pawl uses an earlier request again.
	Hydrations []contract.Hydration
	// Remembered is the ID of the remembered approval (Grant) that approves the request at once, if it is still
	// valid at the time of the write. Empty means that people are asked.
	Remembered string
	// GivesBack says that the same transaction gives back the capacity of the call: its slots, its places in queues,
	// and its tokens if no attempt was made. A request of a parked call always gives back the slots.
	GivesBack bool
	// Capacity is the round of the capacity that is given back. A late try of this activity may write when the
	// call has acquired capacity again. That capacity has a later round, so the late try does not give it back.
	Capacity int
}

// GrantQuery selects the remembered approvals of a tool that apply to an actor in a
// session. ArgsDigest is the digest of the arguments; an approval that is limited to other
// arguments is left out.
type GrantQuery struct{ TenantID, ToolID, ActorID, SessionID, ArgsDigest string }

// RequestRecord is the request that was opened or found again. Superseded says that a newer run owns the
// call, or that the call has a later request than RequestRow.Last; then all other fields are empty.
type RequestRecord struct {
	Superseded bool
	Number     int
	CreatedAt  time.Time
	ExpiresAt  time.Time
	Remaining  time.Duration
	// State is open, or the state that ended the request.
	State    contract.RequestState
	Approver string
	// Granted, Rule and Preview have the values that were recorded when the request was opened.
	Granted hook.GrantedApproval
	Preview *toolspec.PreviewView
	Rule    policy.ApprovalRule
	Keys    RequestKeys
}

// LookRow says which request of a call to read.
type LookRow struct {
	InvocationID string
	TenantID     string
	// ApprovalID is the request. It is empty if the call has no open request.
	ApprovalID string
	Epoch      int
	// Gate and Capacity are the last numbers of contract.Rounds that this Temporal run has used. Look writes them to
	// the record, so that a run that takes over the call continues from them.
	Gate     int
	Capacity int
	// Decision is the decision to judge, or nil. Look writes no decision.
	Decision *toolspec.Decision
	// KeyID is the ID of the key that the proof of the decision names, not yet verified.
	// KeyID is empty if the proof names no key.
	KeyID string
	// Close asks the store to close the request, because the call needs no decision any
	// more. It has no effect with a Decision.
	Close bool
	// Refresh asks for LookRecord.Request and LookRecord.Keys, from which the caller learns which
	// decisions can count on the request.
	Refresh bool
}

// LookRecord is the state of a request. Superseded says that a newer run owns the call; then all other
// fields are empty.
type LookRecord struct {
	Superseded bool
	State      contract.RequestState
	Approver   string
	Remaining  time.Duration
	// PolicyDigest is the digest of the active policy, read by the same statement.
	PolicyDigest string
	// Kills are the kill switches of the call, read no later than PolicyDigest.
	Kills []hook.Kill
	// Connection is the connection of the call, read no later than PolicyDigest.
	Connection *hook.Connection
	// Recorded is the answer to the decision if the record has the decision already.
	Recorded *toolspec.Answer
	// Request is the request. It is set if the decision is new or Refresh asks for it.
	Request *OpenRequest
	// Votes is the number of decisions that have counted.
	Votes int
	// Keys are the keys of the tenant. They are set if Refresh asks for them.
	Keys RequestKeys
}

// DecideRow is a decision with its judgement, to be written to a request.
type DecideRow struct {
	InvocationID string
	TenantID     string
	ApprovalID   string
	Epoch        int
	Decision     toolspec.Decision
	Judgement    Judgement
	// Becomes is the state of the request after a decision that counts and is final.
	Becomes contract.RequestState
	// Votes is LookRecord.Votes of the look that the judgement is based on.
	Votes int
}

// DecideRecord is the answer of the record to a decision: the state of the request after it.
// If Superseded or Stale is set, nothing was written and the other fields are empty.
type DecideRecord struct {
	Superseded bool
	// Stale says that another decision has counted since the look: nothing was written.
	Stale  bool
	Answer toolspec.Answer
	State  contract.RequestState
	// PolicyDigest is the digest of the active policy, read by the same statement.
	PolicyDigest string
	Remaining    time.Duration
	Approver     string
}

// OpenRequest is the part of a request that the judgement of a decision may use.
type OpenRequest struct {
	Rule        policy.ApprovalRule
	RequestedBy string
	EditedBy    string
	OnBehalfOf  string
	// Parked says why the outcome of a parked call is unknown. It is empty for a request
	// for an approval.
	Parked string
	// Digest is the digest of the request: it identifies the call that an approver saw.
	Digest string
	// Granted has what an approval of the request covers, such as the tool, the risk and the connection.
	Granted hook.GrantedApproval
	// PolicyDigest is the digest of the active policy.
	PolicyDigest string
	// Votes are the approvals that have counted.
	Votes []policy.Vote
	// Key is the key that the tenant has registered under KeyID, or nil.
	Key *proof.Registered
	// Now is the time of the database's clock.
	Now time.Time
	// Waited is how long the request has been open, by the database's clock.
	Waited time.Duration
}

// Judgement is the result of judging a decision. A judgement with Again is not written: the sender sends the
// same decision again.
type Judgement struct {
	toolspec.Answer
	// Final says that the decision, if it counts, ends the request.
	Final bool
	// Entry and HookEntries name the entries of the chain of policy and of the chains of hooks for which an
	// approval counts: see policy.Vote.
	Entry       int
	HookEntries []int
	// Signed says that the proof of the approver was verified.
	Signed bool
	// KeyID is the ID of the key that verified the proof; empty without a verified proof.
	KeyID string
	// Grant is the remembered approval to write for later calls, or nil.
	Grant *GrantRow
}
