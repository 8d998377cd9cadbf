package hook

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// Registry holds the hooks of a worker in the order in which they run.
type Registry struct {
	log    *slog.Logger
	byName map[string]Hook
	global []Hook
	byTool map[string][]Hook
}

// NewRegistry checks the hooks and returns their registry: global hooks run for every tool, and
// byTool holds hooks of single tools by tool id. A name must be unique. The logger gets names and
// types of failures, never their texts.
func NewRegistry(log *slog.Logger, global []Hook, byTool map[string][]Hook) (*Registry, error) {
	r := &Registry{log: log, byName: make(map[string]Hook), byTool: make(map[string][]Hook)}
	add := func(h Hook) error {
		if err := h.check(); err != nil {
			return err
		}
		if _, taken := r.byName[h.name]; taken {
			return fmt.Errorf("hook %q is registered twice; names are recorded in calls and must be unique", h.name)
		}
		r.byName[h.name] = h
		return nil
	}
	for _, h := range global {
		if err := add(h); err != nil {
			return nil, err
		}
		r.global = append(r.global, h)
	}
	for _, tool := range slices.Sorted(maps.Keys(byTool)) {
		for _, h := range byTool[tool] {
			if err := add(h); err != nil {
				return nil, fmt.Errorf("tool %s: %w", tool, err)
			}
			r.byTool[tool] = append(r.byTool[tool], h)
		}
	}
	return r, nil
}

// Names returns the names of the hooks at a stage of a tool, in the
// order in which they run.
func (r *Registry) Names(s Stage, toolID string) []string {
	type place struct {
		hook Hook
		tool bool
	}
	var places []place
	for _, h := range r.global {
		if _, ok := h.at(s); ok {
			places = append(places, place{hook: h})
		}
	}
	for _, h := range r.byTool[toolID] {
		if _, ok := h.at(s); ok {
			places = append(places, place{hook: h, tool: true})
		}
	}
	isDid := strings.HasPrefix(string(s), "did")
	// The sort is stable, so hooks of equal priority keep the order in which places has them: global
	// hooks, then hooks of the tool, each in the order of their registration.
	slices.SortStableFunc(places, func(a, b place) int {
		byPriority := cmp.Compare(b.hook.priority, a.hook.priority)
		if isDid {
			byPriority = -byPriority
		}
		return byPriority
	})
	names := make([]string, len(places))
	for i, s := range places {
		names[i] = s.hook.name
	}
	return names
}

// Steps returns the active steps of a list for a tool: stages with hooks, and stages at which own
// reports a step of Pawl's own for the tool. The plan leaves out all other stages, so they cost
// nothing.
func (r *Registry) Steps(list []Info, toolID string, own func(Stage) bool) []Step {
	var steps []Step
	for _, info := range list {
		if info.Stage == Hydrate {
			steps = append(steps, Step{Stage: info.Stage, Phase: info.Phase})
			continue
		}
		step := Step{Stage: info.Stage, Phase: info.Phase, Hooks: r.Names(info.Stage, toolID)}
		if own(info.Stage) {
			step.Own = Own(info.Stage)
		}
		if step.Own == "" && len(step.Hooks) == 0 {
			continue
		}
		step.OnDemand = step.Own != "" && isOnDemand(info.Stage)
		step.DurableMs = r.sumDurable(step.Hooks)
		if info.Stage == WillCheckConsent.stage {
			step.ApproverHooks = r.approverHooks(step.Hooks)
		}
		steps = append(steps, step)
	}
	return steps
}
