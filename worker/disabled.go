package worker

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// toolSwitch removes the tools that are turned off before the worker binds tools to capabilities. So the
// worker does not need the capabilities of these tools.
type toolSwitch struct {
	patterns []string
	// unconfigured are built-in tools whose capabilities are not configured.
	unconfigured []string
}

func newSwitch(patterns []string) *toolSwitch { return &toolSwitch{patterns: patterns} }

// withoutUnused returns the configuration without the shell, and without the search service, if only tools that are
// turned off use it: a fault in its settings must not stop the start then. added are the tools of the user.
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
	for _, tool := range all {
		if !s.matches(tool.Definition().ID) {
			on = append(on, tool)
		}
	}
	return on
}

// matches reports whether a pattern turns a tool off.
func (s *toolSwitch) matches(toolID string) bool {
	return slices.ContainsFunc(s.patterns, func(p string) bool { return document.Pattern(p).Matches(toolID) })
}

// runnable returns the built-in tools whose capabilities this worker provides. It logs the other built-in
// tools, which are turned off because their capabilities are not configured. A tool of the user whose
// capability is missing is an error instead, because the user added the tool.
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
	return s.matches(toolID) || slices.Contains(s.unconfigured, toolID)
}

// report logs the tools in all that patterns turn off. It also logs the patterns that match none of these tools,
// unless mayGrow is set: then sources may add tools later that these patterns match.
func (s *toolSwitch) report(log *slog.Logger, all []toolspec.Tool, mayGrow bool) {
	var off []string
	used := map[string]bool{}
	for _, tool := range all {
		id := tool.Definition().ID
		for _, p := range s.patterns {
			used[p] = used[p] || document.Pattern(p).Matches(id)
		}
		if s.matches(id) && !slices.Contains(off, id) {
			off = append(off, id)
		}
	}
	if len(off) > 0 {
		log.Info("tools are turned off by PAWL_DISABLED_TOOLS", "toolIds", off)
	}
	for _, p := range s.patterns {
		if !mayGrow && !used[p] {
			log.Warn("PAWL_DISABLED_TOOLS names a tool that this worker was not given", "pattern", p)
		}
	}
}
