package operations

import (
	"cmp"
	"context"
	"strings"

	"github.com/pawl-run/pawl/internal/sandbox"
	"github.com/pawl-run/pawl/worker"
)

// shell checks that this machine can run scripts with every protection that the configuration asks for. It adds no line if core__shell is
// off.
func (d *diagnosis) shell(ctx context.Context, c worker.Config) {
	if !c.Shell.On {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	box, err := sandbox.Open(ctx, sandbox.Options{Workspace: cmp.Or(c.Workspace, "."), Without: c.Shell.Without, Memory: c.Shell.Memory})
	if err != nil {
		d.add("shell", err, "")
		return
	}
	fine := "scripts run with the protections " + strings.Join(box.Protections(), ", ")
	if len(c.Shell.Without) > 0 {
		fine += "; PAWL_SHELL_WITHOUT takes away " + strings.Join(c.Shell.Without, ", ")
	}
	d.add("shell", nil, fine)
}
