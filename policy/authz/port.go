package authz

import "context"

// Execute is the permission to run a tool. There is no other permission.
const Execute = "tool.execute"

// Port is an authorization engine. Pawl asks it about every call that policy does not deny, before
// it reads the arguments, and again after every wait. Many goroutines may call Check at the same
// time.
//
// If Check returns an error, panics or does not return in time, Pawl asks again until the deadline
// of the call, and does not run the tool until then. An engine must not cache its answers, because
// a revoked permission must count at the next question.
type Port interface {
	Check(ctx context.Context, r Request) (Decision, error)
}

// Request is the question.
type Request struct {
	// TenantID is the tenant. It is the scope of all other ids: the same actor id in another
	// tenant is another actor.
	TenantID string
	// ActorID is the identity that calls.
	ActorID string
	// SubjectID is the identity for whom the actor calls, or empty. If it is set, the actor needs
	// the permission and also a delegation of the subject.
	SubjectID string
	// Submitter is the id of the key with which a trusted submitter vouched for SubjectID. It is
	// set if SubjectID is set.
	Submitter string
	// Permission is Execute.
	Permission string
	// ToolID is the id of the tool.
	ToolID string
	// ConnectionID, GraphID, SessionID and RunID are the ids in the context of the call. Only
	// RunID is always set.
	ConnectionID, GraphID, SessionID, RunID string
	// Basis is the source of permissions that the policy of the tenant names.
	Basis Basis
}

// Basis is the source of the permissions of a tenant.
type Basis string

const (
	// ByPolicy says that policy alone decides: each actor of the tenant may make each call that
	// policy does not deny. The engine still verifies delegations.
	ByPolicy Basis = "policy"
	// ByRelations says that an actor may run only the tools that a relation permits.
	ByRelations Basis = "relations"
)

// Decision is the answer of an engine. The zero value denies.
type Decision struct {
	Allowed bool
	// Lacks says what is missing if Allowed is false. It changes only the message of the failure.
	Lacks Lack
}

// Lack names what a denied call lacks.
type Lack string

// The values of Lack.
const (
	// Permission: the actor may not run the tool.
	Permission Lack = "permission"
	// Delegation: the subject has not delegated the tool to the actor, or has revoked the
	// delegation.
	Delegation Lack = "delegation"
	// Trust: no trusted submitter vouches for the subject.
	Trust Lack = "trust"
)

// Allow returns the decision that allows the call.
func Allow() Decision { return Decision{Allowed: true} }

// Deny returns the decision that denies the call. lacks says why.
func Deny(lacks Lack) Decision { return Decision{Lacks: lacks} }
