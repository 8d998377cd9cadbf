package operations

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/sandbox"
)

func TestShellLine(t *testing.T) {
	t.Parallel()
	const cpu, swap = "their processor time cannot be limited here", "their swap cannot be limited here"
	for _, c := range []struct {
		on, without []string
		says        []string
	}{
		{[]string{sandbox.Cgroup, sandbox.CPU, sandbox.Swap}, nil, nil},
		{[]string{sandbox.Cgroup, sandbox.Swap}, nil, []string{cpu}},
		{[]string{sandbox.Cgroup, sandbox.CPU}, []string{sandbox.Network}, []string{swap, "takes away network"}},
		{[]string{sandbox.Cgroup}, nil, []string{cpu, swap}},
		{[]string{sandbox.Files}, []string{sandbox.Cgroup}, []string{"takes away cgroup"}},
	} {
		line := shellLine(c.on, c.without)
		for _, part := range []string{cpu, swap, "takes away network", "takes away cgroup"} {
			want := false
			for _, say := range c.says {
				want = want || say == part
			}
			if strings.Contains(line, part) != want {
				t.Errorf("%v without %v: %s", c.on, c.without, line)
			}
		}
	}
}
