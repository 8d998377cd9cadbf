package temporalcli

import (
	"context"
	"os/exec"
	"path/filepath"

	"github.com/pawl-run/pawl/internal/devstack/pinned"
)

// Options configure Find. The zero value is good.
type Options = pinned.Options

// Find returns the absolute path of a `temporal` program: the one on PATH, else the cached build, else a new build, which takes
// minutes, once. Programs that want it at the same time wait for one build. It stops, and stops the build, when ctx ends.
func Find(ctx context.Context, o Options) (string, error) {
	if onPath, err := exec.LookPath("temporal"); err == nil {
		return filepath.Abs(onPath)
	}
	return program().Find(ctx, o)
}
