package chaos

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// canTell says that the system tells the processor time of processes.
const canTell = true

// tick is the unit of /proc, in seconds. It is 100 Hz on every architecture that Go runs on.
const tick = 0.01

// stat returns the fields of /proc/PID/stat after the name: the first one is the state.
func stat(pid int) []string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil
	}
	_, fields, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
	return strings.Fields(fields)
}

// seconds returns the processor time of processes, with that of their ended children.
func seconds(pids ...int) (sum float64) {
	for _, pid := range pids {
		fields := stat(pid)
		if len(fields) < 15 {
			continue
		}
		for _, field := range fields[11:15] { // utime, stime, cutime, cstime
			n, _ := strconv.ParseFloat(field, 64)
			sum += n * tick
		}
	}
	return sum
}

// memory returns the resident memory of a process, in bytes, and the number of its open files and sockets.
func memory(pid int) (bytes int64, files int) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	text, err := os.ReadFile(filepath.Join(dir, "statm"))
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		bytes = pages * int64(os.Getpagesize())
	}
	open, _ := os.ReadDir(filepath.Join(dir, "fd"))
	return bytes, len(open)
}

// withChildren returns a process and its children.
func withChildren(pid int) []int {
	pids := []int{pid}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if fields := stat(child); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			pids = append(pids, child)
		}
	}
	return pids
}
