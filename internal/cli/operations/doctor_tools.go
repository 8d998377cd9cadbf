package operations

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// tools names the built-in tools that no live worker offers, and the tools of MCP servers with a name that imitates
// another. The check does not fail for them: an operator may have turned the tool off, and the name may be innocent.
// If no worker is live, tools adds no line, because the check of the workers says so.
func (d *diagnosis) tools(live []toolspec.Spec, err error) {
	if err == nil && len(live) == 0 {
		return
	}
	fine := fmt.Sprintf("workers offer %d", len(live))
	if unoffered := app.UnofferedTools(live); len(unoffered) > 0 {
		fine += "; no worker offers " + strings.Join(unoffered, ", ") + ": the log of a worker says why when it starts"
	}
	alike := catalog.Lookalikes(live)
	for _, id := range slices.Sorted(maps.Keys(alike)) {
		fine += fmt.Sprintf("; %s of an MCP server has a name like %s: read `pawl mcp review %s` with care", id, strings.Join(alike[id], " and "), id)
	}
	d.add("tools", err, fine)
}
