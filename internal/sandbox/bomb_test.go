//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestBombs (fault 61): what a script does to the resources of the machine ends at a limit, the report names it, and no process is left.
func TestBombs(t *testing.T) {
	dir := workspace(t)
	s := box(t, dir)
	marker := fmt.Sprintf("86400.%d", os.Getpid()) // an argument of sleep that no other process has
	limited := s.cgroups != nil
	for _, c := range []struct {
		name, script string
		timeout      time.Duration
		output       int64
		by           capability.Limit
		reached      []capability.Limit
		code         int
		signal       string
		out          string
		needsGroup   bool
	}{
		{name: "success", script: "echo a; echo b >&2", out: "a\nb\n"},
		{name: "exit status", script: "exit 3", code: 3},
		{name: "signal", script: "kill -SEGV $$", code: -1, signal: "SIGSEGV"},
		{name: "background", script: "sleep " + marker + " & echo a", out: "a\n"},
		{name: "daemon", script: "(setsid nohup sh -c 'trap \"\" TERM HUP; sleep " + marker + "' >/dev/null 2>&1 &); echo a", out: "a\n"},
		{name: "two forks", script: "( ( sleep " + marker + " & ) & ); echo a", out: "a\n"},
		{name: "closed output", script: "exec >/dev/null 2>&1; sleep " + marker, timeout: time.Second, by: capability.LimitTime, code: -1, signal: "SIGKILL"},
		{name: "ignored signals", script: "trap '' TERM INT HUP; sleep " + marker, timeout: time.Second, by: capability.LimitTime, code: -1, signal: "SIGKILL"},
		{name: "processor", script: "while :; do :; done", timeout: time.Second, by: capability.LimitTime, code: -1, signal: "SIGKILL"},
		{name: "endless output", script: "yes", output: 1 << 20, by: capability.LimitOutput, code: -1, signal: "SIGKILL"},
		{name: "as much output as it may write", script: "head -c 1000 /dev/zero", output: 1000, out: strings.Repeat("\x00", 1000)},
		{name: "one line", script: "head -c 3000000 /dev/zero | tr '\\0' x", out: strings.Repeat("x", 3_000_000)},
		{name: "terminal", script: "printf '\\033]0;x\\007\\033[2J'", out: "\x1b]0;x\x07\x1b[2J"}, // the bytes are kept; who shows them cleans them
		{name: "large file", script: "exec truncate -s 2000000000 large", code: -1, signal: "SIGXFSZ"},
		{name: "memory", script: "exec tail /dev/zero", by: capability.LimitMemory, code: -1, signal: "SIGKILL", needsGroup: true},
		{name: "memory of a child", script: "tail /dev/zero; echo $?", reached: []capability.Limit{capability.LimitMemory}, out: "Killed\n137\n", needsGroup: true},
		{name: "memory in tmp", script: "exec head -c 300000000 /dev/zero > /tmp/x", by: capability.LimitMemory, code: -1, signal: "SIGKILL", needsGroup: true},
		{name: "processes", script: "./probe forks >/workspace/forks; true", reached: []capability.Limit{capability.LimitProcesses}, needsGroup: true},
		// The shell forks only once, before the bomb: a fork that fails would end it with 2.
		{name: "fork bomb", script: "exec 2>/dev/null; b() { b | b & }; b & exec sleep " + marker, timeout: time.Second, by: capability.LimitTime, code: -1, signal: "SIGKILL", needsGroup: true},
		{name: "after all", script: "echo fine", out: "fine\n"},
	} {
		if c.needsGroup && !limited {
			continue
		}
		end, out := run(t, s, capability.Command{Script: c.script, Timeout: c.timeout, MaxOutput: c.output})
		if c.by != "" {
			c.reached = append(c.reached, c.by)
		}
		slices.Sort(c.reached)
		if c.name == "fork bomb" { // a slow machine kills it before it reaches the limit
			end.Reached = slices.DeleteFunc(end.Reached, func(l capability.Limit) bool { return l == capability.LimitProcesses })
		}
		if end.ExitCode != c.code || end.Signal != c.signal || end.StoppedBy != c.by || !slices.Equal(end.Reached, c.reached) {
			t.Errorf("%s: %+v", c.name, end)
		}
		if c.out != "" && out != c.out {
			t.Errorf("%s prints %.200q, %d bytes", c.name, out, len(out))
		}
		if pids := processesWith(t, marker); len(pids) > 0 {
			t.Errorf("%s: the processes %v are left", c.name, pids)
		}
		if !limited {
			continue
		}
		for _, in := range s.cgroups.dirs() {
			if left, _ := filepath.Glob(filepath.Join(in, fmt.Sprintf("%s%d-*", groupPrefix, os.Getpid()))); len(left) > 0 {
				t.Errorf("%s: the groups %v are left", c.name, left)
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "forks")); limited && (err != nil || !strings.HasPrefix(string(text), "started ")) {
		t.Errorf("the probe counts %q, %v", text, err)
	}
}

// TestCancel: the end of the context, and of the writer, kill every process.
func TestCancel(t *testing.T) {
	s := box(t, workspace(t))
	marker := fmt.Sprintf("86401.%d", os.Getpid())
	c := capability.Command{Script: "(setsid sleep " + marker + " &) ; echo begun; sleep " + marker, Timeout: time.Hour, MaxOutput: 1 << 20}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := s.Run(ctx, c, writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, it ends with %v", err)
	}
	full := errors.New("the quota is full")
	if _, err := s.Run(t.Context(), c, writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("without room, it ends with %v", err)
	}
	if pids := processesWith(t, marker); len(pids) > 0 {
		t.Errorf("the processes %v are left", pids)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestWorkerIsKilled: a worker that has no time to clean up leaves no process of a script.
func TestWorkerIsKilled(t *testing.T) {
	dir := workspace(t)
	box(t, dir)
	marker := fmt.Sprintf("86402.%d", os.Getpid())
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	worker := exec.Command(exe, workerArg, dir, "(setsid sleep "+marker+" &); echo begun; sleep "+marker)
	var log bytes.Buffer
	worker.Stderr = &log
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatalf("the worker prints %q, %v\n%s", line, err, log.String())
	}
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait()
	for deadline := time.Now().Add(30 * time.Second); ; {
		pids := processesWith(t, marker)
		if len(pids) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the processes %v are left", pids)
		}
	}
	box(t, dir) // removes the groups of the dead worker
	if c, err := openCgroups(MaxMemory); err == nil {
		for _, in := range c.dirs() {
			if left, _ := filepath.Glob(filepath.Join(in, fmt.Sprintf("%s%d-*", groupPrefix, worker.Process.Pid))); len(left) > 0 {
				t.Errorf("the groups %v are left", left)
			}
		}
	}
}

// TestDirectories: a script runs in a directory of the workspace, and in no other.
func TestDirectories(t *testing.T) {
	dir := workspace(t)
	s := box(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "root")); err != nil {
		t.Fatal(err)
	}
	// A name is data, whatever a shell or a program would make of it as a word (fault 62).
	for _, odd := range []string{"-rf", "--output=made", "$(touch made)", "`touch made`", "a; touch made", "a\ntouch made", "a\u00a0-L\u2003b", "~", "*"} {
		if err := os.Mkdir(filepath.Join(dir, odd), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, out := run(t, s, capability.Command{Script: "pwd -P", Dir: odd}); out != "/workspace/"+odd+"\n" {
			t.Errorf("in %q: %q", odd, out)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "made")); !os.IsNotExist(err) {
		t.Errorf("a name was run: %v", err)
	}
	for in, want := range map[string]string{"": "/workspace\n", ".": "/workspace\n", "a/b": "/workspace/a/b\n", "a/../a": "/workspace/a\n", "root": "/\n"} { // root of the sandbox
		if _, out := run(t, s, capability.Command{Script: "pwd -P", Dir: in}); out != want {
			t.Errorf("in %q: %q", in, out)
		}
	}
	for in, want := range map[string]error{"..": capability.ErrOutside, "a/../../b": capability.ErrOutside, "/etc": capability.ErrOutside, "none": capability.ErrNotExist, "probe": capability.ErrNotExist, "a\x00": capability.ErrBadPath} {
		if _, err := s.Run(t.Context(), capability.Command{Script: "pwd", Dir: in, Timeout: time.Minute, MaxOutput: 1000}, io.Discard); !errors.Is(err, want) {
			t.Errorf("in %q: %v, want %v", in, err, want)
		}
	}
}

// TestOpenRefuses: a sandbox without a protection that is not given up by name does not open.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(t.Context(), Options{Workspace: dir, Without: []string{Files}}); err == nil || !strings.Contains(err.Error(), "no protection that a shell can do without") {
		t.Errorf("without files: %v", err)
	}
	if _, err := Open(t.Context(), Options{Workspace: filepath.Join(dir, "none"), Without: without()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a workspace: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"": "no workspace is named", "/": "and / contains", link: "and / contains", "/proc": "contains /proc", "/etc": "contains /etc", "/usr/": "contains /usr", "/home": "contains /home", "/root": "contains /root",
		filepath.Dir(program): "the program of the worker",
	} {
		if _, err := Open(t.Context(), Options{Workspace: name, Without: append(without(), User)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the workspace %q: %v, want %q", name, err, want)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	if _, err := Open(t.Context(), Options{Workspace: dir, Without: without()}); err == nil || !strings.Contains(err.Error(), "scripts would be root") {
		t.Errorf("for a workspace of root: %v", err)
	}
	other := t.TempDir()
	if err := os.Chown(other, 12345, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Workspace: other, Without: without()}); err == nil || !strings.Contains(err.Error(), "another user and group") {
		t.Errorf("for a workspace of the group of root: %v", err)
	}
	s, err := Open(t.Context(), Options{Workspace: dir, Without: append(without(), User, Network)})
	if err != nil {
		t.Fatal(err)
	}
	end, out := run(t, s, capability.Command{Script: "grep Cap /proc/self/status; ls /proc/sys; touch x; ls /sys/class/net /proc/net 2>&1 | head -3"})
	if strings.Count(out, "0000000000000000") != 5 || !strings.Contains(out, "cannot access '/proc/sys'") || slices.Contains(end.Protections, User) || slices.Contains(end.Protections, Network) {
		t.Errorf("as root: %+v\n%s", end, out)
	}
}

// TestOOMScore: a worker with a score that root has set as the minimum can run scripts, and the first process keeps that score.
func TestOOMScore(t *testing.T) {
	const own = "/proc/self/oom_score_adj"
	before, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	s := box(t, workspace(t))
	if err := os.WriteFile(own, []byte("300"), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.WriteFile(own, before, 0) }()
	if _, out := run(t, s, capability.Command{Script: "cat /proc/self/oom_score_adj; until grep -v 1000 /proc/1/oom_score_adj; do :; done"}); out != "1000\n300\n" {
		t.Errorf("the scores of the script and of the first process: %q", out)
	}
}
