package contract

import "github.com/pawl-run/pawl/toolspec/hook"

// ActivityNames lists every activity that a worker registers: first the activities of
// a call, which are Pawl's own steps and the 32 stages, then the activities of
// runs of agents, of the sweeper, of the verifier and of key rotation, and the activity
// that waits for a call that exists.
func ActivityNames() []string {
	names := []string{Admit.Name(), Locate.Name(), Hydrate.Name(), Request.Name(), Review.Name(), Execute.Name(), Accept.Name(), Check.Name(), Probe.Name(), Settle.Name()}
	for _, info := range hook.All() {
		names = append(names, string(info.Stage))
	}
	names = append(names, AgentOpen.Name(), AgentSay.Name(), AgentAsk.Name(), AgentRound.Name(), AgentAnswer.Name(), AgentClose.Name(), AgentJoin.Name(), TriggerFire.Name())
	return append(names, SweepCalls.Name(), KeepPartitions.Name(), DropExpired.Name(), VerifyClosed.Name(), Reseal.Name(), Join.Name())
}

// The names of the search attributes. All have the type Keyword. They must not hold
// personal data.
const (
	AttrTenant     = "PawlTenant"
	AttrTool       = "PawlTool"
	AttrEffect     = "PawlEffect"
	AttrStatus     = "PawlStatus"
	AttrOutcome    = "PawlOutcome"
	AttrConnection = "PawlConnection"
)

// SearchAttributeNames lists the search attributes that a namespace must define before
// a call upserts them.
func SearchAttributeNames() []string {
	return []string{AttrTenant, AttrTool, AttrEffect, AttrStatus, AttrOutcome, AttrConnection}
}
