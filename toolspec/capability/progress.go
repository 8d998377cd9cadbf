package capability

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
)

// ProgressKey is the typed name of Progress.
var ProgressKey = toolspec.NewCapability[Progress]("progress")

// Progress reports how far a tool has come.
type Progress interface {
	// Report replaces the report before. It never blocks and never fails. ctx must be the context
	// of the tool. Every two seconds the latest report becomes visible to people, with the running
	// attempt. A report is not a result: it is lost when the attempt ends. In the local lane
	// reports are not shown. The text is cut at toolspec.MaxProgressText bytes, and left out if it
	// looks like a secret.
	Report(ctx context.Context, p toolspec.Progress)
}
