//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// probe is what the program does inside of the sandbox: it tries to get out, and prints what each attempt came to.
func probe(args []string) {
	switch args[0] {
	case "uid":
		fmt.Fprintln(os.Stdout, os.Geteuid())
	case "forks":
		started := 0
		for range 2 * MaxProcesses {
			if exec.Command("/bin/sleep", "60").Start() != nil {
				break
			}
			started++
		}
		fmt.Fprintln(os.Stdout, "started", started)
	case "escape":
		escape(args[1], args[2], args[3], args[4], args[5], args[6])
	}
}

// escape tries what needs system calls. pid is that of the worker; the others are sockets of the machine and a file of the worker.
func escape(pid, tcp, udp, abstract, socket, file string) {
	say := func(name string, err error) {
		if err == nil {
			fmt.Fprintln(os.Stdout, name+": DONE")
			return
		}
		errno := err
		for _, cut := range []string{": ", ": "} {
			if i := strings.LastIndex(errno.Error(), cut); i >= 0 {
				errno = fmt.Errorf("%s", errno.Error()[i+2:])
			}
		}
		fmt.Fprintf(os.Stdout, "%s: %v\n", name, errno)
	}
	call := func(name string, number uintptr, args ...uintptr) {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno == 0 {
			say(name, nil)
		} else {
			say(name, errno)
		}
	}
	dial := func(name, network, address string) {
		c, err := net.DialTimeout(network, address, 2*time.Second)
		if err == nil {
			_, err = c.Write([]byte("escaped"))
		}
		say(name, err)
	}
	dial("tcp", "tcp", tcp)
	dial("udp", "udp", udp) // its own loopback device takes the packet
	dial("abstract socket", "unix", "@"+abstract)
	dial("unix socket", "unix", socket)
	dial("internet", "tcp", "1.1.1.1:53")
	_, err := net.LookupHost("example.com")
	say("dns", map[bool]error{true: unix.ENETUNREACH, false: nil}[err != nil])
	for name, family := range map[string]int{"vsock": unix.AF_VSOCK, "packet socket": unix.AF_PACKET, "alg socket": unix.AF_ALG, "bluetooth": unix.AF_BLUETOOTH} {
		_, err := unix.Socket(family, unix.SOCK_DGRAM, 0)
		say(name, err)
		_, err = unix.Socketpair(family, unix.SOCK_DGRAM, 0)
		say(name+" pair", err)
	}
	_, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	say("raw socket", err)
	worker, _ := strconv.Atoi(pid)
	say("signal to the worker", unix.Kill(worker, unix.SIGKILL))
	for _, name := range []string{"/proc/1/environ", "/proc/1/mem", "/proc/1/fd/3", "/proc/1/root/etc/passwd", "/proc/" + pid + "/environ", "/proc/" + pid + "/mem", file, "/proc/self/root" + file, "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/kcore", "/sys/fs/cgroup", "/dev/mem", "/etc/shadow", "/run", "/var", "/root", "/home"} {
		f, err := os.Open(name)
		if err == nil {
			_, err = f.Read(make([]byte, 1))
		}
		say(strings.ReplaceAll(strings.ReplaceAll(name, pid, "WORKER"), file, "FILE"), err)
	}
	text := func(s string) uintptr { p, _ := unix.BytePtrFromString(s); return uintptr(unsafe.Pointer(p)) }
	_, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	say("unix pair", err)
	_, err = unix.Open("/tmp/setid", unix.O_CREAT|unix.O_WRONLY, unix.S_ISUID|0o755)
	say("open with setuid", err)
	_, err = unix.Open("/tmp", unix.O_TMPFILE|unix.O_WRONLY, unix.S_ISUID|0o755)
	say("open without a name with setuid", err)
	say("open", os.WriteFile("/tmp/plain", nil, 0o755))
	say("chmod setuid", unix.Chmod("/tmp/plain", unix.S_ISUID|0o755))
	say("chmod setgid", unix.Fchmodat(unix.AT_FDCWD, "/tmp/plain", unix.S_ISGID|0o755, 0))
	call("fchmodat2 setuid", unix.SYS_FCHMODAT2, ^uintptr(99), text("/tmp/plain"), unix.S_ISUID|0o755, 0)
	say("mknod setuid", unix.Mknod("/tmp/node", unix.S_IFREG|unix.S_ISUID|0o755, 0))
	say("chmod", unix.Chmod("/tmp/plain", 0o1700))
	call("openat2", unix.SYS_OPENAT2)
	call("ptrace", unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1)
	call("process_vm_readv", unix.SYS_PROCESS_VM_READV, 1)
	call("unshare user", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	call("clone user", unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD))
	call("clone3", unix.SYS_CLONE3)
	call("setns", unix.SYS_SETNS)
	call("mount", unix.SYS_MOUNT, text("none"), text("/tmp"), text("tmpfs"))
	call("umount", unix.SYS_UMOUNT2, text("/proc"))
	call("open_tree", unix.SYS_OPEN_TREE)
	call("chroot", unix.SYS_CHROOT, text("/tmp"))
	call("pivot_root", unix.SYS_PIVOT_ROOT, text("/"), text("/"))
	say("mknod", unix.Mknod("/tmp/disk", unix.S_IFBLK|0o666, 1))
	call("keyctl", unix.SYS_KEYCTL)
	call("add_key", unix.SYS_ADD_KEY)
	call("request_key", unix.SYS_REQUEST_KEY)
	call("bpf", unix.SYS_BPF)
	call("perf_event_open", unix.SYS_PERF_EVENT_OPEN)
	call("io_uring", unix.SYS_IO_URING_SETUP)
	call("userfaultfd", unix.SYS_USERFAULTFD)
	call("open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT)
	call("reboot", unix.SYS_REBOOT)
	call("init_module", unix.SYS_INIT_MODULE)
	call("settimeofday", unix.SYS_SETTIMEOFDAY)
	call("sethostname", unix.SYS_SETHOSTNAME)
	call("syslog", unix.SYS_SYSLOG, 3)
	call("x32", x32Bit|unix.SYS_GETPID)
	say("setuid", unix.Setuid(0))
	say("setgroups", unix.Setgroups([]int{0}))
	say("raise a limit", unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 2 * MaxFile, Max: 2 * MaxFile}))
	for _, sig := range []syscall.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGTERM, unix.SIGSEGV, unix.SIGQUIT, unix.SIGHUP} {
		_ = unix.Kill(1, sig)
	}
	for _, name := range []string{"/usr/x", "/etc/x", "/x", "/dev/x", "/proc/x", "/bin/sh", "/etc/passwd"} {
		say("write "+name, os.WriteFile(name, []byte("x"), 0o666))
	}
	fmt.Fprintln(os.Stdout, "end")
}
