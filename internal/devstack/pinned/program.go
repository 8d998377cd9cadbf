package pinned

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Program describes a program to build and its sources.
type Program struct {
	Name      string // for people, with its article
	Binary    string // the file's name, and its directory's in the cache
	Package   string // the main package
	Version   string // of the package's module
	Mod, Sum  []byte // go.mod and go.sum of a module that has the package as a tool
	Takes     string // how long a build takes
	Otherwise string // how else to come by the program
}

// Options configure Find. The zero value is good.
type Options struct {
	CacheDir string       // "" = ${XDG_CACHE_HOME:-~/.cache}/pawl
	Progress func(string) // gets one line at a time while a build runs; nil = silent
}

// Find returns the absolute path of the cached build, or builds the program once, which takes minutes. Concurrent programs wait for one
// build. When ctx ends, Find stops, and stops its build.
func (p Program) Find(ctx context.Context, o Options) (string, error) {
	if o.CacheDir == "" {
		dir, err := p.cacheDir()
		if err != nil {
			return "", err
		}
		o.CacheDir = dir
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	dir := filepath.Join(o.CacheDir, p.Binary, p.Pin())
	program := filepath.Join(dir, p.Binary)
	if isProgram(program) {
		return program, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache directory for %s (set XDG_CACHE_HOME to a directory you can write, or %s): %w", p.Name, p.Otherwise, err)
	}
	return program, p.build(ctx, dir, program, o.Progress)
}

// Pin returns the name of the build in the cache. Other sources, systems or processors have other
// names.
func (p Program) Pin() string {
	sum := sha256.New()
	sum.Write(p.Mod)
	sum.Write(p.Sum)
	return p.Version + "-" + hex.EncodeToString(sum.Sum(nil))[:12] + "-" + runtime.GOOS + "-" + runtime.GOARCH
}

func (p Program) cacheDir() (string, error) {
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pawl"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("no cache directory for " + p.Name + ": set HOME or XDG_CACHE_HOME, or " + p.Otherwise)
	}
	return filepath.Join(home, ".cache", "pawl"), nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
