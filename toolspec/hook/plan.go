package hook

import (
	"slices"

	"github.com/pawl-run/pawl/toolspec"
)

// PlanVersion is the version of plans that this code makes. A worker runs plans
// of this version and older ones; a call with a newer one waits for another
// worker. What a newer version may change stands in ADR 5.
const PlanVersion = 1

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
	Repeatable  bool    `json:"repeatable,omitempty"`
	MaxAttempts int     `json:"maxAttempts"`
	Budgets     Budgets `json:"budgets"`
	// SearchAttributes says whether this call upserts search attributes.
	SearchAttributes bool   `json:"searchAttributes,omitempty"`
	Pre              []Step `json:"pre"`
	Execute          []Step `json:"execute,omitempty"`
	Post             []Step `json:"post,omitempty"`
	Error            []Step `json:"error,omitempty"`
}

// Step is an active stage with its hooks.
type Step struct {
	Stage Stage    `json:"stage"`
	Phase Phase    `json:"phase"`
	Hooks []string `json:"hooks,omitempty"`
	// OnDemand says that the step is skipped unless the gate needs it.
	OnDemand bool `json:"onDemand,omitempty"`
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
