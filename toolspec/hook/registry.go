package hook

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Registry holds the hooks of a worker, sorted once.
type Registry struct {
	log    *slog.Logger
	byName map[string]Hook
	global []Hook
	byTool map[string][]Hook
}

// NewRegistry checks and keeps hooks: global ones for every tool, and hooks of
// single tools by tool id. A name stands for one hook only. The logger gets the
// names and types of failures, never their texts.
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
	tools := make([]string, 0, len(byTool))
	for tool := range byTool {
		tools = append(tools, tool)
	}
	slices.Sort(tools)
	for _, tool := range tools {
		for _, h := range byTool[tool] {
			if err := add(h); err != nil {
				return nil, fmt.Errorf("tool %s: %w", tool, err)
			}
			r.byTool[tool] = append(r.byTool[tool], h)
		}
	}
	return r, nil
}

// Names returns the names of the hooks that stand at a stage of a tool, in the
// order they run.
func (r *Registry) Names(s Stage, toolID string) []string {
	type seat struct {
		hook Hook
		tool bool
	}
	var seats []seat
	for _, h := range r.global {
		if _, ok := h.at(s); ok && r.wanted(h, toolID) {
			seats = append(seats, seat{hook: h})
		}
	}
	for _, h := range r.byTool[toolID] {
		if _, ok := h.at(s); ok {
			seats = append(seats, seat{hook: h, tool: true})
		}
	}
	did := strings.HasPrefix(string(s), "did")
	slices.SortStableFunc(seats, func(a, b seat) int {
		if c := cmp.Compare(place(a.hook), place(b.hook)); c != 0 {
			return c
		}
		byPriority := cmp.Compare(b.hook.priority, a.hook.priority)
		if did {
			byPriority = -byPriority
		}
		// Global before tool, then registration: the sort is stable and global
		// hooks were seated first.
		return byPriority
	})
	names := make([]string, len(seats))
	for i, s := range seats {
		names[i] = s.hook.name
	}
	return names
}

// wanted reports whether h has something to do for the tool.
func (r *Registry) wanted(h Hook, toolID string) bool {
	if h.onlyFor != nil && !h.onlyFor(toolID) {
		return false
	}
	if len(h.onlyWith) == 0 {
		return true
	}
	for _, s := range h.onlyWith {
		for _, list := range [][]Hook{r.global, r.byTool[toolID]} {
			for _, other := range list {
				if _, ok := other.at(s); ok && !other.builtin {
					return true
				}
			}
		}
	}
	return false
}

// place puts built-in hooks first, or last where they say so.
func place(h Hook) int {
	switch {
	case h.last:
		return 1
	case h.builtin:
		return -1
	}
	return 0
}

// Steps returns the active steps of a list for a tool. A stage without hooks is
// idle, not in the plan and costs nothing.
func (r *Registry) Steps(list []Info, toolID string) []Step {
	var steps []Step
	for _, info := range list {
		if info.Stage == Hydrate {
			steps = append(steps, Step{Stage: info.Stage, Phase: info.Phase})
			continue
		}
		if names := r.Names(info.Stage, toolID); len(names) > 0 {
			steps = append(steps, Step{
				Stage: info.Stage, Phase: info.Phase, Hooks: names, OnDemand: r.onDemand(names), DurableMs: r.durable(names),
			})
		}
	}
	return steps
}

// onDemand reports whether all these hooks wait to be needed.
func (r *Registry) onDemand(names []string) bool {
	for _, name := range names {
		if h := r.byName[name]; !h.builtin || !h.onDemand {
			return false
		}
	}
	return true
}
