package app

import (
	"slices"
	"strings"

	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
)

// UnofferedTools returns the built-in tools that are not among the tools of live workers, each with the possible reasons: a worker leaves
// out a tool that is turned off, and a tool whose capabilities are not configured.
func UnofferedTools(live []toolspec.Spec) (names []string) {
	for _, tool := range tools.All() {
		def := tool.Definition()
		if slices.ContainsFunc(live, func(s toolspec.Spec) bool { return s.Name == def.ID }) {
			continue
		}
		why := "turned off"
		if len(def.Capabilities) > 0 {
			needs := make([]string, len(def.Capabilities))
			for i, c := range def.Capabilities {
				needs[i] = string(c)
			}
			why += ", or without " + strings.Join(needs, ", ")
		}
		names = append(names, def.ID+" ("+why+")")
	}
	slices.Sort(names)
	return names
}
