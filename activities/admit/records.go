package admit

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Records finds and makes the records of calls. An error that a retry can correct is marked
// errs.Transient.
type Records interface {
	Admit(ctx context.Context, in Row) (Record, error)
	// Refuse notes input that gets no record, because its identity cannot be trusted.
	Refuse(ctx context.Context, in Refused) error
}

// Workers knows the workers that run now.
type Workers interface {
	// IsLive reports whether a live worker of the namespace has the tool.
	IsLive(ctx context.Context, namespace, toolID string) (bool, error)
	// PoolsOf returns the pools of the namespace that have a running worker with the tool. The shared queue
	// is "".
	PoolsOf(ctx context.Context, namespace, toolID string) ([]string, error)
}

// Row is a call as it arrived.
type Row struct {
	InvocationID string
	InputDigest  string
	WorkflowID   string
	// RunID is the id of the Temporal run, for people only.
	RunID string
	// Namespace is the namespace of the workflow.
	Namespace  string
	Invocation toolspec.Invocation
	Plan       hook.Plan
	StartedAt  time.Time
}

// Record is the row after Admit.
type Record struct {
	// Digest is the input digest of the row. If it differs from the digest of this call,
	// another call has taken the id.
	Digest string
	// Elsewhere says that the call is open and belongs to a workflow of another Temporal namespace.
	Elsewhere bool
	// Result is nil unless the row is settled.
	Result *toolspec.Result
	// Watched says that somebody watches the events of the run.
	Watched bool
	Epoch   int
	// Rounds are the last numbers that the call has used, before this Temporal run.
	Rounds contract.Rounds
	// Plan is the plan that the first Admit of the call recorded.
	Plan hook.Plan
	// PolicyDigest is the active policy version; it is empty if there is none.
	PolicyDigest string
	// Kills are the kill switches that are on for the call's tenant and tool.
	Kills []hook.Kill
	// Connection is the state of the call's connection; nil if it has none.
	Connection *hook.Connection
}

// Refused describes input that is refused. It has nothing of the input itself.
type Refused struct {
	WorkflowID, RunID string
	Code              toolspec.Code
	// Reason is safe to show.
	Reason string
	Bytes  int
}
