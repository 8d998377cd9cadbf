package failpoint_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNotShipped: the commands do not link package failpoint.
func TestNotShipped(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go tool is not on PATH")
	}
	out, err := exec.Command(tool, "list", "-deps", "github.com/pawl-run/pawl/cmd/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	if packages := string(out); !strings.Contains(packages, "pawl/worker\n") || strings.Contains(packages, "faultkit/failpoint") {
		t.Errorf("cmd links failpoint, or no worker at all")
	}
}
