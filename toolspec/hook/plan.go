package hook

import (
	"slices"

	"github.com/pawl-run/pawl/toolspec"
)

// PlanVersion is the version of plans that this code makes. A worker runs plans
// of this version and older ones; a call with a newer one waits for another
// worker. ADR 5 says what a newer version may change.
const PlanVersion = 4

// Lane says where execute runs.
type Lane string

// The lanes.
const (
	// LocalLane runs execute inside the workflow task.
	LocalLane Lane = "local"
	// RegularLane runs execute as an activity of its own, with claims.
	RegularLane Lane = "regular"
)

// Plan is what admit pins to a call: the workflow iterates over it and never
// over the code's lists, so a deploy does not disturb calls in flight.
type Plan struct {
	V      int    `json:"v"`
	ToolID string `json:"toolId"`
	// ToolDigest is empty where no worker knew the tool.
	ToolDigest string          `json:"toolDigest,omitempty"`
	Effect     toolspec.Effect `json:"effect,omitempty"`
	Risk       toolspec.Risk   `json:"risk,omitempty"`
	Lane       Lane            `json:"lane"`
	// Repeatable says that a lost attempt may be made again.
	Repeatable bool `json:"repeatable,omitempty"`
	// Probe says that the tool can find out what became of a lost attempt.
	Probe       bool    `json:"probe,omitempty"`
	MaxAttempts int     `json:"maxAttempts"`
	Budgets     Budgets `json:"budgets"`
	// SearchAttributes says whether this call upserts search attributes.
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
	// DurableMs makes the stage an activity of its own: it is the longest run of
	// the durable hooks on it, together. 0 where none is durable.
	DurableMs int64 `json:"durableMs,omitempty"`
	// OnDemand says that Pawl's own step is for calls for which the gate demands it. Without
	// hooks the stage is idle for all other calls.
	OnDemand bool `json:"onDemand,omitempty"`
	// ApproverHooks names the hooks that are asked whom a request for an approval needs, before each
	// request. It is empty if no hook at the stage names approvers.
	ApproverHooks []string `json:"heard,omitempty"`
}

// Step finds the step of a stage in steps; ok is false if it is idle.
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

// Stages names the active stages once each, in order.
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
