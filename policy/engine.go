package policy

import "context"

// Engine decides on calls in the place of a version of the policy. Many goroutines may ask it at
// the same time.
type Engine interface {
	// Decide judges a call. It must decide the same for the same facts, because a call is judged
	// again before its approval and after each wait. Before the arguments are known, the gate
	// acts only on a deny. Pawl asks again after an error, until the deadline of the call. ctx
	// ends after at most 2 seconds. The decision must hold no argument and no secret.
	Decide(ctx context.Context, f Facts) (Decision, error)
}

// Engines returns the engine that decides by a version of the policy. It is called for each
// decision. If it returns nil, the call is denied.
type Engines func(version *Policy) Engine
