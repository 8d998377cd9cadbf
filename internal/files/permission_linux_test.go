package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

const nobody = 65534

// asOrdinaryUser runs f with the rights of one. Root's file rights belong to the
// thread, so the goroutine must stay on it, and a walk must have no others.
func asOrdinaryUser(t *testing.T, f func()) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if os.Geteuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Setfsuid(0); err != nil {
				t.Error(err)
			}
		}()
	}
	f()
}

func TestPermissions(t *testing.T) {
	w, dir := open(t)
	owner := os.Geteuid()
	if owner == 0 {
		owner = nobody
	}
	for _, f := range []struct {
		path string
		mode os.FileMode
	}{
		{"unreadable", 0o200}, {"readonly", 0o444}, {"closed/file", 0o644}, {"noentry/file", 0o644}, {"nowrite/file", 0o644}, {"open/file", 0o644},
	} {
		path := filepath.Join(dir, f.path)
		write(t, path, "old")
		for p, mode := path, f.mode; p != dir; p, mode = filepath.Dir(p), 0o755 {
			if err := errors.Join(os.Chown(p, owner, -1), os.Chmod(p, mode)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(os.Chown(dir, owner, -1), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0)); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"closed": 0, "noentry": 0o644, "nowrite": 0o555} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, name), 0o755) })
	}
	type attempt struct {
		op, path string
		want     error
	}
	attempts := []attempt{
		{"open", "unreadable", capability.ErrPermission}, {"open", "closed/file", capability.ErrPermission}, {"open", "readonly", nil},
		// What these are must be known without opening them: it might be a device.
		{"open", "closed", capability.ErrIsDir}, {"open", "pipe", capability.ErrNotRegular}, {"replace", "pipe", capability.ErrNotRegular},
		{"list", "closed", capability.ErrPermission}, {"list", "noentry", capability.ErrPermission}, {"list", "nowrite", nil},
		{"walk", "closed", capability.ErrPermission}, {"walk", ".", nil},
		{"replace", "readonly", capability.ErrPermission}, {"replace", "closed/file", capability.ErrPermission},
		{"replace", "noentry/new", capability.ErrPermission}, {"replace", "nowrite/new", capability.ErrPermission},
		{"replace", "nowrite/file", capability.ErrPermission}, {"replace", "open/file", nil}, {"replace", "unreadable", nil},
		{"replace, creating directories", "nowrite/a/b", capability.ErrPermission},
	}
	for _, a := range attempts {
		var err error
		asOrdinaryUser(t, func() { err = operations(w)[a.op](t.Context(), a.path) })
		if !errors.Is(err, a.want) {
			t.Errorf("as an ordinary user, %s %s: %v, want %v", a.op, a.path, err, a.want)
		}
	}
	failed := map[string]error{}
	asOrdinaryUser(t, func() {
		if err := w.Walk(t.Context(), ".", capability.WalkOptions{}, func(f capability.Found) error {
			err := f.Err()
			if err == nil {
				_, _, err = f.Open()
			}
			if strings.HasPrefix(f.Path(), "noentry") || f.Err() != nil {
				failed[strings.TrimSuffix(f.Path(), "/file")] = err
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	if len(failed) != 2 || !errors.Is(failed["closed"], capability.ErrPermission) || !errors.Is(failed["noentry"], capability.ErrPermission) {
		t.Errorf("the walk reports %v", failed)
	}
	if os.Geteuid() != 0 {
		return
	}
	for _, a := range attempts {
		if a.want != nil && !errors.Is(a.want, capability.ErrPermission) {
			continue
		}
		if err := operations(w)[a.op](t.Context(), a.path); err != nil {
			t.Errorf("as root, %s %s: %v", a.op, a.path, err)
		}
	}
	// What root replaces stays its owner's.
	for _, path := range []string{"readonly", "closed/file"} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != nobody || info.Size() != 3 {
			t.Errorf("%s is %+v, %v", path, info.Sys(), err)
		}
	}
}
