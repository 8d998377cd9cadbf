package seal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/seal"
)

// newFile puts a ring into a file.
func newFile(t *testing.T, r *seal.Ring) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ring.json")
	if err := seal.Create(path, r, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func add(r *seal.Ring) (*seal.Ring, error) {
	added, _, err := r.Add()
	return added, err
}

// TestFileMode: a ring is read from a file that nobody but its owner reads, and written into such a one.
func TestFileMode(t *testing.T) {
	t.Parallel()
	path := newFile(t, newRing(t))
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o700: true, 0o640: false, 0o604: false, 0o644: false, 0o620: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := seal.OpenFile(path, nil, nil)
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := seal.Change(path, nil, add); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := seal.OpenFile(filepath.Dir(path), nil, nil); err == nil {
		t.Error("a directory is a key ring")
	}
	if err := seal.Create(path, newRing(t), nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a ring is replaced: %v", err)
	}
}

// TestFileIsFollowed: who has a file open seals and opens with the ring that is put into its place; what is no ring, or not there for a
// while, changes nothing.
func TestFileIsFollowed(t *testing.T) {
	t.Parallel()
	first := newRing(t)
	path := newFile(t, first)
	f := must(seal.OpenFile(path, nil, nil))(t)
	byOld := sealed(t, f)
	if err := seal.Change(path, nil, add); err != nil {
		t.Fatal(err)
	}
	next := must(seal.Load(path, nil))(t).Keys()[1].ID
	if err := seal.Change(path, nil, func(r *seal.Ring) (*seal.Ring, error) { return r.Promote(next) }); err != nil {
		t.Fatal(err)
	}
	// Somebody else is faster and seals with the new key: it opens at once.
	if byNew := sealed(t, must(seal.Load(path, nil))(t)); !opens(t, f, byNew, here) || !opens(t, f, byOld, here) {
		t.Error("a file is not looked at when something does not open")
	}
	until(t, "it seals with the new key", func() bool { return f.Primary() == next })
	for _, broken := range []func() error{
		func() error { return os.WriteFile(path, []byte("half of a ri"), 0o600) }, func() error { return os.Remove(path) },
	} {
		if err := broken(); err != nil {
			t.Fatal(err)
		}
		if opens(t, f, nil, here) || !opens(t, f, byOld, here) { // the first looks at the file
			t.Error("the last ring does not stay")
		}
	}
	if err := seal.Create(path, newRing(t), nil); err != nil {
		t.Fatal(err)
	}
	until(t, "the old key is gone", func() bool { return !opens(t, f, byOld, here) })
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for tick := time.NewTicker(10 * time.Millisecond); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestChangesAtOnce: of changes at once none undoes another.
func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	path := newFile(t, newRing(t))
	var mu sync.Mutex
	var made sync.WaitGroup
	done := 0
	for range 20 {
		made.Go(func() {
			if seal.Change(path, nil, add) == nil {
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	made.Wait()
	if n := len(must(seal.Load(path, nil))(t).Keys()); done == 0 || n != done+1 {
		t.Errorf("%d changes were made, and there are %d keys", done, n)
	}
	if err := seal.Change(path, nil, func(*seal.Ring) (*seal.Ring, error) { return nil, errors.New("refused") }); err == nil || seal.Change(path, nil, add) != nil {
		t.Error("a change that is refused leaves something behind")
	}
}

// TestLinkedFile: the ring behind a link is changed, and the link stays one.
func TestLinkedFile(t *testing.T) {
	t.Parallel()
	path := newFile(t, newRing(t))
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := seal.Change(link, nil, add); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 || len(must(seal.Load(path, nil))(t).Keys()) != 2 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
