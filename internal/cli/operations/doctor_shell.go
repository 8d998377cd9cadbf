package operations

import (
	"context"
	"slices"
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
	protections, err := c.Shell.Protections(ctx, c.Workspace)
	if err != nil {
		d.add("shell", err, "")
		return
	}
	d.add("shell", nil, shellLine(protections, c.Shell.Without))
}

// shellLine says which protections scripts have, and which limits of scripts this machine lacks.
func shellLine(on, without []string) string {
	line := "scripts run with the protections " + strings.Join(on, ", ")
	if len(without) > 0 {
		line += "; PAWL_SHELL_WITHOUT takes away " + strings.Join(without, ", ")
	}
	if !slices.Contains(on, sandbox.Cgroup) {
		return line
	}
	if !slices.Contains(on, sandbox.CPU) {
		line += "; their processor time cannot be limited here: see that the control group of the worker has the controller cpu, and a quota above half of the processors or none"
	}
	if !slices.Contains(on, sandbox.Swap) {
		line += "; their swap cannot be limited here: if the machine has swap, turn it off"
	}
	return line
}
