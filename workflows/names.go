package workflows

import "github.com/pawl-run/pawl/toolspec/hook"

// Names are a wire contract: histories hold them. Never rename or remove one.
const (
	nameAdmit   = "admit"
	nameHydrate = "hydrate"
	nameRequest = "requestApproval"
	nameReview  = "reviewDecision"
	nameExecute = "execute"
	nameCheck   = "checkAttempt"
	nameProbe   = "reconcile"
	nameSettle  = "settle"

	nameSweepCalls     = "sweepCalls"
	nameKeepPartitions = "keepPartitions"
	nameDropExpired    = "dropExpired"

	nameReseal = "resealSecrets"
)

// SweepType is the workflow that a Temporal Schedule starts again and again, and
// SweepID names the schedule. The workflows have the id with a time behind it.
const (
	SweepType = "Sweep"
	SweepID   = "pawl-sweep"
)

// ResealType is the workflow that `pawl keyring rotate` starts.
const ResealType = "ResealSecrets"

// ActivityNames lists every activity that a worker registers, in the order of a
// call: Pawl's own steps and the 32 stages; then those of the sweeper, of the
// verifier and of a rotation of keys.
func ActivityNames() []string {
	names := []string{nameAdmit, nameHydrate, nameRequest, nameReview, nameExecute, nameCheck, nameProbe, nameSettle}
	for _, info := range hook.All() {
		names = append(names, string(info.Stage))
	}
	return append(names, nameSweepCalls, nameKeepPartitions, nameDropExpired, nameVerifyClosed, nameReseal)
}

// Search attribute names; all are keywords. No personal data goes into them.
const (
	AttrTenant     = "PawlTenant"
	AttrTool       = "PawlTool"
	AttrEffect     = "PawlEffect"
	AttrStatus     = "PawlStatus"
	AttrOutcome    = "PawlOutcome"
	AttrConnection = "PawlConnection"
)

// SearchAttributeNames lists what a namespace must know before calls upsert it.
func SearchAttributeNames() []string {
	return []string{AttrTenant, AttrTool, AttrEffect, AttrStatus, AttrOutcome, AttrConnection}
}
