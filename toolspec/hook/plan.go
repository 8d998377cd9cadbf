package hook

import (
	"slices"

	"github.com/pawl-run/pawl/toolspec"
)

// PlanVersion is the newest version of plans that this code makes. A worker runs plans
// of this version and of older versions. A call with a newer plan waits for another
// worker. ADR 5 says what a newer version may change.
const PlanVersion = 5

// sharedVersion is the version of plans that workers of release 0.1.0 run too.
const sharedVersion = 4

// PlanVersionOf returns the version of a plan with a lane. Only a plan with ClaimedLane needs a
// worker that knows version 5, so older workers run all other plans.
func PlanVersionOf(l Lane) int {
	if l == ClaimedLane {
		return PlanVersion
	}
	return sharedVersion
}

// Lane says where execute runs.
type Lane string

// The lanes.
const (
	// LocalLane is the lane of a call whose step execute runs inside the workflow task.
	LocalLane Lane = "local"
	// RegularLane is the lane of a call whose step execute is an activity of its own, with claims.
	RegularLane Lane = "regular"
	// ClaimedLane is the lane of a call whose step execute runs inside the workflow task, with claims. The record keeps
	// each answer until the call is settled, because the workflow task may be lost. A plan with this lane has version 5
	// or later.
	ClaimedLane Lane = "claimed"
)

// Plan is recorded by admit. The workflow iterates over the recorded plan and never over the lists
// of the code, so a deploy does not change running calls.
type Plan struct {
	V      int    `json:"v"`
	ToolID string `json:"toolId"`
	// ToolDigest is empty if no worker knew the tool.
	ToolDigest string          `json:"toolDigest,omitempty"`
	Effect     toolspec.Effect `json:"effect,omitempty"`
	Risk       toolspec.Risk   `json:"risk,omitempty"`
	// ScriptArg names the argument that has a script of a shell; empty if the tool has none.
	ScriptArg string `json:"scriptArg,omitempty"`
	// Discovered has the digests of the definition of a discovered tool and of its review; nil for any
	// other tool.
	Discovered *toolspec.Discovered `json:"discovered,omitempty"`
	Lane       Lane                 `json:"lane"`
	// Repeatable reports that a lost attempt may be repeated.
	Repeatable bool `json:"repeatable,omitempty"`
	// Probe reports that the tool has a probe, which can report whether a lost attempt took effect.
	Probe       bool    `json:"probe,omitempty"`
	MaxAttempts int     `json:"maxAttempts"`
	Budgets     Budgets `json:"budgets"`
	// SearchAttributes reports whether the workflow of this call sets search attributes in Temporal.
	SearchAttributes bool   `json:"searchAttributes,omitempty"`
	Pre              []Step `json:"pre"`
	Execute          []Step `json:"execute,omitempty"`
	Post             []Step `json:"post,omitempty"`
	Error            []Step `json:"error,omitempty"`
}

// Step is an active stage: Pawl's own step, the hooks of users, or both.
type Step struct {
	Stage Stage `json:"stage"`
	Phase Phase `json:"phase"`
	// Own names Pawl's own step; empty if the stage has none for this call.
	Own   string   `json:"own,omitempty"`
	Hooks []string `json:"hooks,omitempty"`
	// DurableMs is the sum of the longest runs of the durable hooks at the stage, in milliseconds.
	// If it is not 0, the stage runs as an activity.
	DurableMs int64 `json:"durableMs,omitempty"`
	// OnDemand reports that Pawl's own step runs only for calls for which the gate demands it. For
	// all other calls, a stage without hooks is skipped.
	OnDemand bool `json:"onDemand,omitempty"`
	// ApproverHooks lists the hooks to ask for approvers before each approval request. It is empty
	// if no hook at the stage names approvers.
	ApproverHooks []string `json:"heard,omitempty"`
}

// Step returns the step of a stage. ok is false if the plan has none.
func (p Plan) Step(s Stage) (step Step, ok bool) {
	for _, list := range [][]Step{p.Pre, p.Execute, p.Post, p.Error} {
		for _, step := range list {
			if step.Stage == s {
				return step, true
			}
		}
	}
	return Step{}, false
}

// Stages returns the names of the active stages, once each, in order.
func (p Plan) Stages() []string {
	var names []string
	for _, list := range [][]Step{p.Pre, p.Execute, p.Post, p.Error} {
		for _, step := range list {
			if name := string(step.Stage); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
