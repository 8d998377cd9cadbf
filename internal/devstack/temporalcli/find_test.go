package temporalcli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheEmbeddedPinIsThatOfDevtools(t *testing.T) {
	for name, embedded := range map[string][]byte{"go.mod": pinnedMod, "go.sum": pinnedSum} {
		pinned, err := os.ReadFile(filepath.Join("..", "..", "devtools", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(pinned, embedded) {
			t.Errorf("the copy of internal/devtools/%s is old: run go generate ./internal/devstack/temporalcli", name)
		}
	}
	if !strings.Contains(string(pinnedMod), "github.com/temporalio/cli "+Version+" ") {
		t.Errorf("Version is %s, internal/devtools pins another", Version)
	}
}

func TestPathComesFirstThenTheCache(t *testing.T) {
	path, cache := t.TempDir(), t.TempDir()
	t.Setenv("PATH", path)
	cached := filepath.Join(cache, "temporal", program().Pin(), "temporal")
	writeProgram(t, cached)
	if found, err := Find(t.Context(), Options{CacheDir: cache}); err != nil || found != cached {
		t.Errorf("found %s, %v; want %s", found, err, cached)
	}
	onPath := filepath.Join(path, "temporal")
	writeProgram(t, onPath)
	if found, err := Find(t.Context(), Options{CacheDir: cache}); err != nil || found != onPath {
		t.Errorf("found %s, %v; want %s", found, err, onPath)
	}
}

func writeProgram(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutGoItSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Find(t.Context(), Options{CacheDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "install `temporal`") {
		t.Errorf("got %v", err)
	}
}

func TestAStoppedBuildLeavesNothing(t *testing.T) {
	// This go command starts a child and does not end, like the real one during a build of minutes.
	path, cache := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\nsleep 600 & wait\n"
	if err := os.WriteFile(filepath.Join(path, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path+":/bin:/usr/bin")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lines []string
	_, err := Find(ctx, Options{CacheDir: cache, Progress: func(line string) {
		lines = append(lines, line)
		cancel()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "once, about 3 minutes") {
		t.Errorf("progress: %q", lines)
	}
	entries, err := os.ReadDir(filepath.Join(cache, "temporal", program().Pin()))
	if err != nil || len(entries) != 1 || entries[0].Name() != "lock" {
		t.Errorf("left in the cache: %v, %v", entries, err)
	}
}
