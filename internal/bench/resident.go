package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// residentMB is the resident memory of a process, in MiB, as the system's ps says.
func residentMB(pid int) (float64, error) {
	out, err := exec.CommandContext(context.Background(), "ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("bench: ask ps for the memory of the worker: %w", err)
	}
	kilobytes, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0, fmt.Errorf("bench: ps answered %q", out)
	}
	return kilobytes / 1024, nil
}
