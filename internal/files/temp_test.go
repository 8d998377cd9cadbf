package files

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

func openRoot(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, dir
}

func listDir(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range f {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// What a crash left is removed by the next writer of the same name and by no
// other; it is never taken for content.
func TestAbandonedTempIsRemoved(t *testing.T) {
	root, dir := openRoot(t)
	ours, others := tempNames("file"), tempNames("other")
	for _, name := range []string{ours[0], ours[1], ours[15], others[0]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Things that no writer makes are left alone and do not stop one.
	if err := os.Mkdir(filepath.Join(dir, ours[2]), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", filepath.Join(dir, ours[3])); err != nil {
		t.Fatal(err)
	}
	if err := replace(t.Context(), root, "file", strings.NewReader("whole"), ""); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{ours[2], ours[3], others[0], "file"}, " ")
	if others[0] < ours[2] {
		want = strings.Join([]string{others[0], ours[2], ours[3], "file"}, " ")
	}
	if got := listDir(t, dir); got != want {
		t.Errorf("the directory holds %s, want %s", got, want)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "whole" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

// Writers at work keep their files; when all slots are taken the next one is
// told so, and it has changed nothing.
func TestLivingTempIsKept(t *testing.T) {
	root, dir := openRoot(t)
	var temps []*temp
	for range tempSlots {
		made, err := newTemp(root, "file", 0o600)
		if err != nil {
			t.Fatal(err)
		}
		temps = append(temps, made)
	}
	if err := replace(t.Context(), root, "file", strings.NewReader("late"), ""); !errors.Is(err, capability.ErrBusy) {
		t.Errorf("one more: %v, want ErrBusy", err)
	}
	if err := replace(t.Context(), root, "other", strings.NewReader("x"), ""); err != nil {
		t.Errorf("another file: %v", err)
	}
	for i, made := range temps {
		if err := made.fill(t.Context(), strings.NewReader(string(rune('a'+i))), nil); err != nil {
			t.Error(err)
		}
		if err := made.publish("file"); err != nil {
			t.Error(err)
		}
		made.discard()
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "p" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if got := listDir(t, dir); got != "file other" {
		t.Errorf("the directory holds %s", got)
	}
}

// A failed replacement leaves the old content and no litter.
func TestFailedReplaceLeavesNothing(t *testing.T) {
	root, dir := openRoot(t)
	if err := replace(t.Context(), root, "file", strings.NewReader("old"), ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := replace(ctx, root, "file", strings.NewReader("new"), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := replace(ctx, root, "file", strings.NewReader(""), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, no content: %v", err)
	}
	made, err := newTemp(root, "dir", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := made.publish("dir"); !errors.Is(err, capability.ErrIsDir) {
		t.Errorf("a directory has come up: %v, want ErrIsDir", err)
	}
	made.discard()
	if got := listDir(t, dir); got != "dir file" {
		t.Errorf("the directory holds %s", got)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "old" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

// spy is a context that looks around whenever it is asked.
type spy struct {
	context.Context
	look func()
}

func (s spy) Err() error {
	s.look()
	return s.Context.Err()
}

// While it is written, what will replace a private file is private.
func TestTempIsPrivate(t *testing.T) {
	root, dir := openRoot(t)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	looked := 0
	ctx := spy{t.Context(), func() {
		looked++
		info, err := os.Stat(filepath.Join(dir, tempNames("file")[0]))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("the temporary file is %v, %v", info, err)
		}
	}}
	if err := replace(ctx, root, "file", strings.NewReader("secret"), ""); err != nil || looked < 2 {
		t.Errorf("looked %d times, %v", looked, err)
	}
}

const killedIn = "PAWL_TEST_KILLED_IN"

// TestKilledWriter is the process that TestKill kills.
func TestKilledWriter(t *testing.T) {
	dir := os.Getenv(killedIn)
	if dir == "" {
		t.Skip("only under TestKill")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	made, err := newTemp(root, "file", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.fill(t.Context(), strings.NewReader("new"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString("ready\n"); err != nil {
		t.Fatal(err)
	}
	select {} // killed here, between writing and renaming
}

// A writer that is killed between writing and renaming leaves the old content;
// while it lives, others leave its file alone.
func TestKill(t *testing.T) {
	root, dir := openRoot(t)
	if err := replace(t.Context(), root, "file", strings.NewReader("old"), ""); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriter$")
	cmd.Env = append(os.Environ(), killedIn+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the writer says %q, %v", line, err)
	}
	left := tempNames("file")[0]
	if err := replace(t.Context(), root, "file", strings.NewReader("meanwhile"), ""); err != nil {
		t.Fatal(err)
	}
	if got := listDir(t, dir); got != left+" file" {
		t.Errorf("beside a living writer the directory holds %s", got)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "meanwhile" {
		t.Errorf("after the kill the file holds %q, %v", got, err)
	}
	if err := replace(t.Context(), root, "file", strings.NewReader("next"), ""); err != nil {
		t.Fatal(err)
	}
	if got := listDir(t, dir); got != "file" {
		t.Errorf("after the next writer the directory holds %s", got)
	}
}
