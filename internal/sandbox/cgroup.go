//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groupPrefix begins the names of control groups of scripts. The process id of the worker follows.
const groupPrefix = "pawl-shell-"

// cpuPeriod is the period of the limit of processor time, in microseconds.
const cpuPeriod = 100_000

// removeTimeout bounds how long a group may keep its last processes, which are killed.
const removeTimeout = 5 * time.Second

// cgroups makes control groups below directories of the worker's own groups.
type cgroups struct {
	// unified is the directory of version 2. Otherwise there is one for each controller of version 1; cpu may be missing.
	unified             string
	memory, pids, cpuV1 string
	// maxMemory is the limit of memory of a script, in bytes.
	maxMemory int64
}

var errNoCgroup = errors.New("the worker cannot limit the processes and the memory of a script. It needs a control group below its own, " +
	"or below the parent of its own, with the controllers memory and pids, such as a systemd unit with Delegate=yes and DelegateSubgroup=worker has")

// openCgroups finds where the worker can make groups, and removes groups that workers have left behind.
func openCgroups(maxMemory int64) (*cgroups, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	c := &cgroups{maxMemory: maxMemory}
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		controllers := strings.Split(parts[1], ",")
		dir := groupDir(string(mounts), parts[1], parts[2])
		switch {
		case dir == "":
		case parts[1] == "":
			c.unified = unifiedDir(dir)
		case slices.Contains(controllers, "memory"):
			c.memory = dir
		case slices.Contains(controllers, "pids"):
			c.pids = dir
		}
		if slices.Contains(controllers, "cpu") {
			c.cpuV1 = dir
		}
	}
	if c.unified == "" && (c.memory == "" || c.pids == "") {
		return nil, errNoCgroup
	}
	for _, dir := range c.dirs() {
		removeAbandoned(dir)
	}
	return c, nil
}

// groupDir returns the directory of a group of a hierarchy, or "" if no file system shows it. controllers is "" for version 2.
func groupDir(mounts, controllers, group string) string {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		place, kind := strings.Fields(before), strings.Fields(after)
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		options := strings.Split(kind[2], ",")
		isV2 := kind[0] == "cgroup2" && controllers == ""
		isV1 := kind[0] == "cgroup" && controllers != "" && !slices.ContainsFunc(strings.Split(controllers, ","), func(name string) bool { return !slices.Contains(options, name) })
		if !isV2 && !isV1 {
			continue
		}
		if below, ok := strings.CutPrefix(group, strings.TrimSuffix(place[3], "/")); ok {
			return filepath.Join(place[4], below)
		}
	}
	return ""
}

// unifiedDir returns the group of version 2 below which groups with limits can be made: the worker's own, or its parent. A group that has
// processes cannot have such groups, so it is usually the parent.
func unifiedDir(own string) string {
	for _, dir := range []string{own, filepath.Dir(own)} {
		available, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		if err != nil || !hasWords(string(available), "memory", "pids") {
			continue
		}
		control := filepath.Join(dir, "cgroup.subtree_control")
		for _, name := range []string{"+memory", "+pids", "+cpu"} {
			_ = os.WriteFile(control, []byte(name), 0)
		}
		enabled, err := os.ReadFile(control)
		if err == nil && hasWords(string(enabled), "memory", "pids") && unix.Access(dir, unix.W_OK) == nil {
			return dir
		}
	}
	return ""
}

func hasWords(text string, words ...string) bool {
	all := strings.Fields(text)
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(all, w) })
}

func (c *cgroups) dirs() (dirs []string) {
	if c.unified != "" {
		return []string{c.unified}
	}
	for _, dir := range []string{c.memory, c.pids, c.cpuV1} {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// removeAbandoned removes the groups of workers that have ended. Only groups without processes can be removed.
func removeAbandoned(dir string) {
	groups, _ := filepath.Glob(filepath.Join(dir, groupPrefix+"*"))
	for _, g := range groups {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(g), groupPrefix), "-")
		if pid, err := strconv.Atoi(text); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			_ = unix.Rmdir(g)
		}
	}
}

// group is the control group of one script.
type group struct {
	c    *cgroups
	name string
	// limits are the optional protections that the group has, some of CPU and Swap.
	limits []string
}

// makeGroup makes a group with the limits of a script.
func (c *cgroups) makeGroup() (_ *group, err error) {
	g := &group{c: c, name: fmt.Sprintf("%s%d-%s", groupPrefix, os.Getpid(), rand.Text()), limits: []string{CPU, Swap}}
	memory := strconv.FormatInt(c.maxMemory, 10)
	cpu := max(1, runtime.NumCPU()/2) * cpuPeriod
	type setting struct {
		dir, file, value string
		// optional is the protection that is missing if the setting fails. Without a name the script does not run.
		optional string
	}
	settings := []setting{
		{c.memory, "memory.limit_in_bytes", memory, ""},
		{c.memory, "memory.memsw.limit_in_bytes", memory, Swap},
		{c.pids, "pids.max", strconv.Itoa(MaxProcesses), ""},
		{c.cpuV1, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod), CPU},
		{c.cpuV1, "cpu.cfs_quota_us", strconv.Itoa(cpu), CPU},
	}
	if c.unified != "" {
		settings = []setting{
			{c.unified, "memory.max", memory, ""},
			{c.unified, "memory.swap.max", "0", Swap},
			{c.unified, "pids.max", strconv.Itoa(MaxProcesses), ""},
			{c.unified, "cpu.max", fmt.Sprintf("%d %d", cpu, cpuPeriod), CPU},
		}
	}
	for _, dir := range c.dirs() {
		if err := unix.Mkdir(filepath.Join(dir, g.name), 0o755); err != nil {
			g.remove()
			return nil, fmt.Errorf("make a control group: %w", err)
		}
	}
	for _, s := range settings {
		if s.dir != "" {
			err = os.WriteFile(filepath.Join(s.dir, g.name, s.file), []byte(s.value), 0)
		} else {
			err = errNoCgroup
		}
		switch {
		case err == nil:
		case s.optional != "":
			g.limits = slices.DeleteFunc(g.limits, func(name string) bool { return name == s.optional })
		default:
			g.remove()
			return nil, fmt.Errorf("limit a control group: %w", err)
		}
	}
	return g, nil
}

// add moves a process into the group.
func (g *group) add(pid int) error {
	for _, dir := range g.c.dirs() {
		if err := os.WriteFile(filepath.Join(dir, g.name, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("enter a control group: %w", err)
		}
	}
	return nil
}

// outOfMemory reports whether the kernel killed a process of the group because of its memory.
func (g *group) outOfMemory() bool {
	if g.c.unified != "" {
		return g.count(g.c.unified, "memory.events", "oom_kill") > 0
	}
	return g.count(g.c.memory, "memory.oom_control", "oom_kill") > 0
}

// outOfProcesses reports whether a process of the group could not start another process.
func (g *group) outOfProcesses() bool {
	dir := g.c.pids
	if g.c.unified != "" {
		dir = g.c.unified
	}
	return g.count(dir, "pids.events", "max") > 0
}

func (g *group) count(dir, file, key string) int {
	text, _ := os.ReadFile(filepath.Join(dir, g.name, file))
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == key {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}

// remove removes the group. Its processes are killed, but the kernel may still be ending them.
func (g *group) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	for _, dir := range g.c.dirs() {
		for {
			err := unix.Rmdir(filepath.Join(dir, g.name))
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
				continue
			}
			break // the next worker that starts removes it
		}
	}
}
