package files_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec/capability"
)

func TestList(t *testing.T) {
	w, dir := open(t)
	if l, err := w.List(t.Context(), ".", 5); err != nil || l.Total != 0 || l.Entries == nil {
		t.Errorf("an empty directory lists %+v, %v", l, err)
	}
	write(t, filepath.Join(dir, "sub", "b"), "22")
	write(t, filepath.Join(dir, "sub", "B"), "1")
	write(t, filepath.Join(dir, "sub", ".hidden"), "")
	write(t, filepath.Join(dir, "sub", ".pawl-tmp-0123-0"), "left behind")
	write(t, filepath.Join(dir, "sub", "dir", "below"), "")
	write(t, filepath.Join(dir, "sub", "bad\xff"), "")
	link(t, "/etc/passwd", filepath.Join(dir, "sub", "link"))
	link(t, "sub", filepath.Join(dir, "to-sub"))
	for _, path := range []string{"sub", "sub/", "./sub/.", "sub/dir/.."} {
		l, err := w.List(t.Context(), path, 10)
		want := []capability.Entry{
			{Path: "sub/.hidden", Type: "file"}, {Path: "sub/B", Type: "file", Size: 1}, {Path: "sub/b", Type: "file", Size: 2},
			{Path: "sub/bad\xff", Type: "file"}, {Path: "sub/dir", Type: "dir"}, {Path: "sub/link", Type: "symlink"},
		}
		for i := range l.Entries {
			if e := &l.Entries[i]; e.Modified.IsZero() != (e.Type != capability.TypeFile) {
				t.Errorf("%s was modified %v", e.Path, e.Modified)
			}
			l.Entries[i].Modified = time.Time{}
		}
		if err != nil || l.Total != 6 || !slices.Equal(l.Entries, want) {
			t.Errorf("%s: %+v, %v", path, l, err)
		}
	}
	l, err := w.List(t.Context(), "to-sub", 2)
	if err != nil || l.Total != 6 || len(l.Entries) != 2 || l.Entries[0].Path != "to-sub/.hidden" || l.Entries[1].Path != "to-sub/B" {
		t.Errorf("two of to-sub: %+v, %v", l, err)
	}
	if _, err := w.List(t.Context(), ".", 0); err == nil {
		t.Error("a limit of 0 was taken")
	}
}

// Whatever the order of the file system and the size of the directory, a
// listing begins with the first names.
func TestListIsTheBeginning(t *testing.T) {
	w, dir := open(t)
	var all []string
	for i := range 1500 {
		name := fmt.Sprintf("%08x", uint32(i+1)*2654435761)
		write(t, filepath.Join(dir, name), "")
		all = append(all, name)
	}
	slices.Sort(all)
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(1, 2000).Draw(r, "limit")
		l, err := w.List(t.Context(), ".", limit)
		if err != nil || l.Total != len(all) || len(l.Entries) != min(limit, len(all)) {
			r.Fatalf("%d of %d: total %d, %d entries, %v", limit, len(all), l.Total, len(l.Entries), err)
		}
		for i, e := range l.Entries {
			if e.Path != all[i] {
				r.Fatalf("entry %d is %s, want %s", i, e.Path, all[i])
			}
		}
	})
}
