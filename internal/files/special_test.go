//go:build unix

package files_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// within fails the test if f has not returned in time, as it would not if it
// waited for the other end of a pipe.
func within(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

func TestSpecialFilesAreRefused(t *testing.T) {
	w, dir := open(t)
	special := []string{"fifo", "socket"}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	// A socket's path is at most about 100 bytes, t.TempDir's may be longer.
	t.Chdir(dir)
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, device := range map[string]int{"zero": 1<<8 | 5, "tty": 5 << 8} {
		if err := syscall.Mknod(filepath.Join(dir, name), syscall.S_IFCHR|0o666, device); err == nil {
			special = append(special, name)
		} else if !errors.Is(err, syscall.EPERM) {
			t.Fatal(err)
		}
	}
	for _, name := range special {
		link(t, name, filepath.Join(dir, "to-"+name))
		for _, path := range []string{name, "to-" + name} {
			for op, f := range operations(w) {
				want := capability.ErrNotRegular
				if op == "list" {
					want = capability.ErrNotDir
				}
				if err := within(t, op+" "+path, func() error { return f(t.Context(), path) }); !errors.Is(err, want) {
					t.Errorf("%s %s: %v, want %v", op, path, err, want)
				}
				below := path + "/below"
				if err := within(t, op+" "+below, func() error { return f(t.Context(), below) }); !errors.Is(err, capability.ErrNotDir) {
					t.Errorf("%s %s: %v, want ErrNotDir", op, below, err)
				}
			}
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "fifo")); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is now %v, %v", info, err)
	}
	listing, err := w.List(t.Context(), ".", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range listing.Entries {
		want := capability.TypeOther
		if strings.HasPrefix(e.Path, "to-") {
			want = capability.TypeSymlink
		}
		if e.Type != want || e.Size != 0 {
			t.Errorf("listed %+v, want type %s", e, want)
		}
	}
}

// A reader must not be led to a pipe by one who puts it in a file's place
// between the look and the opening.
func TestSwappedForPipe(t *testing.T) {
	w, dir := open(t)
	name, pipe, file := filepath.Join(dir, "name"), filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	write(t, file, "x")
	stop := swapLinks(t, name, "pipe", "file")
	read, refused := 0, 0
	for i := 0; i < rounds(t) || read == 0 || refused == 0; i++ {
		err := within(t, "reading", func() error {
			f, _, err := w.Open(t.Context(), "name", 10)
			if err != nil {
				return err
			}
			defer f.Close()
			if content, err := io.ReadAll(f); err != nil || string(content) != "x" {
				t.Errorf("read %q, %v", content, err)
			}
			return nil
		})
		switch {
		case err == nil:
			read++
		case errors.Is(err, capability.ErrNotRegular):
			refused++
		default:
			t.Errorf("Open: %v", err)
		}
		if err := within(t, "replacing", func() error {
			return w.Replace(t.Context(), "pipe/x", nil, capability.ReplaceOptions{})
		}); !errors.Is(err, capability.ErrNotDir) {
			t.Errorf("Replace: %v, want ErrNotDir", err)
		}
	}
	stop()
	t.Logf("read %d, refused %d", read, refused)
}

// Hard links are files like others: read through, and left alone by writing.
func TestHardLinks(t *testing.T) {
	w, dir := open(t)
	outside := filepath.Join(filepath.Dir(dir), "secret")
	if err := os.Link(outside, filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	if got, _, err := read(t, w, "hard", 100); err != nil || got != secret {
		t.Errorf("read %q, %v", got, err)
	}
	if err := w.Replace(t.Context(), "hard", []byte("new"), capability.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, filepath.Join(dir, "hard")); got != "new" {
		t.Errorf("the link holds %q", got)
	}
	if got := mustRead(t, outside); got != secret {
		t.Errorf("the file outside holds %q", got)
	}
}
