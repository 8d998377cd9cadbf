package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
)

type listing struct {
	Entries []struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Size *int64 `json:"size"`
	} `json:"entries"`
	Total     int  `json:"total"`
	Truncated bool `json:"truncated"`
}

// list runs core__ls in a workspace.
func list(t *testing.T, dir, args string) (l listing, err error) {
	t.Helper()
	got := pawltest.Call{Tool: tools.List(), Args: args, Workspace: dir}.Run(t)
	if !got.Result.OK {
		return l, errors.New(got.Result.SafeMessage)
	}
	return l, json.Unmarshal(got.Value, &l)
}

func TestLs(t *testing.T) {
	dir := t.TempDir()
	got, err := list(t, dir, "{}")
	if err != nil || got.Entries == nil || got.Total != 0 || got.Truncated {
		t.Errorf("an empty directory: %+v, %v", got, err)
	}
	write(t, filepath.Join(dir, "sub", "z"), "1234")
	write(t, filepath.Join(dir, "sub", ".a"), "")
	write(t, filepath.Join(dir, "sub", "bad\xff"), "")
	write(t, filepath.Join(dir, "sub", "below", "file"), "")
	if err := os.Symlink("z", filepath.Join(dir, "sub", "link")); err != nil {
		t.Fatal(err)
	}
	got, err = list(t, dir, `{"path":"sub/"}`)
	text := ""
	for _, e := range got.Entries {
		text += e.Name + ":" + e.Type
		if e.Size != nil {
			text += fmt.Sprintf(":%d", *e.Size)
		}
		text += " "
	}
	if want := ".a:file:0 bad\uFFFD:file:0 below:dir link:symlink z:file:4 "; err != nil || text != want || got.Total != 5 || got.Truncated {
		t.Errorf("sub lists %q, %+v, %v, want %q", text, got, err, want)
	}
}

func TestLsBoundary(t *testing.T) {
	dir := t.TempDir()
	for i := range 1001 {
		write(t, filepath.Join(dir, fmt.Sprintf("f%04d", i)), "")
	}
	got, err := list(t, dir, "{}")
	if err != nil || len(got.Entries) != 500 || got.Total != 1001 || !got.Truncated {
		t.Errorf("1001 entries: %d shown of %d, truncated %v, %v", len(got.Entries), got.Total, got.Truncated, err)
	}
	for i, e := range got.Entries {
		if want := fmt.Sprintf("f%04d", i); e.Name != want {
			t.Fatalf("entry %d is %s, want %s", i, e.Name, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "f1000")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".pawl-tmp-left"), "by a crash")
	got, err = list(t, dir, "{}")
	if err != nil || len(got.Entries) != 1000 || got.Total != 1000 || got.Truncated || got.Entries[999].Name != "f0999" {
		t.Errorf("1000 entries: %d shown of %d, truncated %v, %v", len(got.Entries), got.Total, got.Truncated, err)
	}
}
