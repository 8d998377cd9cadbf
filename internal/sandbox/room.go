//go:build linux && (amd64 || arm64)

package sandbox

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// keptFree is the number of bytes that must stay free in the file system of the workspace, for the worker and for other
	// programs. In a file system of less than 10 GiB, a tenth of it must stay free. A script is killed when less is free.
	keptFree = 1 << 30
	// roomTime is the time between two checks of the room. A script cannot write keptFree bytes in that time, because the
	// filter of system calls refuses fallocate. In a file system of less than 10 GiB, a fast script can fill the room.
	roomTime = 100 * time.Millisecond
)

// watchRoom calls full when lacks says that the file system of a directory lacks room, until done is closed.
func watchRoom(dir string, lacks func(*unix.Statfs_t) bool, done <-chan struct{}, full func()) {
	tick := time.NewTicker(roomTime)
	defer tick.Stop()
	for {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) == nil && lacks(&fs) {
			full()
			return
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// lacksRoom reports whether users other than root have fewer free bytes than the room that is kept, or fewer than a
// twentieth of the files. Some file systems count no files.
func lacksRoom(fs *unix.Statfs_t) bool {
	block := uint64(fs.Bsize)
	return fs.Bavail*block < min(keptFree, fs.Blocks*block/10) || fs.Ffree < fs.Files/20
}
