package worker

import (
	"log/slog"
	"slices"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// toolSwitch removes the tools that are turned off, before the worker binds tools to capabilities.
// Therefore the worker can lack the capabilities of these tools.
type toolSwitch struct {
	patterns []string
	off      []string
	used     map[string]bool
}

func newSwitch(patterns []string) *toolSwitch {
	return &toolSwitch{patterns: patterns, used: map[string]bool{}}
}

// enabled returns the tools that no pattern turns off.
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

// isOff reports whether a pattern has turned off this tool of the worker.
func (s *toolSwitch) isOff(toolID string) bool { return slices.Contains(s.off, toolID) }

// report logs the tools that are off, and the patterns that match no tool.
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
