package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// walk lists what a walk visits, sorted.
func walk(t *testing.T, w *files.Workspace, dir string, opts capability.WalkOptions) (string, error) {
	t.Helper()
	var mu sync.Mutex
	var visited []string
	err := w.Walk(t.Context(), dir, opts, func(f capability.Found) error {
		line := f.Path()
		if f.Err() != nil {
			line += ": " + f.Err().Error()
		}
		mu.Lock()
		defer mu.Unlock()
		visited = append(visited, line)
		return nil
	})
	slices.Sort(visited)
	return strings.Join(visited, " "), err
}

func TestWalk(t *testing.T) {
	w, dir := open(t)
	for _, path := range []string{"a/x.go", "a/b/c/deep.go", "a/b.txt", "a-b/y.go", ".git/config", "a/.git/z", ".pawl-tmp-00-1", ".pawl-tmp-dir/x", "node.ts", "n.tsx", ".hidden/h"} {
		write(t, filepath.Join(dir, path), "12")
	}
	link(t, "a", filepath.Join(dir, "link"))
	link(t, "..", filepath.Join(dir, "a", "up"))
	link(t, "b.txt", filepath.Join(dir, "a", "file-link"))
	git := []string{".git"}
	for _, c := range []struct {
		dir, want string
		opts      capability.WalkOptions
	}{
		{".", ".hidden/h a-b/y.go a/b.txt a/b/c/deep.go a/x.go n.tsx node.ts", capability.WalkOptions{SkipDirs: git}},
		{"a", "a/.git/z a/b.txt a/b/c/deep.go a/x.go", capability.WalkOptions{}},
		{".git", ".git/config", capability.WalkOptions{SkipDirs: git}},
		{"link", "link/b.txt link/b/c/deep.go link/x.go", capability.WalkOptions{SkipDirs: git}},
		{".", "a-b/y.go a/b/c/deep.go a/x.go", capability.WalkOptions{Include: "*.go"}},
		{".", "n.tsx node.ts", capability.WalkOptions{Include: "*.{ts,tsx}"}},
		{".", "a/b/c/deep.go a/x.go", capability.WalkOptions{Include: "a/**/*.go"}},
		{".", "a/x.go", capability.WalkOptions{Include: "a/*.go"}},
		{"a", "a/b/c/deep.go", capability.WalkOptions{Include: "b/**"}},
		{"a", "", capability.WalkOptions{Include: "a/**"}},
		{"a/x.go", "a/x.go", capability.WalkOptions{}},
		{"a/x.go", "a/x.go", capability.WalkOptions{Include: "*.go"}},
		{"a/x.go", "", capability.WalkOptions{Include: "*.txt"}},
		{"a/x.go", "", capability.WalkOptions{Exclude: "*.go"}},
		{".", "a-b/y.go a/x.go", capability.WalkOptions{Include: "*.go", Exclude: "b"}},
		{".", ".hidden/h a-b/y.go n.tsx node.ts", capability.WalkOptions{SkipDirs: git, Exclude: "a/**"}},
		{"a", "a/b.txt", capability.WalkOptions{SkipDirs: git, Exclude: "{b/**,*.go}"}},
	} {
		if got, err := walk(t, w, c.dir, c.opts); err != nil || got != c.want {
			t.Errorf("%s %+v:\n got %s, %v\nwant %s", c.dir, c.opts, got, err, c.want)
		}
	}
}

// TestFound: what a visitor learns of a file and reads of it, in the directories of a walk and of the
// file at which one begins.
func TestFound(t *testing.T) {
	w, dir := open(t)
	path := filepath.Join(dir, "a", "file")
	write(t, path, "content")
	modified := time.Unix(1_700_000_000, 5)
	if err := os.Chtimes(path, modified, modified); err != nil {
		t.Fatal(err)
	}
	for _, start := range []string{".", "a", "a/file"} {
		visits := 0
		if err := w.Walk(t.Context(), start, capability.WalkOptions{}, func(f capability.Found) error {
			visits++
			e, err := f.Stat()
			if want := (capability.Entry{Path: "a/file", Type: capability.TypeFile, Size: 7, Modified: modified}); err != nil || !e.Modified.Equal(modified) || e.Path != want.Path || e.Type != want.Type || e.Size != want.Size {
				t.Errorf("%s: %+v, %v", start, e, err)
			}
			r, size, err := f.Open()
			if err != nil {
				return err
			}
			content, err := io.ReadAll(iotest.OneByteReader(r))
			if string(content) != "content" || size != 7 {
				t.Errorf("%s: %q of %d bytes", start, content, size)
			}
			return errors.Join(err, r.Close())
		}); err != nil || visits != 1 {
			t.Errorf("%s: %d visits, %v", start, visits, err)
		}
	}
}

// TestFoundIsSwapped: a name that has become another thing since the directory was read is refused.
func TestFoundIsSwapped(t *testing.T) {
	w, dir := open(t)
	for name, swap := range map[string]func(path string) error{
		"link out":    func(path string) error { return os.Symlink("../../secret", path) },
		"link inside": func(path string) error { return os.Symlink("other", path) },
		"pipe":        func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"directory":   func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		path := filepath.Join(dir, "d", "file")
		write(t, path, "x")
		if err := w.Walk(t.Context(), "d", capability.WalkOptions{}, func(f capability.Found) error {
			if err := errors.Join(os.Remove(path), swap(path)); err != nil {
				return err
			}
			if e, err := f.Stat(); !errors.Is(err, capability.ErrNotRegular) {
				t.Errorf("%s: Stat: %+v, %v", name, e, err)
			}
			return within(t, name, func() error {
				if r, _, err := f.Open(); err == nil {
					content, _ := io.ReadAll(r)
					t.Errorf("%s: read %q", name, content)
					return r.Close()
				}
				return nil
			})
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "d")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWalkOfSwappedDirectories: directories that become links under way lead nowhere.
func TestWalkOfSwappedDirectories(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, "inside", "file"), "inside")
	stop := swapEntries(t, filepath.Join(dir, "name"))
	defer stop()
	var visits, read atomic.Int64
	for range rounds(t) {
		if err := w.Walk(t.Context(), ".", capability.WalkOptions{}, func(f capability.Found) error {
			visits.Add(1)
			r, _, err := f.Open()
			if err != nil {
				return nil // it is swapped again
			}
			defer r.Close()
			if content, _ := io.ReadAll(r); string(content) != "inside" {
				t.Errorf("%s holds %q", f.Path(), content)
			} else if strings.HasPrefix(f.Path(), "name/") {
				read.Add(1)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d visits, %d of them in the directory", visits.Load(), read.Load())
}

// swapEntries makes name a directory with a file and a link to the directory outside, in turn.
func swapEntries(t *testing.T, name string) (stop func()) {
	t.Helper()
	write(t, filepath.Join(name+".dir", "file"), "inside")
	link(t, "../outside", name+".link")
	end := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			from := name + []string{".dir", ".link"}[i%2]
			if err := errors.Join(os.Rename(from, name), os.Rename(name, from)); err != nil {
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

func TestWalkIncludeIsBounded(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, strings.Repeat("a", 200)), "")
	for _, pattern := range []string{"[", "{a", "a{b", `\`, "[]", strings.Repeat("a", 257), strings.Repeat("{a,a}", 40), strings.Repeat("{a,", 60) + strings.Repeat("}", 60)} {
		if got, err := walk(t, w, ".", capability.WalkOptions{Include: pattern}); !errors.Is(err, capability.ErrBadPattern) {
			t.Errorf("%q: %s, %v, want ErrBadPattern", pattern, got, err)
		}
	}
	start := time.Now()
	for _, pattern := range []string{strings.Repeat("*{a,b}", 6), strings.Repeat("**/", 80) + "b", strings.Repeat("*a", 120) + "b", strings.Repeat("*{a,b}", 6) + strings.Repeat("*a", 100) + "b"} {
		if _, err := walk(t, w, ".", capability.WalkOptions{Include: pattern}); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("matching took %v", took)
	}
}

func TestWalkStops(t *testing.T) {
	w, dir := open(t)
	for i := range 1000 {
		write(t, filepath.Join(dir, fmt.Sprintf("dir%d", i%7), fmt.Sprintf("file%02d", i)), "")
	}
	enough := errors.New("enough")
	var visited atomic.Int64
	if err := w.Walk(t.Context(), ".", capability.WalkOptions{}, func(capability.Found) error {
		if visited.Add(1) >= 5 {
			return enough
		}
		return nil
	}); err != enough || visited.Load() > 5+int64(runtime.GOMAXPROCS(0)) {
		t.Errorf("visited %d, %v", visited.Load(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	visited.Store(0)
	if err := w.Walk(ctx, ".", capability.WalkOptions{}, func(capability.Found) error {
		switch n := visited.Add(1); {
		case n == 5:
			cancel()
		case n > 5:
			<-ctx.Done() // the one that cancels may be slow
		}
		return nil
	}); !errors.Is(err, context.Canceled) || visited.Load() > 5+int64(runtime.GOMAXPROCS(0)) {
		t.Errorf("visited %d, %v, want context.Canceled", visited.Load(), err)
	}
	// A panic arrives where it can be recovered.
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = w.Walk(t.Context(), ".", capability.WalkOptions{}, func(capability.Found) error { panic("boom") })
	}()
	if got := openFiles(t, dir); got != 1 {
		t.Errorf("%d files below the workspace are open, want its root", got)
	}
}

// openFiles counts the descriptors of this process below dir.
func openFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc")
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.HasPrefix(target, dir) {
			n++
		}
	}
	return n
}

// TestWalkVisitsEachFileOnce: in a tree with more directories than a walk keeps open, and with
// directories of more files than a task has.
func TestWalkVisitsEachFileOnce(t *testing.T) {
	w, dir := open(t)
	want := map[string]int{}
	for i := range 200 {
		// One long chain, and beside it 200 directories at its start.
		for _, path := range []string{strings.Repeat("d/", i) + "file", fmt.Sprintf("s%d/file", i), fmt.Sprintf("d/many%d", i)} {
			write(t, filepath.Join(dir, path), "")
			want[path] = 1
		}
	}
	var mu sync.Mutex
	got := map[string]int{}
	if err := w.Walk(t.Context(), ".", capability.WalkOptions{}, func(f capability.Found) error {
		mu.Lock()
		defer mu.Unlock()
		got[f.Path()]++
		return f.Err()
	}); err != nil || !maps.Equal(got, want) {
		t.Errorf("%d files, want %d; %v", len(got), len(want), err)
	}
	if got := openFiles(t, dir); got != 1 {
		t.Errorf("%d files below the workspace are open, want its root", got)
	}
}

// Directories deeper than a path may be long are reported, not lost.
func TestWalkDeep(t *testing.T) {
	w, dir := open(t)
	deep := strings.Repeat(strings.Repeat("d", 250)+"/", 15)
	write(t, filepath.Join(dir, deep, "file"), "")
	t.Chdir(filepath.Join(dir, deep))
	write(t, strings.Repeat(strings.Repeat("e", 250)+"/", 3)+"below", "")
	var found, failed atomic.Int64
	if err := w.Walk(t.Context(), ".", capability.WalkOptions{}, func(f capability.Found) error {
		if f.Err() == nil {
			found.Add(1)
			return nil
		}
		failed.Add(1)
		if !errors.Is(f.Err(), capability.ErrBadPath) {
			t.Errorf("%v, want ErrBadPath", f.Err())
		}
		return nil
	}); err != nil || found.Load() != 1 || failed.Load() != 1 {
		t.Errorf("%d files, %d failed, %v, want 1, 1", found.Load(), failed.Load(), err)
	}
}
