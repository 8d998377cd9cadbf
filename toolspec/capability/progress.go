package capability

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
)

// ProgressKey is the typed name of Progress.
var ProgressKey = toolspec.NewCapability[Progress]("progress")

// Progress lets a tool say how far it is.
type Progress interface {
	// Report replaces what was reported before; it never blocks and never fails. ctx
	// is the one that the tool was called with. People see the latest report every
	// two seconds, beside the running attempt. It is no result: nothing waits for it,
	// and with the attempt it is gone. In the local lane nobody looks. The text is
	// cut at toolspec.MaxProgressText bytes and left out where it has the shape of a
	// secret.
	Report(ctx context.Context, p toolspec.Progress)
}
