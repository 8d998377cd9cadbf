package authz

import "context"

// Execute is the permission to run a tool, the only one so far.
const Execute = "tool.execute"

// Port is an authorization engine. It is asked for every call that policy does not
// deny, before anything of its arguments is looked at, and again after every wait.
// It may be called by many goroutines at once.
//
// An error, a panic and no answer in time are no answer: the question is asked again
// until the call's deadline, and the tool does not run meanwhile. An engine keeps no
// answers: what is revoked must count the next time.
type Port interface {
	Check(ctx context.Context, r Request) (Decision, error)
}

// Request is the question.
type Request struct {
	// TenantID is the scope of everything else: who is called the same in another
	// tenant is somebody else.
	TenantID string
	// ActorID is who calls.
	ActorID string
	// SubjectID is on whose behalf, or empty. Where it is there, the actor needs the
	// permission and also a delegation of the subject.
	SubjectID string
	// Submitter is the key by which a trusted submitter vouched for SubjectID. It is
	// there whenever SubjectID is.
	Submitter string
	// Permission is Execute.
	Permission string
	// ToolID is the tool to be run.
	ToolID string
	// ConnectionID, GraphID, SessionID and RunID are where the call stands; all but
	// RunID may be empty.
	ConnectionID, GraphID, SessionID, RunID string
	// Basis is what the tenant's policy says permissions come from.
	Basis Basis
}

// Basis is where the permissions of a tenant come from.
type Basis string

const (
	// ByPolicy says that the tenant's policy is its authorization. What it does not deny,
	// every actor of the tenant may do; delegations are verified all the same.
	ByPolicy Basis = "policy"
	// ByRelations says that an actor may do what a relation permits, and nothing else.
	ByRelations Basis = "relations"
)

// Decision is the answer. The zero value denies.
type Decision struct {
	Allowed bool
	// Lacks says what is missing where the answer is no; it shapes the message and
	// nothing else.
	Lacks Lack
}

// Lack is what a denied call lacks.
type Lack string

// What can be missing.
const (
	// Permission: the actor may not run the tool.
	Permission Lack = "permission"
	// Delegation: the subject has not delegated this to the actor, or no longer.
	Delegation Lack = "delegation"
	// Trust: nobody who is trusted vouches for the subject.
	Trust Lack = "trust"
)

// Allow says yes.
func Allow() Decision { return Decision{Allowed: true} }

// Deny says no, and what is missing.
func Deny(lacks Lack) Decision { return Decision{Lacks: lacks} }
