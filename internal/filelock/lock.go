package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ErrHeld is returned by Try when another process holds the lock.
var ErrHeld = errors.New("the lock is held by another process")

// poll is how often Wait looks again. The kernel's own blocking wait cannot be cancelled.
const poll = 50 * time.Millisecond

// Lock is a held lock. A child process that inherits File holds it too, until the last of them has ended.
type Lock struct{ file *os.File }

// Try takes the lock on the file at path, which it creates with mode 0600, or returns ErrHeld at once.
func Try(path string) (*Lock, error) {
	file, err := openNoFollow(path)
	if err != nil {
		return nil, fmt.Errorf("open the lock file: %w", err)
	}
	if err := tryLock(file); err != nil {
		_ = file.Close()
		return nil, err
	}
	// Write the process id for HeldBy. It is only a hint: the lock itself decides who holds it.
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	return &Lock{file: file}, nil
}

// HeldBy is the process that last took the lock on the file at path, if that process still lives; 0 if not or unknown.
func HeldBy(path string) (pid int) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err = strconv.Atoi(string(text))
	if err != nil || pid <= 0 || !alive(pid) {
		return 0
	}
	return pid
}

// Wait takes the lock as Try does, waiting for its holder until ctx ends. waiting is called once if it has to wait; nil is allowed.
func Wait(ctx context.Context, path string, waiting func()) (*Lock, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		lock, err := Try(path)
		if !errors.Is(err, ErrHeld) {
			return lock, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (%s): %w", ErrHeld, path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// File is the open lock file, to be handed to child processes that shall hold the lock too.
func (l *Lock) File() *os.File { return l.file }

// Release releases the lock of this process; the file stays. If a child process still holds the lock, or has just been forked with our
// open files, HeldBy no longer names this process.
func (l *Lock) Release() error {
	_ = l.file.Truncate(0) // HeldBy must no longer name this process
	return l.file.Close()
}
