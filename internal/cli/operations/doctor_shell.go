package operations

import (
	"context"
	"strings"

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
	protections, err := c.Shell.Protections(ctx, c.Workspace)
	if err != nil {
		d.add("shell", err, "")
		return
	}
	fine := "scripts run with the protections " + strings.Join(protections, ", ")
	if len(c.Shell.Without) > 0 {
		fine += "; PAWL_SHELL_WITHOUT takes away " + strings.Join(c.Shell.Without, ", ")
	}
	d.add("shell", nil, fine)
}
