package temporalcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Options configure Find. The zero value is good.
type Options struct {
	CacheDir string       // "" = ${XDG_CACHE_HOME:-~/.cache}/pawl
	Progress func(string) // gets one line at a time while a build runs; nil = silent
}

// Find returns the absolute path of a `temporal` program: the one on PATH, else the cached build, else a new build, which takes
// minutes, once. Programs that want it at the same time wait for one build. It stops, and stops the build, when ctx ends.
func Find(ctx context.Context, o Options) (string, error) {
	if onPath, err := exec.LookPath("temporal"); err == nil {
		return filepath.Abs(onPath)
	}
	if o.CacheDir == "" {
		dir, err := cacheDir()
		if err != nil {
			return "", err
		}
		o.CacheDir = dir
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	dir := filepath.Join(o.CacheDir, "temporal", pinName())
	program := filepath.Join(dir, "temporal")
	if isProgram(program) {
		return program, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache directory for the Temporal CLI (set XDG_CACHE_HOME to a directory you can write, or install `temporal`): %w", err)
	}
	return program, build(ctx, dir, program, o.Progress)
}

func cacheDir() (string, error) {
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pawl"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("no cache directory for the Temporal CLI: set HOME or XDG_CACHE_HOME, or install `temporal`")
	}
	return filepath.Join(home, ".cache", "pawl"), nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
