//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Places in the root directory of a script.
const (
	workspaceDir = "/workspace"
	tmpDir       = "/tmp"
)

const (
	treeFlags   = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
	readOnly    = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readWrite   = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	deviceAttrs = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
)

// systemDirs are shown read-only, as directories or as the links that they are.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// etcDirs are shown read-only, and etcFiles are copied, so that programs find libraries, time zones and certificates. No other part of
// /etc is shown.
var (
	etcDirs  = []string{"/etc/alternatives", "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted"}
	etcFiles = []string{"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/protocols", "/etc/services", "/etc/ssl/openssl.cnf"}
	// netFiles are copied if the script has the network of the worker.
	netFiles = []string{"/etc/hosts", "/etc/resolv.conf"}
)

// maxEtcFile bounds a file of /etc that is copied, in bytes.
const maxEtcFile = 1 << 20

var devices = []string{"null", "zero", "full", "random", "urandom"}

// tree is a copy of a part of the worker's files that is not mounted yet.
type tree struct {
	fd int
	at string
	// file says that the part is one file.
	file bool
}

// root builds the root directory of a script.
type root struct {
	trees []tree
	// links maps names to their targets.
	links map[string]string
	files map[string][]byte
}

// newRoot returns the root directory of a script before it is mounted. It has clones of the mounts that the script sees, such
// as the workspace and /usr, copies of some files of /etc, and links.
func newRoot(c config) (*root, error) {
	r := &root{links: map[string]string{"/etc/mtab": "/proc/self/mounts"}, files: map[string][]byte{
		"/etc/passwd": []byte("root:x:0:0::/:/bin/false\nuser:x:" + strconv.Itoa(insideID) + ":" + strconv.Itoa(insideID) + "::" + tmpDir + ":/bin/sh\n"),
		"/etc/group":  []byte("root:x:0:\nuser:x:" + strconv.Itoa(insideID) + ":\n"),
		"/etc/hosts":  []byte("127.0.0.1 localhost\n::1 localhost\n"),
	}}
	if err := r.add(c.Workspace, workspaceDir, readWrite); err != nil {
		return nil, fmt.Errorf("the workspace: %w", err)
	}
	for _, dir := range systemDirs {
		if target, err := os.Readlink(dir); err == nil {
			r.links[dir] = target
		} else if err := r.add(dir, dir, readOnly); err != nil && !errors.Is(err, unix.ENOENT) {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	for _, dir := range etcDirs {
		if err := r.add(dir, dir, readOnly); err != nil && !errors.Is(err, unix.ENOENT) {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	copied := etcFiles
	if c.HostNetwork {
		copied = append(copied, netFiles...)
	}
	for _, name := range copied {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxEtcFile {
			continue
		}
		content, err := os.ReadFile(name)
		if err == nil {
			r.files[name] = content
		}
	}
	for _, name := range devices {
		if err := r.add("/dev/"+name, "/dev/"+name, deviceAttrs); err != nil {
			return nil, fmt.Errorf("/dev/%s: %w", name, err)
		}
		r.trees[len(r.trees)-1].file = true
	}
	return r, nil
}

// add copies the tree at from.
func (r *root) add(from, at string, attrs uint64) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, from, treeFlags)
	if err != nil {
		return err
	}
	attr := unix.MountAttr{Attr_set: attrs, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return err
	}
	r.trees = append(r.trees, tree{fd: fd, at: at})
	return nil
}

// enter makes the directory and changes to it. Nothing of the worker's files can be reached afterwards.
func (r *root) enter() error {
	// The trees are copied already, so it does not matter which directory the mount hides.
	const base = tmpDir
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=4m,mode=0755"); err != nil {
		return fmt.Errorf("mount a root directory on %s: %w", base, err)
	}
	if err := r.fill(base); err != nil {
		return err
	}
	if err := unix.Chdir(base); err != nil {
		return err
	}
	// The old root comes to lie on the new root, and is taken away.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root directory: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the files of the worker: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	for _, at := range []string{"/", "/dev"} {
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, at, 0, &attr); err != nil {
			return fmt.Errorf("make %s read-only: %w", at, err)
		}
	}
	return nil
}

func (r *root) fill(base string) error {
	for _, m := range []struct {
		at, kind, data string
		flags          uintptr
	}{
		{tmpDir, "tmpfs", fmt.Sprintf("size=%d,mode=1777", MaxTmp), unix.MS_NOSUID | unix.MS_NODEV},
		{"/dev", "tmpfs", "size=64k,mode=0755", unix.MS_NOSUID | unix.MS_NOEXEC},
		{"/dev/shm", "tmpfs", fmt.Sprintf("size=%d,mode=1777", MaxTmp), unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		// Only processes, and no settings of the kernel: the user root of the machine can change these settings without any capability.
		{"/proc", "proc", "subset=pid", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
	} {
		if err := os.MkdirAll(base+m.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, base+m.at, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	for name, target := range map[string]string{"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2"} {
		r.links[name] = target
	}
	for name, target := range r.links {
		if err := makeParent(base + name); err != nil {
			return err
		}
		if err := os.Symlink(target, base+name); err != nil {
			return err
		}
	}
	for name, content := range r.files {
		if err := makeParent(base + name); err != nil {
			return err
		}
		if err := os.WriteFile(base+name, content, 0o444); err != nil {
			return err
		}
	}
	for _, t := range r.trees {
		at := base + t.at
		var err error
		if t.file {
			err = os.WriteFile(at, nil, 0o444)
		} else {
			err = os.MkdirAll(at, 0o755)
		}
		if err != nil {
			return err
		}
		if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("mount %s: %w", t.at, err)
		}
		if err := unix.Close(t.fd); err != nil {
			return err
		}
	}
	return nil
}

func makeParent(name string) error { return os.MkdirAll(filepath.Dir(name), 0o755) }
