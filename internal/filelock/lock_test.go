package filelock_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/filelock"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a second holder got %v", err)
	}
	if pid := filelock.HeldBy(path); pid != os.Getpid() {
		t.Errorf("it is held by %d, not %d", pid, os.Getpid())
	}
	waited := make(chan error, 1)
	waiting := make(chan struct{})
	go func() {
		second, err := filelock.Wait(t.Context(), path, func() { close(waiting) })
		if err == nil {
			err = second.Release()
		}
		waited <- err
	}()
	select {
	case <-waiting:
	case err := <-waited:
		t.Fatalf("it did not wait: %v", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := filelock.Wait(ctx, path, nil); !errors.Is(err, filelock.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAChildHoldsTheLockToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/bin/sh", "-c", "read -r end")
	child.ExtraFiles = []*os.File{lock.File()}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if pid := filelock.HeldBy(path); pid != 0 {
		t.Errorf("it is held by %d, which has released it", pid)
	}
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("while the child lives: %v", err)
	}
	_ = stdin.Close()
	_ = child.Wait() // its read found the end of its input, which is not a success
	if lock, err = filelock.Try(path); err != nil {
		t.Fatal(err)
	}
	_ = lock.Release()
}
