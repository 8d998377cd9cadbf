package tools_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type written struct {
	BytesWritten int    `json:"bytesWritten"`
	SHA256       string `json:"sha256"`
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "old"), strings.Repeat("old", 1000))
	for _, c := range []struct {
		path, content string
		dirs          bool
	}{
		{"new", "content", false}, {"old", "é\n", false}, {"empty", "", false}, {"a/b/c", "deep", true},
		{"large", strings.Repeat("x", 60<<10), false}, {"ctrl", "\x01\x1b[0m\u2028", false},
	} {
		sum := sha256.Sum256([]byte(c.content))
		want := written{len(c.content), hex.EncodeToString(sum[:])}
		args := map[string]any{"path": c.path, "content": c.content}
		if c.dirs {
			args["createDirs"] = true
		}
		// The second attempt finds the first one's file and answers the same.
		for attempt := 1; attempt <= 2; attempt++ {
			if got, err := run[written](t, tools.WriteFile(), dir, args); err != nil || got != want {
				t.Errorf("%s, attempt %d: %+v, %v, want %+v", c.path, attempt, got, err, want)
			}
			if got, err := os.ReadFile(filepath.Join(dir, c.path)); err != nil || string(got) != c.content {
				t.Errorf("%s holds %.40q, %v", c.path, got, err)
			}
		}
	}
	_, err := run[written](t, tools.WriteFile(), dir, map[string]any{"path": "x/y", "content": ""})
	wantSafe(t, "no parent", err, "the parent directory does not exist: create it with createDirs")
	if _, err := os.Stat(filepath.Join(dir, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory was created: %v", err)
	}
}

// What the disk says reaches the caller in the right form: an answer, a wish to
// be asked again, or an error whose text stays inside.
func TestWriteFileFailures(t *testing.T) {
	for _, known := range []error{capability.ErrPermission, capability.ErrNoSpace} {
		_, err := runWith[written](t.Context(), t, tools.WriteFile(), broken(known), map[string]any{"path": "x", "content": "x"})
		wantSafe(t, "write", err, known.Error())
		if !errors.Is(err, known) {
			t.Errorf("%v is lost", known)
		}
	}
	_, err := runWith[written](t.Context(), t, tools.WriteFile(), broken(capability.ErrBusy), map[string]any{"path": "x", "content": "x"})
	var busy *toolspec.BusyError
	if !errors.As(err, &busy) || busy.After != 200*time.Millisecond {
		t.Errorf("busy: %v", err)
	}
	disk := errors.New("the disk is on fire")
	var safe *toolspec.SafeError
	if _, err := runWith[written](t.Context(), t, tools.WriteFile(), broken(disk), map[string]any{"path": "x", "content": "x"}); !errors.Is(err, disk) || errors.As(err, &safe) {
		t.Errorf("an unknown error became %v", err)
	}
}
