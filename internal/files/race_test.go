package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// rounds is how often a race is run.
func rounds(t *testing.T) int {
	if testing.Short() {
		return 500
	}
	return 5000
}

// swapLinks makes name a symbolic link to each target in turn, until stop.
func swapLinks(t *testing.T, name string, targets ...string) (stop func()) {
	t.Helper()
	link(t, targets[0], name)
	end := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			next := name + ".next"
			if err := os.Symlink(targets[i%len(targets)], next); err != nil {
				t.Error(err)
				return
			}
			if err := os.Rename(next, name); err != nil {
				t.Error(err)
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		group.Wait()
	})
}

// Links that are swapped under way never lead out: neither in the last part of
// the path nor before it.
func TestSwappedLinksStayInside(t *testing.T) {
	w, dir := open(t)
	parent := filepath.Dir(dir)
	const often = 20
	write(t, filepath.Join(dir, "inside", "file"), "inside")
	ops := map[string]struct {
		rounds int
		run    func(path string) error
	}{
		"read": {rounds(t), func(path string) error {
			content, _, err := read(t, w, path+"/file", 100)
			if err == nil && content != "inside" {
				t.Errorf("read %q", content)
			}
			return err
		}},
		"read the link": {rounds(t), func(path string) error {
			content, _, err := read(t, w, path+"-file", 100)
			if err == nil && content != "inside" {
				t.Errorf("read %q", content)
			}
			return err
		}},
		"list": {rounds(t), func(path string) error {
			l, err := w.List(t.Context(), path, 10)
			if err == nil && (l.Total != 1 || l.Entries[0].Size != int64(len("inside"))) {
				t.Errorf("listed %+v", l)
			}
			return err
		}},
		"replace": {rounds(t) / 10, func(path string) error {
			return w.Replace(t.Context(), path+"/file", []byte("inside"), capability.ReplaceOptions{CreateDirs: true})
		}},
		"replace the link": {rounds(t) / 10, func(path string) error {
			return w.Replace(t.Context(), path+"-file", []byte("inside"), capability.ReplaceOptions{})
		}},
	}
	for name, op := range ops {
		stopDir := swapLinks(t, filepath.Join(dir, "link"), "inside", "../outside", "inside", filepath.Join(parent, "outside"))
		stopFile := swapLinks(t, filepath.Join(dir, "link-file"), "inside/file", "../secret", "link/file", "../new")
		done, refused, disturbed := 0, 0, 0
		// Until both outcomes were met often; how often each comes depends on the
		// machine, for a replacement that succeeds waits for the disk.
		for i := 0; (i < op.rounds || done < often || refused < often) && !t.Failed() && t.Context().Err() == nil; i++ {
			switch err := op.run("link"); {
			case err == nil:
				done++
			case errors.Is(err, capability.ErrOutside):
				refused++
			case errors.Is(err, capability.ErrNotRegular), errors.Is(err, capability.ErrBadPath):
				disturbed++ // the name was another link again between two steps
			default:
				t.Errorf("%s: %v", name, err)
			}
		}
		stopDir()
		stopFile()
		t.Logf("%s: %d done, %d refused, %d disturbed", name, done, refused, disturbed)
		for _, link := range []string{"link", "link-file"} {
			if err := os.Remove(filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := mustRead(t, filepath.Join(parent, "secret")) + mustRead(t, filepath.Join(parent, "outside", "file")); got != secret+secret {
		t.Errorf("a file outside was changed: %q", got)
	}
	if got := names(t, parent) + ", " + names(t, filepath.Join(parent, "outside")); got != "outside secret workspace, file" {
		t.Errorf("outside stand %s", got)
	}
	if got := names(t, dir) + ", " + names(t, filepath.Join(dir, "inside")); got != "inside, file" {
		t.Errorf("inside stand %s", got)
	}
}

// A directory that gets another name during a write: the file is the old or the new one, and no file is
// written elsewhere (fault 60).
func TestRenamedDirectory(t *testing.T) {
	w, dir := open(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	contents := []string{strings.Repeat("old\n", 1<<10), strings.Repeat("new\n", 1<<10)}
	write(t, filepath.Join(a, "file"), contents[0])
	end := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
			}
			if err := errors.Join(os.Rename(a, b), os.Rename(b, a)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	done, missed := 0, 0
	for i := 0; (i < rounds(t)/10 || done < 20 || missed < 20) && !t.Failed() && t.Context().Err() == nil; i++ {
		switch err := w.Replace(t.Context(), "a/file", []byte(contents[i%2]), capability.ReplaceOptions{}); {
		case err == nil:
			done++
		case errors.Is(err, capability.ErrNotExist):
			missed++
		default:
			t.Error(err)
		}
	}
	close(end)
	group.Wait()
	t.Logf("%d done, %d missed", done, missed)
	if got := mustRead(t, filepath.Join(a, "file")); !slices.Contains(contents, got) {
		t.Errorf("the file holds %d bytes that begin %.20q", len(got), got)
	}
	if got := names(t, filepath.Dir(dir)) + ", " + names(t, dir) + ", " + names(t, a); got != "outside secret workspace, a, file" {
		t.Errorf("outside, in the workspace and in the directory stand %s", got)
	}
}
