package worker

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// toolSwitch removes the tools that are turned off, before the worker binds tools to capabilities.
// Therefore the worker can lack the capabilities of these tools.
type toolSwitch struct {
	patterns []string
	mu       sync.Mutex // guards off, used and reported
	// off are the tools that were turned off before the report. Tools of sources come later, and may be many.
	off      []string
	reported bool
	used     map[string]bool
	// unconfigured are built-in tools whose capabilities are not configured.
	unconfigured []string
}

func newSwitch(patterns []string) *toolSwitch {
	return &toolSwitch{patterns: patterns, used: map[string]bool{}}
}

// withoutUnused returns the configuration without the shell and without the search service if only tools that are
// turned off use them. Otherwise their faults would stop the start. added are the tools of the user.
func (c Config) withoutUnused(added []toolspec.Tool) Config {
	used := map[toolspec.CapabilityName]bool{}
	for _, tool := range newSwitch(c.DisabledTools).enabled(slices.Concat(tools.All(), added)) {
		for _, name := range tool.Definition().Capabilities {
			used[name] = true
		}
	}
	if !used[capability.CommandsKey.Name()] {
		c.Shell = Shell{}
	}
	if !used[capability.SearchKey.Name()] {
		c.Web.Search, c.Web.SearchURL = "", ""
	}
	return c
}

// enabled returns the tools that no pattern turns off.
func (s *toolSwitch) enabled(all []toolspec.Tool) (on []toolspec.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tool := range all {
		id := tool.Definition().ID
		matching := s.matching(id)
		for _, p := range matching {
			s.used[p] = true
		}
		switch {
		case len(matching) == 0:
			on = append(on, tool)
		case !s.reported && !slices.Contains(s.off, id):
			s.off = append(s.off, id)
		}
	}
	return on
}

// matching returns the patterns that turn a tool off.
func (s *toolSwitch) matching(toolID string) (patterns []string) {
	for _, p := range s.patterns {
		if document.Pattern(p).Matches(toolID) {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// runnable returns the built-in tools whose capabilities this worker provides. It logs the others, which are
// turned off: their capabilities are not configured. A tool of the user whose capability is missing is
// an error instead, because the user added the tool.
func (s *toolSwitch) runnable(builtin []toolspec.Tool, provided toolspec.Capabilities, log *slog.Logger) (on []toolspec.Tool) {
	var without []string
	for _, tool := range builtin {
		def := tool.Definition()
		missing := provided.Lacks(def.Capabilities)
		if len(missing) == 0 {
			on = append(on, tool)
			continue
		}
		s.unconfigured = append(s.unconfigured, def.ID)
		without = append(without, fmt.Sprintf("%s (%s)", def.ID, joined(missing)))
	}
	if len(without) > 0 {
		log.Info("built-in tools are left out, because this worker does not provide the capabilities that they need; docs/configuration.md says how to configure them",
			"tools", without)
	}
	return on
}

func joined(names []toolspec.CapabilityName) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

// isOff reports whether this tool of the worker is turned off by a pattern, or is not configured.
func (s *toolSwitch) isOff(toolID string) bool {
	return len(s.matching(toolID)) > 0 || slices.Contains(s.unconfigured, toolID)
}

// report logs the tools that are off, and the patterns that match no tool. more says that sources may
// bring tools that a pattern matches.
func (s *toolSwitch) report(log *slog.Logger, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = true
	if len(s.off) > 0 {
		log.Info("tools are turned off by PAWL_DISABLED_TOOLS", "toolIds", s.off)
	}
	for _, p := range s.patterns {
		if !more && !s.used[p] {
			log.Warn("PAWL_DISABLED_TOOLS names a tool that this worker was not given", "pattern", p)
		}
	}
}
