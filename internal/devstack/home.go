package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
	"github.com/pawl-run/pawl/internal/filelock"
)

const (
	lockName = "lock"
	logName  = "server.log"

	// newPrefix marks a directory that is not locked yet. After orphanAge no process can be about to lock it.
	newPrefix = "pawl-new-"
	orphanAge = time.Hour

	// lockTimeout is long enough for the guard of a killed owner to stop its servers.
	lockTimeout = 12 * time.Second
)

// home is the directory of one server. It is locked as long as its owner, its guard or the server
// runs.
type home struct {
	dir       string
	throwaway bool
	lock      *filelock.Lock
}

// openHome opens the directory dir/kind, which stays, if persist is set. Otherwise it creates a new directory under dir, or under the
// system's temporary directory if dir is empty or the account cannot reach it.
func openHome(ctx context.Context, kind, dir string, persist bool, account *supervise.Account) (*home, error) {
	if persist {
		return openPersistent(ctx, kind, dir, account)
	}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the data directory: %w", err)
		}
	}
	for _, parent := range []string{dir, os.TempDir(), "/tmp", "/var/tmp"} {
		if parent == "" || !canReach(account, parent) {
			continue
		}
		sweep(parent, kind)
		return makeThrowaway(parent, kind, account)
	}
	return nil, errors.New("no temporary directory that the Postgres user can reach: set TMPDIR to one, or run pawl as an ordinary user")
}

func openPersistent(ctx context.Context, kind, dir string, account *supervise.Account) (*home, error) {
	if dir == "" {
		return nil, errors.New("keeping data needs a directory: set Dir")
	}
	dir, err := filepath.Abs(filepath.Join(dir, kind))
	if err != nil {
		return nil, fmt.Errorf("find the data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	if account != nil {
		if err := os.Chmod(dir, 0o711); err != nil { // the account must traverse it to its own directory
			return nil, fmt.Errorf("make the data directory: %w", err)
		}
	}
	lock, err := lockPersistent(ctx, filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	if err := os.Truncate(filepath.Join(dir, logName), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("empty the old log: %w", err), lock.Release())
	}
	return &home{dir: dir, lock: lock}, nil
}

func lockPersistent(ctx context.Context, path string) (*filelock.Lock, error) {
	lock, err := filelock.Try(path)
	if !errors.Is(err, filelock.ErrHeld) {
		return lock, err
	}
	owner := filelock.HeldBy(path)
	if owner == 0 {
		ctx, cancel := context.WithTimeout(ctx, lockTimeout)
		defer cancel()
		if lock, err = filelock.Wait(ctx, path, nil); !errors.Is(err, filelock.ErrHeld) {
			return lock, err
		}
		return nil, fmt.Errorf("%s is still in use by a server whose owner was killed: end that server or choose another directory: %w", filepath.Dir(path), err)
	}
	return nil, fmt.Errorf("%s is in use by another pawl, process %d: stop that one or choose another directory", filepath.Dir(path), owner)
}

func makeThrowaway(parent, kind string, account *supervise.Account) (*home, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	fresh, err := os.MkdirTemp(parent, newPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory (set TMPDIR to one you can write): %w", err)
	}
	lock, err := filelock.Try(filepath.Join(fresh, lockName))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(fresh))
	}
	if account != nil {
		err = os.Chmod(fresh, 0o711) // the account must traverse it to its own directory
	}
	// Rename it only after it is locked, so that no sweep finds it unlocked.
	dir := filepath.Join(parent, "pawl-"+kind+"-"+filepath.Base(fresh)[len(newPrefix):])
	if err == nil {
		err = os.Rename(fresh, dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a temporary directory: %w", err), lock.Release(), os.RemoveAll(fresh))
	}
	return &home{dir: dir, throwaway: true, lock: lock}, nil
}

// sweep deletes throwaway directories whose owner, guard and server have ended. It ignores errors, because the next sweep tries again.
func sweep(parent, kind string) {
	found, _ := filepath.Glob(filepath.Join(parent, "pawl-"+kind+"-*"))
	for _, dir := range found {
		if !isOurs(dir) {
			continue
		}
		lock, err := filelock.Try(filepath.Join(dir, lockName))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Release()
	}
	unfinished, _ := filepath.Glob(filepath.Join(parent, newPrefix+"*"))
	for _, dir := range unfinished {
		if info, err := os.Lstat(dir); err == nil && isOurs(dir) && time.Since(info.ModTime()) > orphanAge {
			_ = os.RemoveAll(dir)
		}
	}
}

func isOurs(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	uid, known := ownerOf(info)
	return known && uid == uint32(os.Geteuid())
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

// keepLog copies the log of a failed start out of a directory that will be deleted, and returns the
// new path.
func (h *home) keepLog(kind string) string {
	if !h.throwaway {
		return h.path(logName)
	}
	kept, err := os.CreateTemp("", "pawl-failed-"+kind+"-*.log")
	if err != nil {
		return "lost: " + err.Error()
	}
	defer kept.Close()
	text, err := os.ReadFile(h.path(logName))
	if err == nil {
		_, err = kept.Write(text)
	}
	if err != nil {
		return "lost: " + err.Error()
	}
	return kept.Name()
}

// close unlocks the directory, and deletes it if it is a throwaway.
func (h *home) close() error {
	var err error
	if h.throwaway {
		// Rename it first. Otherwise a sweep could find it without its lock file and create a new one during the deletion.
		dir := filepath.Join(filepath.Dir(h.dir), newPrefix+filepath.Base(h.dir))
		if os.Rename(h.dir, dir) != nil {
			dir = h.dir
		}
		if err = os.RemoveAll(dir); err != nil {
			err = fmt.Errorf("delete the temporary directory %s (delete it by hand): %w", dir, err)
		}
	}
	return errors.Join(err, h.lock.Release())
}
