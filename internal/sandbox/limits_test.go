//go:build linux && (amd64 || arm64)

package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// A result names the limits of processor time and of swap where they hold, and only there.
func TestMissingLimits(t *testing.T) {
	c, err := openCgroups(testMemory)
	if err != nil {
		t.Skip(err)
	}
	g, err := c.makeGroup()
	if err != nil {
		t.Fatal(err)
	}
	swap, cpu := filepath.Join(c.memory, g.name, "memory.memsw.limit_in_bytes"), c.cpuV1
	if c.unified != "" {
		swap, cpu = filepath.Join(c.unified, g.name, "memory.swap.max"), filepath.Join(c.unified, g.name, "cpu.max")
	}
	isThere := func(path string) bool { _, err := os.Stat(path); return path != "" && err == nil }
	countsSwap, hasCPU := isThere(swap), isThere(cpu)
	g.remove()
	s, err := Open(t.Context(), Options{Workspace: workspace(t), Without: without(), Memory: testMemory})
	if err != nil {
		t.Fatal(err)
	}
	check := func(on []string, wantCPU bool) {
		t.Helper()
		if !slices.Contains(on, Cgroup) || slices.Contains(on, CPU) != wantCPU || slices.Contains(on, Swap) != countsSwap || !slices.IsSorted(on) {
			t.Errorf("%v, with swap counted %v, and the controller cpu %v", on, countsSwap, wantCPU)
		}
	}
	check(s.Protections(), hasCPU)
	if s.cgroups.unified == "" {
		s.cgroups.cpuV1 = "" // as where the worker has no such controller
		end, err := s.Run(t.Context(), capability.Command{Script: "true", Timeout: time.Minute, MaxOutput: 1}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		check(end.Protections, false)
	}
}
