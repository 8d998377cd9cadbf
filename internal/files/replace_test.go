package files_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

func TestReplace(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, "old"), "old")
	write(t, filepath.Join(dir, "sub", "deep", "file"), "deep")
	link(t, "sub/deep", filepath.Join(dir, "dirlink"))
	link(t, "dirlink/../../old", filepath.Join(dir, "filelink"))
	link(t, "dirlink/made", filepath.Join(dir, "dangling"))
	link(t, "sub", filepath.Join(dir, "sublink"))
	link(t, "new/", filepath.Join(dir, "newdirlink"))
	link(t, "../made/deep/file", filepath.Join(dir, "sub", "deep", "uplink"))
	for _, c := range []struct {
		path   string
		dirs   bool
		target string // where the content is then
		want   error
	}{
		{"new", false, "new", nil},
		{"old", false, "old", nil},
		{"sub/../old", false, "old", nil},
		{"sub/deep/file", true, "sub/deep/file", nil},
		{"dirlink/file", false, "sub/deep/file", nil},
		{"filelink", false, "old", nil},
		{"dangling", false, "sub/deep/made", nil},
		{"a/b/c", false, "", capability.ErrNotExist},
		{"a/b/c", true, "a/b/c", nil},
		{"dirlink/x/y", true, "sub/deep/x/y", nil},
		{"dirlink/uplink", true, "sub/made/deep/file", nil},
		{"sub", false, "", capability.ErrIsDir},
		{"sublink", false, "", capability.ErrIsDir},
		{"newdir/", true, "", capability.ErrIsDir},
		{"newdirlink", true, "", capability.ErrNotDir},
		{".", false, "", capability.ErrIsDir},
		{"old/x", true, "", capability.ErrNotDir},
		{"old/x/y", true, "", capability.ErrNotDir},
	} {
		content := strings.Repeat("content of "+c.path, 1000)
		for range 2 { // once more is harmless
			err := w.Replace(t.Context(), c.path, []byte(content), capability.ReplaceOptions{CreateDirs: c.dirs})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.path, err, c.want)
			}
			if c.want == nil {
				if got := mustRead(t, filepath.Join(dir, c.target)); got != content {
					t.Errorf("%s holds %.40q", c.target, got)
				}
			}
		}
	}
	if got, want := names(t, dir), "a dangling dirlink filelink new newdirlink old sub sublink"; got != want {
		t.Errorf("the workspace holds %s, want %s", got, want)
	}
	if target, err := os.Readlink(filepath.Join(dir, "filelink")); err != nil || target != "dirlink/../../old" {
		t.Errorf("the link is %q, %v", target, err)
	}
}

// TestReplaceFollowsLinksAsOpen: a file behind links can be replaced if it can be read, and else not.
func TestReplaceFollowsLinksAsOpen(t *testing.T) {
	w, dir := open(t)
	write(t, filepath.Join(dir, "0"), "old")
	for i := 1; i <= 10; i++ {
		name := fmt.Sprint(i)
		link(t, fmt.Sprint(i-1), filepath.Join(dir, name))
		_, _, readErr := read(t, w, name, 10)
		err := w.Replace(t.Context(), name, []byte(name), capability.ReplaceOptions{})
		if !errors.Is(err, readErr) {
			t.Errorf("%d links: Replace returns %v, Open %v", i, err, readErr)
		}
		if i == 10 && !errors.Is(err, capability.ErrBadPath) {
			t.Errorf("%d links: %v, want a bad path", i, err)
		}
	}
}

func TestReplaceEmptyAndLarge(t *testing.T) {
	w, dir := open(t)
	for _, size := range []int{0, 1, 1 << 20, 3<<20 + 1} {
		content := strings.Repeat("x", size)
		if err := w.Replace(t.Context(), "file", []byte(content), capability.ReplaceOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, filepath.Join(dir, "file")); got != content {
			t.Errorf("%d bytes of %d stand", len(got), size)
		}
	}
}

func TestReplaceKeepsMode(t *testing.T) {
	w, dir := open(t)
	for _, mode := range []os.FileMode{0o644, 0o600, 0o755, 0o666, 0o777, 0o640, 0o200} {
		path := filepath.Join(dir, fmt.Sprintf("%o", mode))
		write(t, path, "old")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := w.Replace(t.Context(), filepath.Base(path), []byte("new"), capability.ReplaceOptions{}); err != nil {
			t.Errorf("%o: %v", mode, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != mode || info.Size() != 3 {
			t.Errorf("%o: the file is %v, %v", mode, info.Mode(), err)
		}
	}
	// What sets the user is not for new content.
	path := filepath.Join(dir, "suid")
	write(t, path, "old")
	if err := os.Chmod(path, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if err := w.Replace(t.Context(), "suid", []byte("new"), capability.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o755 {
		t.Errorf("the file is %v, %v, want 0755", info.Mode(), err)
	}
	// A new file is what any program would make here.
	write(t, filepath.Join(dir, "plain"), "")
	if err := os.WriteFile(filepath.Join(dir, "likeany"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := w.Replace(t.Context(), "new", nil, capability.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	any, _ := os.Stat(filepath.Join(dir, "likeany"))
	if info, err := os.Stat(filepath.Join(dir, "new")); err != nil || info.Mode() != any.Mode() {
		t.Errorf("a new file is %v, %v, want %v", info.Mode(), err, any.Mode())
	}
}

// Readers and writers at once: everybody sees one of the whole contents.
func TestReplaceIsAtomic(t *testing.T) {
	w, dir := open(t)
	contents := map[string]bool{}
	var writers sync.WaitGroup
	end := make(chan struct{})
	const writing, times = 6, 40
	for i := range writing {
		contents[strings.Repeat(string(rune('a'+i)), 200_000)] = true
	}
	write(t, filepath.Join(dir, "file"), strings.Repeat("a", 200_000))
	for content := range contents {
		writers.Go(func() {
			for range times {
				if err := w.Replace(t.Context(), "file", []byte(content), capability.ReplaceOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			got, _, err := read(t, w, "file", 1<<20)
			if err != nil || !contents[got] {
				t.Errorf("read %d bytes beginning %.10q, %v", len(got), got, err)
			}
			select {
			case <-end:
				return
			default:
			}
		}
	})
	writers.Wait()
	close(end)
	readers.Wait()
	if got := names(t, dir); got != "file" {
		t.Errorf("the directory holds %s", got)
	}
}

// TestNoLinks: without links, a file is where its path says, or the operation changes nothing.
func TestNoLinks(t *testing.T) {
	t.Parallel()
	w, dir := open(t)
	write(t, filepath.Join(dir, "real", "sub", "file"), "old")
	write(t, filepath.Join(dir, "real", "gone"), "old")
	link(t, "real", filepath.Join(dir, "dirlink"))
	link(t, "../real/sub", filepath.Join(dir, "real", "sublink"))
	link(t, "sub/file", filepath.Join(dir, "real", "filelink"))
	for name, want := range map[string]error{
		"real/sub/file": nil, "real/new/file": nil, "file": nil,
		"dirlink/sub/file": capability.ErrChanged, "real/sublink/file": capability.ErrChanged, "real/filelink": capability.ErrChanged,
		"dirlink/new/file": capability.ErrChanged,
	} {
		err := w.Replace(t.Context(), name, []byte("new"), capability.ReplaceOptions{CreateDirs: true, NoLinks: true})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if want == nil {
			if got := mustRead(t, filepath.Join(dir, name)); got != "new" {
				t.Errorf("%s holds %q", name, got)
			}
		}
	}
	if err := w.Remove(t.Context(), "dirlink/gone", capability.RemoveOptions{NoLinks: true}); !errors.Is(err, capability.ErrChanged) {
		t.Errorf("a removal through a link: %v", err)
	}
	for _, name := range []string{"real/gone", "real/filelink", "dirlink"} { // the last part is what is removed
		if err := w.Remove(t.Context(), name, capability.RemoveOptions{NoLinks: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := mustRead(t, filepath.Join(dir, "real", "sub", "file")); got != "new" {
		t.Errorf("the file that links led to holds %q", got)
	}
}
