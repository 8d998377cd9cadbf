package devstacktest

import "syscall"

const (
	memoryDir = "/dev/shm"
	// memoryNeeded is far more than the databases of one test binary use. The default in a container is 64 MiB.
	memoryNeeded = 4 << 30
	writable     = 2 // W_OK of access(2)
)

// dataDir returns the directory in memory if it has enough space, and otherwise "", the system's temporary directory. Each test creates and
// drops a database of several hundred files, which takes half as long in memory.
func dataDir() string {
	var fs syscall.Statfs_t
	if syscall.Statfs(memoryDir, &fs) != nil || int64(fs.Bavail)*fs.Bsize < memoryNeeded || syscall.Access(memoryDir, writable) != nil {
		return ""
	}
	return memoryDir
}
