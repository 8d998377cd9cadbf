//go:build linux && (amd64 || arm64)

package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestFullDisk: a script that fills the file system of the workspace is killed while there is room left, and no call takes room faster than
// it is measured.
func TestFullDisk(t *testing.T) {
	dir := workspace(t)
	s := box(t, dir)
	free := func(fs *unix.Statfs_t) uint64 { return fs.Bavail * uint64(fs.Bsize) }
	var before unix.Statfs_t
	if err := unix.Statfs(dir, &before); err != nil {
		t.Fatal(err)
	}
	s.lacksRoom = func(fs *unix.Statfs_t) bool { return free(fs)+32<<20 < free(&before) }
	if end, out := run(t, s, capability.Command{Script: "fallocate -l 1000000 large"}); end.ExitCode != 1 {
		t.Errorf("fallocate: %+v, %s", end, out)
	}
	end, _ := run(t, s, capability.Command{Script: "while :; do i=$((i+1)); head -c 4000000 /dev/zero > $i; done"})
	if end.StoppedBy != capability.LimitDisk || end.ExitCode != -1 || end.Signal != "SIGKILL" {
		t.Errorf("a script that fills the disk: %+v", end)
	}
}

func TestLacksRoom(t *testing.T) {
	const gib = 1 << 30 / 4096
	for _, c := range []struct {
		name                        string
		blocks, free, files, unused uint64
		lacks                       bool
	}{
		{"large", 100 * gib, gib, 1000, 50, false},
		{"large and full", 100 * gib, gib - 1, 1000, 50, true},
		{"small", 5 * gib, gib / 2, 1000, 50, false},
		{"small and full", 5 * gib, gib/2 - 1, 1000, 50, true},
		{"full of files", 100 * gib, 50 * gib, 1000, 49, true},
		{"files are not counted", 100 * gib, 50 * gib, 0, 0, false},
	} {
		fs := unix.Statfs_t{Bsize: 4096, Blocks: c.blocks, Bavail: c.free, Files: c.files, Ffree: c.unused}
		if got := lacksRoom(&fs); got != c.lacks {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
