package worker

import (
	"log/slog"
	"slices"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// toolSwitch turns tools off before anything of them is bound: what such a tool needs
// need not be there.
type toolSwitch struct {
	patterns []string
	off      []string
	used     map[string]bool
}

func newSwitch(patterns []string) *toolSwitch {
	return &toolSwitch{patterns: patterns, used: map[string]bool{}}
}

// enabled are the tools that no pattern turns off.
func (s *toolSwitch) enabled(all []toolspec.Tool) (on []toolspec.Tool) {
	for _, tool := range all {
		id, off := tool.Definition().ID, false
		for _, p := range s.patterns {
			if document.Pattern(p).Matches(id) {
				off, s.used[p] = true, true
			}
		}
		if off {
			s.off = append(s.off, id)
		} else {
			on = append(on, tool)
		}
	}
	return on
}

// isOff reports whether the worker was given the tool and a pattern turned it off.
func (s *toolSwitch) isOff(toolID string) bool { return slices.Contains(s.off, toolID) }

// report says which tools are off, and which patterns turn none off.
func (s *toolSwitch) report(log *slog.Logger) {
	if len(s.off) > 0 {
		log.Info("tools are turned off by PAWL_DISABLED_TOOLS", "toolIds", s.off)
	}
	for _, p := range s.patterns {
		if !s.used[p] {
			log.Warn("PAWL_DISABLED_TOOLS names a tool that this worker was not given", "pattern", p)
		}
	}
}
