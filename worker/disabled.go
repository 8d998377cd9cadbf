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
	// notOn are tools that are off until the configuration turns them on.
	notOn []string
	used  map[string]bool
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
		switch {
		case off:
			s.off = append(s.off, id)
		case !slices.Contains(s.notOn, id):
			on = append(on, tool)
		}
	}
	return on
}

// isOff reports whether this tool of the worker is turned off by a pattern, or not turned on.
func (s *toolSwitch) isOff(toolID string) bool {
	return slices.Contains(s.off, toolID) || slices.Contains(s.notOn, toolID)
}

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
