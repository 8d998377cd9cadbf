//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ofMachine are directories with files of the machine and of its users. A workspace is none of them, and contains none.
var ofMachine = []string{"/boot", "/dev", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/usr", "/var"}

// findWorkspace returns the absolute name, without symbolic links, of a directory that scripts may change.
func findWorkspace(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no workspace is named")
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("the workspace: %w", err)
	}
	for _, name := range ofMachine {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real
		}
		if contains(dir, name) {
			return "", fmt.Errorf("scripts may change all of the workspace, and %s contains %s: use a directory that has nothing else in it", dir, name)
		}
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	if contains(dir, program) {
		return "", fmt.Errorf("scripts may change all of the workspace, and %s contains the program of the worker, %s: move one of them", dir, program)
	}
	return dir, nil
}

// contains reports whether a file is a directory or below it. Both names are absolute and clean.
func contains(dir, file string) bool {
	return file == dir || strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}
