package hook_test

import (
	"bytes"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/toolspec/hook"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s", file, got)
	}
}

// registry returns a registry of global hooks and its log.
func registry(t *testing.T, hooks ...hook.Hook) (*hook.Registry, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	r, err := hook.NewRegistry(slog.New(slog.NewJSONHandler(&log, nil)), hooks, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, &log
}
