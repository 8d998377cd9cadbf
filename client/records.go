package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
)

// MaxList bounds the calls or approval requests of one list.
const MaxList = 500

// Records reads the record of calls. Package client/postgres implements it.
type Records interface {
	// Calls returns the tenant's calls, newest first.
	Calls(ctx context.Context, f CallFilter) ([]CallSummary, error)
	// Call returns a call of the tenant by its invocation id, its workflow id or its toolCallId,
	// and ErrNotFound if no call matches. If several calls match, it returns the newest.
	Call(ctx context.Context, tenantID, id string) (CallRecord, error)
	// Approvals returns the tenant's approval requests, newest first.
	Approvals(ctx context.Context, f ApprovalFilter) ([]ApprovalRecord, error)
}

// CallFilter narrows a list of calls. Zero fields do not narrow it.
type CallFilter struct {
	// TenantID is required.
	TenantID string
	Status   toolspec.Status
	// Outcome is ok or an error code.
	Outcome string
	ToolID  string
	// After is the last call of the previous page. The list continues with older calls.
	After *CallSummary
	// Limit is 1–MaxList; 0 means 50.
	Limit int
}

// ApprovalFilter narrows a list of approval requests.
type ApprovalFilter struct {
	// TenantID is required.
	TenantID string
	// RunID leaves out the requests of calls with another run id; empty means all runs. If a run has called
	// another agent, the calls of that agent have the run id of the calling run, so their requests are in the list
	// too.
	RunID string
	// Decided adds the requests that no decision can change any more.
	Decided bool
	// After is the last request of the previous page. The list continues with older requests.
	After *ApprovalRecord
	// Limit is 1–MaxList; 0 means MaxList.
	Limit int
}

// Calls lists the calls of a tenant from the record, newest first.
func (c *Client) Calls(ctx context.Context, f CallFilter) ([]CallSummary, error) {
	if c.records == nil {
		return nil, fmt.Errorf("client: calls: %w", ErrNoRecords)
	}
	if f.TenantID == "" {
		return nil, errors.New("client: calls: the filter needs a TenantID")
	}
	return c.records.Calls(ctx, f)
}

// Call returns everything that the record has about a call of a tenant. id is the invocation id, the
// workflow id, the toolCallId or the id of an approval request of the call. A call that the tenant
// does not have is ErrNotFound.
func (c *Client) Call(ctx context.Context, tenantID, id string) (CallRecord, error) {
	if c.records == nil {
		return CallRecord{}, fmt.Errorf("client: call: %w", ErrNoRecords)
	}
	if tenantID == "" {
		return CallRecord{}, errors.New("client: call: it needs a tenant")
	}
	if invocationID, _, ok := toolspec.SplitApprovalID(id); ok {
		id = invocationID
	}
	return c.records.Call(ctx, tenantID, id)
}

// Approvals lists the approval requests of a tenant from the record, newest first: the requests that
// wait for a decision, and with f.Decided also the others. Decide takes the WorkflowID, the
// ApprovalID and the Digest of a request.
func (c *Client) Approvals(ctx context.Context, f ApprovalFilter) ([]ApprovalRecord, error) {
	if c.records == nil {
		return nil, fmt.Errorf("client: approvals: %w", ErrNoRecords)
	}
	if f.TenantID == "" {
		return nil, errors.New("client: approvals: the filter needs a TenantID")
	}
	return c.records.Approvals(ctx, f)
}
