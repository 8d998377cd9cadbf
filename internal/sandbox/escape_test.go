//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// TestEscapes (faults 60 and 61): what a script tries against the machine and the worker fails, for the reason that it should.
func TestEscapes(t *testing.T) {
	dir := workspace(t)
	t.Setenv("PAWL_DATABASE_URL", "postgres://pawl:canary-7Qx@db/pawl")
	t.Setenv("LD_PRELOAD", "")
	outside := t.TempDir()
	file := filepath.Join(outside, "keyring")
	if err := os.WriteFile(file, []byte("canary-7Qx"), 0o644); err != nil {
		t.Fatal(err)
	}
	// This descriptor is inherited by every program that this one starts, as one that the worker's own parent left open.
	if fd, err := unix.Open(file, unix.O_RDONLY, 0); err != nil {
		t.Fatal(err)
	} else {
		defer unix.Close(fd)
	}
	for name, target := range map[string]string{"link": file, "dirlink": outside} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	reached := make(chan string, 10)
	abstract := fmt.Sprintf("pawl-sandbox-%d", os.Getpid())
	addresses := map[string]string{}
	for name, at := range map[string][2]string{"tcp": {"tcp", "127.0.0.1:0"}, "abstract": {"unix", "@" + abstract}, "unix": {"unix", filepath.Join(outside, "s")}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		addresses[name] = l.Addr().String()
		go func() {
			if _, err := l.Accept(); err == nil {
				reached <- name
			}
		}()
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	s := box(t, dir)
	end, out := run(t, s, capability.Command{Script: fmt.Sprintf("./probe escape %d %s %s %s %s %s", os.Getpid(), addresses["tcp"], packets.LocalAddr(), abstract, addresses["unix"], file)})
	if end.ExitCode != 0 || !strings.HasSuffix(out, "end\n") {
		t.Fatalf("the probe did not come to its end: %+v\n%s", end, out)
	}
	got := map[string]string{}
	for line := range strings.Lines(out) {
		name, answer, _ := strings.Cut(strings.TrimSpace(line), ": ")
		got[name] = answer
	}
	const refused, hidden, denied, readOnlyFS = "operation not permitted", "no such file or directory", "permission denied", "read-only file system"
	want := map[string]string{
		"end": "", "udp": "DONE", "tcp": "connection refused", "abstract socket": "connection refused", "unix socket": hidden, "internet": "network is unreachable", "dns": "network is unreachable",
		"vsock": "address family not supported by protocol", "packet socket": "address family not supported by protocol", "alg socket": "address family not supported by protocol",
		"vsock pair": "address family not supported by protocol", "packet socket pair": "address family not supported by protocol", "alg socket pair": "address family not supported by protocol", "bluetooth pair": "address family not supported by protocol", "unix pair": "DONE",
		"open with setuid": refused, "open without a name with setuid": refused, "open": "DONE", "chmod setuid": refused, "chmod setgid": refused, "fchmodat2 setuid": refused, "mknod setuid": refused,
		"chmod": "DONE", "openat2": "function not implemented",
		"bluetooth": "address family not supported by protocol", "raw socket": refused, "signal to the worker": "no such process",
		"/proc/1/environ": denied, "/proc/1/mem": denied, "/proc/1/fd/3": denied, "/proc/1/root/etc/passwd": denied, "/proc/WORKER/environ": hidden, "/proc/WORKER/mem": hidden, "FILE": hidden, "/proc/self/rootFILE": hidden,
		"/proc/sys/kernel/core_pattern": hidden, "/proc/sysrq-trigger": hidden, "/proc/kcore": hidden, "/sys/fs/cgroup": hidden, "/dev/mem": hidden, "/etc/shadow": hidden, "/run": hidden, "/var": hidden, "/root": hidden, "/home": hidden,
		"ptrace": refused, "process_vm_readv": refused, "unshare user": refused, "clone user": refused, "clone3": "function not implemented", "setns": refused, "mount": refused, "umount": refused, "open_tree": refused,
		"chroot": refused, "pivot_root": refused, "mknod": refused, "keyctl": refused, "add_key": refused, "request_key": refused, "bpf": refused, "perf_event_open": refused, "io_uring": refused, "userfaultfd": refused,
		"open_by_handle_at": refused, "reboot": refused, "init_module": refused, "settimeofday": refused, "sethostname": refused, "syslog": refused, "x32": "function not implemented",
		"setgroups": refused, "raise a limit": refused, "write /usr/x": readOnlyFS, "write /etc/x": readOnlyFS, "write /x": readOnlyFS, "write /dev/x": readOnlyFS, "write /proc/x": hidden, "write /bin/sh": readOnlyFS, "write /etc/passwd": readOnlyFS,
	}
	for name, answer := range want {
		if got[name] != answer {
			t.Errorf("%s: %q, want %q", name, got[name], answer)
		}
	}
	if got["setuid"] == "DONE" {
		t.Error("the script is root")
	}
	select {
	case name := <-reached:
		t.Errorf("the script reached the %s socket of the machine", name)
	default:
	}
	if err := packets.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := packets.ReadFrom(make([]byte, 10)); n > 0 {
		t.Error("the script sent a packet to the machine")
	}

	_, out = run(t, s, capability.Command{Script: `
echo "env: $(env | sort | cut -d= -f1 | tr '\n' ' ')"
echo "fds: $(ls /proc/self/fd | tr '\n' ' ')"
grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status
echo "link: $(cat link dirlink/keyring 2>&1)"
echo "setuid: $(chmod u+s probe 2>&1)"
grep 'core file' /proc/self/limits | tr -s ' '
echo "stdin: $(wc -c)"
echo "terminal: $( { : > /dev/tty; } 2>&1 )"
echo "processes: $(ls /proc | grep -c '^[0-9]')"
echo "tmp: $(df -k /tmp | tail -1 | tr -s ' ' | cut -d' ' -f2), files $(ls -A /tmp | wc -l)"
echo "file: $(ulimit -f), core: $(ulimit -c), open: $(ulimit -n)"
echo "user: $(id -u):$(id -g):$(id -G)"
echo "host: $(uname -n)"
echo kept > file; ln -s /etc/passwd made
env; cat /proc/*/environ 2>/dev/null; cat /proc/*/cmdline`})
	for _, line := range []string{
		"env: HOME LANG PATH PWD \n", "CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
		"CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "link: cat: link: No such file", "setuid: chmod: changing permissions of 'probe': Operation not permitted\n", "Max core file size 1 1 bytes", "stdin: 0\n", fmt.Sprintf("tmp: %d, files 0\n", MaxTmp>>10),
		fmt.Sprintf("file: %d, core: 0, open: %d\n", MaxFile/512, MaxOpenFiles), "user: 1000:1000:1000\n", "host: sandbox\n", "fds: 0 1 2 3 \n",
	} {
		// The groups of a user stay, and the namespace does not name them.
		if groups, err := os.Getgroups(); err == nil && os.Geteuid() != 0 && slices.ContainsFunc(groups, func(g int) bool { return g != os.Getegid() }) {
			out = strings.ReplaceAll(out, " 65534\n", "\n")
		}
		if !strings.Contains(out, line) {
			t.Errorf("no line %q", line)
		}
	}
	if strings.Contains(out, "canary") || t.Failed() {
		t.Errorf("the script prints\n%s", out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); string(text) != "kept\n" {
		t.Errorf("a file of the workspace is %q, %v", text, err)
	}
	if text, err := os.ReadFile(file); string(text) != "canary-7Qx" {
		t.Errorf("the file outside is %q, %v", text, err)
	}
}

// TestFilter: calls of other architectures end the process, and no call of the list passes.
func TestFilter(t *testing.T) {
	vm, err := bpf.NewVM(filter())
	if err != nil {
		t.Fatal(err)
	}
	verdict := func(arch, number uint32, args ...uint32) uint32 {
		data := make([]byte, 64) // the machine of the package is big-endian
		binary.BigEndian.PutUint32(data[callNumber:], number)
		binary.BigEndian.PutUint32(data[callArch:], arch)
		for i, v := range args {
			binary.BigEndian.PutUint32(data[arg(i):], v)
		}
		got, err := vm.Run(data)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(got)
	}
	native, other := uint32(archAMD64), uint32(0x40000003) // of 32-bit programs
	if verdict(archARM64, unix.SYS_GETPID, 0) == unix.SECCOMP_RET_ALLOW {
		native, other = archARM64, 0x40000028
	}
	for _, number := range append([]uint32{unix.SYS_GETPID, unix.SYS_EXECVE}, refused...) {
		if got := verdict(other, number, 0); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("call %d of another architecture: %#x", number, got)
		}
	}
	for _, number := range refused {
		if got := verdict(native, number, 0); got != refuse {
			t.Errorf("call %d: %#x", number, got)
		}
	}
	for _, arg := range []uint32{0, unix.CLONE_VM | unix.CLONE_VFORK | uint32(unix.SIGCHLD)} {
		if got := verdict(native, unix.SYS_CLONE, arg); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("clone with %#x: %#x", arg, got)
		}
	}
	for _, number := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		for family, want := range map[uint32]uint32{unix.AF_UNIX: unix.SECCOMP_RET_ALLOW, unix.AF_INET6: unix.SECCOMP_RET_ALLOW, unix.AF_VSOCK: notSupported, unix.AF_TIPC: notSupported} {
			if got := verdict(native, number, family); got != want {
				t.Errorf("call %d of family %d: %#x", number, family, got)
			}
		}
	}
	for _, c := range modal {
		for mode, want := range map[uint32]uint32{0o755: unix.SECCOMP_RET_ALLOW, 0o1777: unix.SECCOMP_RET_ALLOW, 0o4755: refuse, 0o2755: refuse, 0o6000: refuse} {
			args := make([]uint32, 6)
			args[c.mode] = mode
			if c.flags >= 0 {
				if got := verdict(native, c.number, args...); got != unix.SECCOMP_RET_ALLOW {
					t.Errorf("call %d that makes no file, mode %o: %#x", c.number, mode, got)
				}
				args[c.flags] = unix.O_CREAT
			}
			if got := verdict(native, c.number, args...); got != want {
				t.Errorf("call %d with mode %o: %#x, want %#x", c.number, mode, got, want)
			}
		}
	}
	for _, number := range []uint32{unix.SYS_GETPID, unix.SYS_EXECVE, unix.SYS_OPENAT, unix.SYS_MMAP} {
		if got := verdict(native, number, 0); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("call %d: %#x", number, got)
		}
	}
}
