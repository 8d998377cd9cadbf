//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are the system calls that fail with EPERM. Most of them need a right that a script does not have. They are
// refused in addition, because the kernel has had faults in them.
var refused = []uint32{
	// Namespaces, mounts and roots.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	// Keys of the kernel, which have no namespace.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// Large interfaces of the kernel.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_FANOTIFY_INIT, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	// The machine.
	unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE,
}

// createFlags are the flags with which the calls that open files use their mode.
const createFlags = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// setID are the bits of a mode that make a program run as the owner or the group of its file. Without the filter a script could leave a
// program in the workspace that gives every user of the machine the rights of the script's user, outside of the sandbox.
const setID = unix.S_ISUID | unix.S_ISGID

// modal are the calls that give a file a mode. flags is the number of the argument that has flags, or -1.
var modal = append(modalOfMachine, []modalCall{
	{unix.SYS_FCHMOD, -1, 1}, {unix.SYS_FCHMODAT, -1, 2}, {unix.SYS_FCHMODAT2, -1, 2}, {unix.SYS_MKNODAT, -1, 2}, {unix.SYS_OPENAT, 2, 3},
}...)

type modalCall struct {
	number      uint32
	flags, mode int
}

// families are the families of sockets that a script may have. Others, such as AF_VSOCK, are not in the namespace of the network.
var families = []uint32{unix.AF_UNSPEC, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Offsets in struct seccomp_data on machines that are little-endian.
const (
	callNumber   = 0
	callArch     = 4
	firstArg     = 16
	x32Bit       = 0x40000000
	archAMD64    = 0xc000003e
	archARM64    = 0xc00000b7
	refuse       = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	notThere     = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	notSupported = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	notForFiles  = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)
)

// arg returns the offset of an argument. No call of the filter has a larger value than 32 bits there.
func arg(n int) uint32 { return firstArg + 8*uint32(n) }

// filter returns the filter of system calls. Calls of another architecture, such as those of 32-bit programs, end the process, because
// their numbers mean other calls.
func filter() []bpf.Instruction {
	native := uint32(archAMD64)
	if runtime.GOARCH == "arm64" {
		native = archARM64
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: callArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: native, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: callNumber, Size: 4},
	}
	if runtime.GOARCH == "amd64" {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1}, bpf.RetConstant{Val: notThere})
	}
	for _, number := range refused {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipFalse: 1}, bpf.RetConstant{Val: refuse})
	}
	for _, c := range modal {
		var judge []bpf.Instruction
		if c.flags >= 0 {
			judge = append(judge, bpf.LoadAbsolute{Off: arg(c.flags), Size: 4}, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: createFlags, SkipTrue: 1},
				bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
		}
		judge = append(judge, bpf.LoadAbsolute{Off: arg(c.mode), Size: 4}, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: setID, SkipFalse: 1},
			bpf.RetConstant{Val: refuse}, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
		program = append(append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.number, SkipFalse: uint8(len(judge))}), judge...)
	}
	// The arguments of clone3 and openat2 are in memory, which a filter cannot read: programs use clone and openat if they are missing.
	program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE3, SkipFalse: 1}, bpf.RetConstant{Val: notThere},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_OPENAT2, SkipFalse: 1}, bpf.RetConstant{Val: notThere},
		// A file system would be full before watchRoom looks again. Programs write zeros instead.
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_FALLOCATE, SkipFalse: 1}, bpf.RetConstant{Val: notForFiles},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE, SkipFalse: 4},
		bpf.LoadAbsolute{Off: arg(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipFalse: 1},
		bpf.RetConstant{Val: refuse},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SOCKET, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SOCKETPAIR, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
		bpf.LoadAbsolute{Off: arg(0), Size: 4})
	for _, family := range families {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipFalse: 1}, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	}
	return append(program, bpf.RetConstant{Val: notSupported})
}

// installFilter puts the filter on every thread of this process. They must not be able to get new rights.
func installFilter() error {
	raw, err := bpf.Assemble(filter())
	if err != nil {
		return fmt.Errorf("the filter of system calls: %w", err)
	}
	instructions := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		instructions[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	program := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("the filter of system calls: %w", errno)
	}
	return nil
}
