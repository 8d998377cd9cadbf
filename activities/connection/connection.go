package connection

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Broker leases connections to attempts.
type Broker interface {
	// Lease answers broker.Leased with a lease, which the caller closes, or another answer that
	// says why there is no lease. An error that a retry can correct is marked errs.Transient.
	Lease(ctx context.Context, r broker.Request) (*broker.Lease, broker.Answer, error)
}

const (
	// mark is the key of the scratchpad entry with which Mark marks a call.
	mark = "pawl.connection"
	// leaseMargin is how long a lease outlasts the budget of its attempt.
	leaseMargin = 10 * time.Second
	// leaseTime bounds the wait for a lease whose token is being refreshed. The attempt sends no heartbeat while
	// it waits, so leaseTime is well below the time after which Temporal counts the activity as lost.
	leaseTime = 3 * time.Second
	// localLeaseTime is leaseTime for the local lane, in which an attempt has less time in all.
	localLeaseTime = time.Second
)

// Mark is Pawl's step at willInjectSecrets. It marks a call that may use its connection. Execute leases the
// connection for each attempt; no credential is read before that.
func Mark(context.Context, hook.StageInput) (v hook.Verdict, err error) {
	v.Delta.Data = []hook.Entry{{Key: mark, Value: json.RawMessage("true")}}
	return v, nil
}

// Leases leases connections. Both fields are needed.
type Leases struct {
	Broker   Broker
	Policies judge.Policies
}

// Lease leases the connection of the call for one attempt, if Mark marked the call and the tool
// uses connections; otherwise it returns nothing. If the call may not have the connection, out is
// the answer of the attempt. The roles that may use the connection are those of the policy version
// policyDigest. Lease comes before the claim, so without a lease nothing has begun. An error that
// a retry can correct is marked errs.Transient.
func (l *Leases) Lease(ctx context.Context, in contract.ExecuteIn, policyDigest string, bound *catalog.Bound) (lease *broker.Lease, out *contract.ExecuteOut, err error) {
	f := in.Facts
	if !judge.UsesConnection(bound.Definition()) || !slices.ContainsFunc(f.Data, func(e hook.Entry) bool { return e.Key == mark }) {
		return nil, nil, nil
	}
	timeout := leaseTime
	if in.Dispatch == 0 {
		timeout = localLeaseTime
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p, err := l.Policies.Policy(ctx, policyDigest)
	if err != nil {
		return nil, nil, err
	}
	r := broker.Request{
		InvocationID: f.InvocationID, TenantID: f.Context.TenantID, ConnectionID: f.Context.ConnectionID, Holder: broker.Holder(f.Context),
		Scopes: bound.Definition().Scopes, Epoch: in.Epoch, Round: f.Attempt, Lasts: time.Duration(in.MaxRuntimeMs)*time.Millisecond + leaseMargin,
		Repeatable: bound.Definition().Repeatable() && !in.Once,
	}
	if f.Approval != nil {
		r.Generation = f.Approval.Generation
	}
	for _, role := range p.Roles(r.TenantID, r.Holder) {
		r.Roles = append(r.Roles, broker.RolePrefix+role)
	}
	lease, answer, err := l.Broker.Lease(ctx, r)
	if err != nil || answer == broker.Leased {
		return lease, nil, err
	}
	return nil, refusal(answer, r.ConnectionID), nil
}

// refusal returns how an attempt without a lease of the connection ends.
func refusal(answer broker.Answer, connectionID string) *contract.ExecuteOut {
	var f hook.Failure
	switch answer {
	case broker.Superseded:
		return &contract.ExecuteOut{Outcome: contract.Superseded}
	case broker.NeedsReauth:
		f = judge.Reauth(connectionID)
	case broker.Changed:
		f = hook.Failure{Code: toolspec.CodeApprovalStale, SafeMessage: "What was approved has changed: its connection"}
	default:
		f = judge.NoGrant()
	}
	return &contract.ExecuteOut{Outcome: contract.Refused, Failure: &f}
}
