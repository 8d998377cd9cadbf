package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoDevelopmentTools: the program for production links no server for development, no benchmark and no
// package that injects faults.
func TestNoDevelopmentTools(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for dep := range strings.Lines(string(out)) {
		path, ours := strings.CutPrefix(strings.TrimSpace(dep), "github.com/pawl-run/pawl/")
		if !ours {
			continue
		}
		own++
		for _, tool := range []string{"internal/devstack", "internal/devcli", "internal/bench", "internal/faultkit", "internal/attack", "internal/docsgen", "internal/devtools", "internal/modelserver", "internal/e2etest", "pawltest"} {
			if path == tool || strings.HasPrefix(path, tool+"/") {
				t.Errorf("pawl-server links %s", path)
			}
		}
	}
	if own < 20 {
		t.Fatalf("go list names %d packages of Pawl", own)
	}
}
