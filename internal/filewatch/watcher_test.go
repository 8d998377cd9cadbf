package filewatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// kept is a Store in memory.
type kept struct {
	triggers []trigger.Document
	events   []trigger.Event
	fails    bool
}

func (k *kept) FileTriggers(context.Context, int) ([]trigger.Document, error) { return k.triggers, nil }

func (k *kept) QueueEvents(_ context.Context, _ trigger.Document, _ string, events []trigger.Event) error {
	if k.fails {
		return errors.New("canary")
	}
	k.events = append(k.events, events...)
	return nil
}

// takes returns the events since the last call, as kind and path.
func (k *kept) takes(t *testing.T) (all []string) {
	t.Helper()
	for _, e := range k.events {
		var data struct {
			Event string
			File  struct {
				Path, ModifiedAt string
				Size             int64
			}
		}
		if err := json.Unmarshal(e.Data, &data); err != nil || data.File.ModifiedAt == "" {
			t.Errorf("%s: %v", e.Data, err)
		}
		all = append(all, data.Event+" "+data.File.Path)
	}
	slices.Sort(all)
	k.events = nil
	return all
}

// world is a directory, the triggers that watch it, and the log.
type world struct {
	t   *testing.T
	dir string
	kept
	*Watcher
	log strings.Builder
}

func newWorld(t *testing.T, template string, triggers ...trigger.Document) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), kept: kept{triggers: triggers}}
	w.Watcher = w.another(template, &w.kept)
	return w
}

func (w *world) another(template string, store Store) *Watcher {
	w.t.Helper()
	all, err := files.OpenAll(w.dir + template)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = all.Close() })
	return New(store, all.For, "n", slog.New(slog.NewTextHandler(&w.log, nil)))
}

func watches(tenantID string, o trigger.FilesOptions) trigger.Document {
	return trigger.Document{Name: "t", Version: "1", TenantID: tenantID, On: trigger.Files, Files: &o}
}

func (w *world) write(path, text string) {
	w.t.Helper()
	path = filepath.Join(w.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// looks looks n times, and compares the events.
func (w *world) looks(n int, want ...string) {
	w.t.Helper()
	for range n {
		w.look(w.t.Context())
	}
	if got := w.takes(w.t); !slices.Equal(got, want) {
		w.t.Errorf("got %q, want %q", got, want)
	}
}

// TestChanges: a change is an event once it has stopped. Files that were there are none, and neither is what no pattern has or what links lead to.
func TestChanges(t *testing.T) {
	w := newWorld(t, "", watches("acme", trigger.FilesOptions{Include: "in/**", Exclude: "*.tmp", Changes: []trigger.Change{trigger.Created, trigger.Modified, trigger.Removed}}))
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.write("in/old", "x")
	w.looks(3)
	w.write("in/a/new", "1")
	w.write("in/b.tmp", "1")
	w.write("out/c", "1")
	w.write("in/.git/config", "1")
	for name, target := range map[string]string{"in/file": filepath.Join(outside, "secret"), "in/dir": outside, "in/up": "../.."} {
		if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.looks(1)
	w.looks(1, "created in/a/new")
	w.looks(2)
	// A file that is being written is no event.
	for i := range 4 {
		w.write("in/old", strings.Repeat("x", i+2))
		w.looks(1)
	}
	w.looks(1, "changed in/old")
	w.looks(2)
	// A file that comes and goes between two looks is none, and neither is one that is back as it was.
	w.write("in/short", "1")
	w.looks(1)
	if err := os.Remove(filepath.Join(w.dir, "in/short")); err != nil {
		t.Fatal(err)
	}
	w.looks(3)
	if err := os.Remove(filepath.Join(w.dir, "in/a/new")); err != nil {
		t.Fatal(err)
	}
	w.looks(2, "removed in/a/new")
	w.looks(2)
	w.write("in/a/new", "1 again")
	w.looks(2, "created in/a/new")
	// Without the database, a change is found again.
	w.write("in/old", "y")
	w.fails = true
	w.looks(3)
	w.fails = false
	w.looks(1, "changed in/old")
	w.looks(2)
	if said := w.log.String(); strings.Count(said, "changes of files are not seen") != 1 || strings.Contains(said, "canary") {
		t.Errorf("the log says %s", said)
	}
	// A new version starts with the files that are there.
	w.triggers[0].Version = "2"
	w.triggers[0].Files = &trigger.FilesOptions{Include: "**"}
	w.write("in/late", "1")
	w.looks(3)
	w.write("out/d", "1")
	if err := os.Remove(filepath.Join(w.dir, "in/late")); err != nil {
		t.Fatal(err)
	}
	w.looks(2, "created out/d") // without changes, the end of a file is no event
}

// TestWorkersSeeOneEvent: the id of a change does not depend on what a worker has seen before.
func TestWorkersSeeOneEvent(t *testing.T) {
	w := newWorld(t, "", watches("acme", trigger.FilesOptions{Include: "**"}))
	other := &kept{triggers: w.triggers}
	second := w.another("", other)
	w.look(t.Context())
	second.look(t.Context())
	w.write("a", "1")
	w.write("b", "1")
	second.look(t.Context())
	second.look(t.Context())
	other.events = nil
	w.write("a", "12")
	for range 2 {
		w.look(t.Context())
		second.look(t.Context())
	}
	// To the first worker the file is new, to the second it has changed.
	if len(w.events) != 2 || len(other.events) != 1 || !slices.ContainsFunc(w.events, func(e trigger.Event) bool { return e.ID == other.events[0].ID }) {
		t.Errorf("%s and %s", w.events, other.events)
	}
}

// vanishing is a workspace in which each walk finds a directory that is removed before the walk reads it.
type vanishing struct{ capability.Files }

type gone struct{ capability.Found }

func (gone) Err() error { return capability.ErrNotExist }

func (v vanishing) Walk(ctx context.Context, dir string, o capability.WalkOptions, visit func(capability.Found) error) error {
	if err := visit(gone{}); err != nil {
		return err
	}
	return v.Files.Walk(ctx, dir, o, visit)
}

// TestRemovedDirectories: a directory that is removed during a look does not hide the changes of other files.
func TestRemovedDirectories(t *testing.T) {
	w := newWorld(t, "", watches("acme", trigger.FilesOptions{Include: "**"}))
	workspace := w.files
	w.files = func(c toolspec.Context) capability.Files { return vanishing{workspace(c)} }
	w.looks(1)
	w.write("new", "1")
	w.looks(2, "created new")
	if said := w.log.String(); said != "" {
		t.Errorf("the log says %s", said)
	}
}

// TestTenantsHaveDirectories: a trigger sees the workspace of its tenant only.
func TestTenantsHaveDirectories(t *testing.T) {
	w := newWorld(t, "/{tenant}", watches("acme", trigger.FilesOptions{Include: "**"}))
	w.looks(1)
	w.write("acme/mine", "1")
	w.write("globex/foreign", "1")
	w.write("beside", "1")
	w.looks(3, "created mine")
}

// TestBounds: with too many files nothing is seen, and nothing is taken for removed.
func TestBounds(t *testing.T) {
	w := newWorld(t, "", watches("acme", trigger.FilesOptions{Include: "**", Changes: []trigger.Change{trigger.Created, trigger.Removed}}))
	w.write("first", "1")
	w.looks(1)
	for i := range MaxFiles {
		w.write(fmt.Sprintf("many/%d/%d", i/1000, i), "")
	}
	w.looks(3)
	if said := w.log.String(); strings.Count(said, "more than 10000 files match") != 1 {
		t.Errorf("the log says %s", said)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "many")); err != nil {
		t.Fatal(err)
	}
	w.write("second", "1")
	w.looks(2, "created second")
}
