package activities

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
	// Lease answers broker.Leased with a lease, which the caller closes, or says why
	// there is none. An error that passes by itself is marked errs.Transient.
	Lease(ctx context.Context, r broker.Request) (*broker.Lease, broker.Answer, error)
}

const (
	// connectionMark is the entry of the scratchpad with which markConnection marks a call.
	connectionMark = "pawl.connection"
	// leaseMargin is how long a lease outlasts the budget of its attempt.
	leaseMargin = 10 * time.Second
	// leaseTime bounds the wait for a lease, whose token may be being refreshed, as
	// claimTime does for the claim; in the local lane the attempt has less to spare.
	leaseTime      = 3 * time.Second
	localLeaseTime = time.Second
)

// markConnection is Pawl's step at willInjectSecrets. It marks that the call is to have its
// connection. Execute then leases the connection for each attempt, and no credential is
// near before (contradiction C-05).
func markConnection(context.Context, hook.StageInput) (v hook.Verdict, err error) {
	v.Delta.Data = []hook.Entry{{Key: connectionMark, Value: json.RawMessage("true")}}
	return v, nil
}

// lease takes the call's connection for one attempt, where willInjectSecrets
// marked it. It stands before the claim: where there is no lease, nothing has
// begun. out is how the attempt ends then.
//
// The roles that may use the connection are those of the policy that judged.
func (a *Activities) lease(ctx context.Context, in contract.ExecuteIn, policyDigest string, bound *catalog.Bound) (_ *broker.Lease, out *contract.ExecuteOut) {
	f := in.Facts
	if a.config.Broker == nil || !judge.UsesConnection(bound.Definition()) || !slices.ContainsFunc(f.Data, func(e hook.Entry) bool { return e.Key == connectionMark }) {
		return nil, nil
	}
	refuse := func(f hook.Failure) *contract.ExecuteOut {
		return &contract.ExecuteOut{Outcome: contract.Refused, Failure: &f}
	}
	r := broker.Request{
		InvocationID: f.InvocationID, TenantID: f.Context.TenantID, ConnectionID: f.Context.ConnectionID, Holder: broker.Holder(f.Context),
		Scopes: bound.Definition().Scopes, Epoch: in.Epoch, Round: f.Attempt, Lasts: time.Duration(in.MaxRuntimeMs)*time.Millisecond + leaseMargin,
		Repeatable: bound.Definition().Repeatable() && !in.Once,
	}
	patient := leaseTime
	if in.Dispatch == 0 {
		patient = localLeaseTime
	}
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	if f.Approval != nil {
		r.Generation = f.Approval.Generation
	}
	p, err := a.policies.Policy(ctx, policyDigest)
	if err == nil {
		for _, role := range p.Roles(r.TenantID, r.Holder) {
			r.Roles = append(r.Roles, broker.RolePrefix+role)
		}
		var answer broker.Answer
		var lease *broker.Lease
		if lease, answer, err = a.config.Broker.Lease(ctx, r); err == nil {
			switch answer {
			case broker.Leased:
				return lease, nil
			case broker.Superseded:
				return nil, &contract.ExecuteOut{Outcome: contract.Superseded}
			case broker.NeedsReauth:
				return nil, refuse(judge.Reauth())
			case broker.Changed:
				return nil, refuse(hook.Failure{Code: toolspec.CodeApprovalStale, SafeMessage: "What was approved has changed: its connection"})
			default:
				return nil, refuse(judge.NoGrant())
			}
		}
	}
	unprovided := a.unprovided(ctx, in, err)
	return nil, &unprovided
}

// handed are the capabilities of a lease that the tool declares.
func handed(l *broker.Lease, bound *catalog.Bound) []toolspec.Provided {
	if l == nil {
		return nil
	}
	var declared []toolspec.Provided
	for _, p := range l.Provided() {
		if slices.Contains(bound.Definition().Capabilities, p.Name()) {
			declared = append(declared, p)
		}
	}
	return declared
}
