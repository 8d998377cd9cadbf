package attempt

import (
	"context"
	"encoding/json"
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
	// Earlier reads the claims of a call that are not in Answered. It returns the claim that has a kept answer for
	// Subject. If there is no such claim, it returns the last claim. found is false if there is no claim, or if
	// another Temporal run owns the call.
	Earlier(ctx context.Context, in EarlierRow) (earlier EarlierClaim, found bool, err error)
	// Keep stores the answer of a claim until the call is settled. It stores nothing if the call is
	// settled, or if the claim does not exist.
	Keep(ctx context.Context, in KeepRow) error
	// Begin writes the event that shows the watchers of a run that a call has started, for a call without a claim. A
	// second Begin writes nothing.
	Begin(ctx context.Context, in BeginRow) error
	// ReportProgress writes an event of a call that runs. watched reports whether somebody watches the run; if
	// nobody does, ReportProgress writes nothing.
	ReportProgress(ctx context.Context, in ProgressRow) (watched bool, err error)
	Check(ctx context.Context, in contract.CheckIn) (contract.CheckOut, error)
	output.Store
	// NewOutput returns a writer of the stream of an attempt. It stores nothing yet.
	NewOutput(in StreamRow) OutputWriter
}

// OutputWriter stores the stream of an attempt, from which its caller has removed credentials and texts to mask.
// Only one goroutine may use it. It tries again for a short time while the database does not answer. The error of
// Write and Finish wraps output.ErrQuota if the tenant has no storage left. After an error the stream can only be
// discarded.
type OutputWriter interface {
	// Write appends bytes. It does not keep p.
	Write(ctx context.Context, p []byte) error
	// Finish makes the stream readable as a whole, and returns its reference; "" if nothing was written.
	Finish(ctx context.Context, mediaType string) (ref string, err error)
	// Discard deletes what was stored.
	Discard(ctx context.Context) error
}

// StreamRow describes the stream of an attempt.
type StreamRow struct {
	InvocationID string
	TenantID     string
	Dispatch     int
	// ClaimID is the id of the claim of this execution, or a random text without a claim.
	ClaimID string
	// MediaType is the media type that readers see until the stream is finished.
	MediaType string
	// Text says that the store counts newlines.
	Text bool
}

// ClaimRow claims a dispatch before the tool runs. The answer is Done, Superseded, Claimed,
// Redelivered, Tombstoned, Killed, Unleased or Refused.
type ClaimRow struct {
	InvocationID string
	TenantID     string
	ToolID       string
	// SafeArgs are the masked arguments, for the start event of the call.
	SafeArgs json.RawMessage
	Epoch    int
	Dispatch int
	// ClaimID is random, and new for each claim.
	ClaimID string
	// Effect is the effect of the tool in this worker. A kill switch may name it.
	Effect toolspec.Effect
	// Repeatable says that earlier claims without an answer do not matter. Otherwise every
	// earlier claim must be in Answered.
	Repeatable bool
	// Answered are the earlier claims of the call whose answers the workflow has.
	Answered []contract.Claim
	// Subject is set in the claimed lane: it is the digest of what the attempt runs (permit.subject). The
	// answer is then also Claimed if an earlier claim that is not in Answered has a kept answer for this
	// subject, or has no kept answer and its tool may still run.
	Subject string
	// Runtime is how long the attempt may take. The claim extends the slots of the call by this
	// time. If the call has lost a slot, the answer is Unleased.
	Runtime time.Duration
	// ApprovalID is the approval request of the call; empty if there is none. It must be approved, for ApprovalDigest
	// and PreviewDigest, or the answer is Refused. The claim records which dispatch has used the approval.
	ApprovalID     string
	ApprovalDigest string
	PreviewDigest  string
}

// EarlierRow asks for an earlier claim of a call in the claimed lane.
type EarlierRow struct {
	InvocationID, TenantID string
	Epoch                  int
	Answered               []contract.Claim
	// Subject is the digest of what the attempt runs.
	Subject string
}

// EarlierClaim is a claim whose answer the Temporal run of the call does not have.
type EarlierClaim struct {
	contract.Claim
	// Answer is the kept answer; nil if there is none.
	Answer json.RawMessage
	// Subject is the digest of what the attempt with the kept answer ran.
	Subject string
	// Runs is how long the tool may still run; 0 if it has ended.
	Runs time.Duration
}

// KeepRow keeps the answer of a claim. Answer is the answer that the workflow gets, so it is redacted.
type KeepRow struct {
	InvocationID string
	contract.Claim
	Subject string
	Answer  json.RawMessage
}

// BeginRow describes the start event of a call in the local lane, which has no claim.
type BeginRow struct {
	InvocationID, TenantID string
	Epoch                  int
	// SafeArgs are the masked arguments.
	SafeArgs json.RawMessage
}

// ProgressRow is a report of a running tool, without secrets.
type ProgressRow struct {
	InvocationID, TenantID, RunID string
	Epoch                         int
	Progress                      toolspec.Progress
}

// OutputRow is a redacted value to store.
type OutputRow = output.Row
