package temporalcli

import (
	"context"
	"os/exec"
	"path/filepath"

	"github.com/pawl-run/pawl/internal/devstack/pinned"
)

// Options configure Find. The zero value is good.
type Options = pinned.Options

// Find returns the absolute path of a `temporal` program: the one on PATH, else the cached build, else a new build. A build takes minutes,
// and happens once. Concurrent programs wait for one build. When ctx ends, Find stops, and stops its build.
func Find(ctx context.Context, o Options) (string, error) {
	if onPath, err := exec.LookPath("temporal"); err == nil {
		return filepath.Abs(onPath)
	}
	return program().Find(ctx, o)
}
