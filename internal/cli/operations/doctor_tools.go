package operations

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// tools names the built-in tools that no live worker offers. Such a tool may be meant to be missing, so the check does not fail. It adds
// no line without a live worker, which the check of the workers reports.
func (d *diagnosis) tools(live []toolspec.Spec, err error) {
	if err == nil && len(live) == 0 {
		return
	}
	fine := fmt.Sprintf("workers offer %d", len(live))
	if unoffered := app.UnofferedTools(live); len(unoffered) > 0 {
		fine += "; no worker offers " + strings.Join(unoffered, ", ") + ": the log of a worker says why when it starts"
	}
	d.add("tools", err, fine)
}
