package secretfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permissions to look at")
	}
	dir := t.TempDir()
	const secret = "ghp_16C7e42F292c"
	for _, tc := range []struct {
		mode  os.FileMode
		most  int64
		fault string
	}{
		{0o600, 16, ""}, {0o400, 100, ""}, {0o640, 100, "(mode 0640)"}, {0o604, 100, "(mode 0604)"}, {0o602, 100, "(mode 0602)"}, {0o600, 15, "larger than 15 bytes"},
	} {
		path := filepath.Join(dir, "f")
		_ = os.Remove(path)
		if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tc.mode); err != nil {
			t.Fatal(err)
		}
		text, err := Read(path, tc.most)
		if tc.fault == "" {
			if err != nil || string(text) != secret {
				t.Errorf("%o: %q, %v", tc.mode, text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.fault) || strings.Contains(err.Error(), secret) || text != nil {
			t.Errorf("%o: %q, %v", tc.mode, text, err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := Read(path, 10); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}

// TestPipes: a pipe is read where a person gives it, and nowhere else, and is not
// waited for there.
func TestPipes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no named pipes")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	if err := exec.Command("mkfifo", "-m", "644", path).Run(); err != nil {
		t.Skipf("mkfifo: %v", err)
	}
	// Nobody writes.
	if text, err := Read(path, 10); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("%q, %v", text, err)
	}
	for _, tc := range []struct{ text, fault string }{{"ghp_16C7", ""}, {"", ""}, {"ghp_16C7e42", "larger than 10 bytes"}} {
		written := make(chan error, 1)
		go func() { written <- os.WriteFile(path, []byte(tc.text), 0) }()
		text, err := ReadPiped(path, 10)
		if tc.fault == "" && (err != nil || string(text) != tc.text) || tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault) || text != nil) {
			t.Errorf("%q, %v, want %q %s", text, err, tc.text, tc.fault)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadPiped(open, 10); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{open, dir, filepath.Join(dir, "none"), os.DevNull} {
		if text, err := ReadPiped(path, 10); err == nil {
			t.Errorf("%s was read: %q", path, text)
		}
	}
}

// TestFilesOfRoot: the volume of a Secret in Kubernetes and a credential of systemd belong to root, and the worker reads them as a member
// of their group. No other file may be read by a group, and no file by everybody.
func TestFilesOfRoot(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		mode        os.FileMode
		owner, self int
		open        bool
	}{
		{0o440, 0, 65532, false}, {0o640, 0, 65532, false}, {0o400, 0, 65532, false},
		{0o444, 0, 65532, true}, {0o660, 0, 65532, true}, {0o460, 0, 65532, true}, {0o450, 0, 65532, true}, {0o441, 0, 65532, true},
		{0o440, 65532, 65532, true}, {0o440, 1000, 65532, true}, {0o440, -1, 65532, true}, {0o440, 0, 0, true},
		{0o600, 65532, 65532, false}, {0o600, 0, 0, false},
	} {
		if got := isOpen(tc.mode, tc.owner, tc.self); got != tc.open {
			t.Errorf("%04o of %d, read by %d: open is %t, want %t", tc.mode, tc.owner, tc.self, got, tc.open)
		}
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && owner(info) != os.Geteuid() {
		t.Errorf("the owner of a file of %d is %d", os.Geteuid(), owner(info))
	}
}
