package deploycheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/worker"
)

// TestUnits: systemd accepts the units and finds nothing exposed in them, and Pawl reads their variables.
func TestUnits(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../deploy/systemd/*.service")
	if err != nil || len(files) != 2 {
		t.Fatalf("%d units: %v", len(files), err)
	}
	dir := t.TempDir()
	var copies []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, variable := range regexp.MustCompile(`(?m)^#?Environment=(\w+)`).FindAllStringSubmatch(string(text), -1) {
			if unknown := worker.UnknownVariables([]string{variable[1] + "=x"}); len(unknown) > 0 {
				t.Errorf("%s sets %s, which nothing reads", file, variable[1])
			}
		}
		// systemd looks for the program, which is not installed here.
		name := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/pawl", "/bin/true")), 0o600); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, name)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("systemd-analyze is not here (apt-get install systemd)")
	}
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", append([]string{"verify", "--man=no"}, copies...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	for _, file := range copies {
		// 0 is the least exposed, and 100 the most.
		if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--threshold=20", file).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze security: %v\n%s", err, out)
		}
	}
}
