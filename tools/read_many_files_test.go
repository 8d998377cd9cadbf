package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

func decodeParts(value json.RawMessage) (parts toolspec.Parts, err error) {
	return parts, json.Unmarshal(value, &parts)
}

type manyFiles struct {
	Files []struct {
		Path, Error, Text, Encoding string
		Truncated                   bool
		TotalBytes                  int64
		NextOffset                  int
	}
	Failed int
}

func TestReadManyFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "one\ntwo €\n")
	write(t, filepath.Join(dir, "sub", "b"), strings.Repeat("x", 5119)+"€"+strings.Repeat("x", 9000))
	write(t, filepath.Join(dir, "binary"), "\x00")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	got, err := run[manyFiles](t, tools.ReadManyFiles(), dir, map[string]any{"paths": []string{"a", "missing", "sub/b", "out", "binary", "sub", "a"}})
	if err != nil || got.Failed != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	var all []string
	for _, f := range got.Files {
		all = append(all, fmt.Sprintf("%s %s %d %v %d %d", f.Path, f.Error, len(f.Text), f.Truncated, f.TotalBytes, f.NextOffset))
	}
	want := []string{
		"a  26 false 12 0", "missing the file does not exist 0 false 0 0", fmt.Sprintf("sub/b  %d true 14122 0", 7+5119+1+len(marker)),
		"out the path leads outside the workspace 0 false 0 0", "binary not a text file 0 false 0 0", "sub the path is a directory 0 false 0 0", "a  26 false 12 0",
	}
	if strings.Join(all, "\n") != strings.Join(want, "\n") || got.Files[0].Text != "     1\tone\n     2\ttwo €\n" {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
}

// TestReadManyFilesIsBounded: files are read while the text of those before them is below 48 KiB.
func TestReadManyFilesIsBounded(t *testing.T) {
	dir := t.TempDir()
	// With its number, a file has n bytes.
	file := func(name string, n int) {
		write(t, filepath.Join(dir, name), strings.Repeat("€", (n-7)/3)+strings.Repeat("x", (n-7)%3))
	}
	for i := range 5 {
		file(fmt.Sprint(i), 9<<10)
	}
	for _, c := range []struct {
		fifth, failed int
	}{{3<<10 - 1, 0}, {3 << 10, 1}, {3<<10 + 1, 1}} {
		file("5", c.fifth)
		got, err := run[manyFiles](t, tools.ReadManyFiles(), dir, map[string]any{"paths": []string{"0", "1", "2", "3", "4", "5", "0"}})
		if err != nil || got.Failed != c.failed || len(got.Files) != 7 || len(got.Files[5].Text) != c.fifth {
			t.Errorf("%d bytes: %d failed, %v", c.fifth, got.Failed, err)
			continue
		}
		if c.failed > 0 != (got.Files[6].Error == "not read: the files before it have 48 KiB of text; read it in another call") {
			t.Errorf("%d bytes: %q", c.fifth, got.Files[6].Error)
		}
	}
	for n, ok := range map[int]bool{0: false, 50: true, 51: false} {
		paths := make([]string, n)
		for i := range paths {
			paths[i] = "5"
		}
		if _, err := run[manyFiles](t, tools.ReadManyFiles(), dir, map[string]any{"paths": paths}); (err == nil) != ok {
			t.Errorf("%d paths: %v", n, err)
		}
	}
}

// oneBroken has a file that the disk cannot read.
type oneBroken struct{ brokenFiles }

func (oneBroken) Open(_ context.Context, path string, _ int64) (io.ReadCloser, capability.Entry, error) {
	if path == "broken" {
		return nil, capability.Entry{}, errors.New("hunter2: input/output error")
	}
	return io.NopCloser(strings.NewReader("x")), capability.Entry{Size: 1}, nil
}

func TestReadManyFilesWithABrokenOne(t *testing.T) {
	got, err := runWith[manyFiles](t.Context(), t, tools.ReadManyFiles(), oneBroken{}, map[string]any{"paths": []string{"broken", "good"}})
	if err != nil || got.Failed != 1 || got.Files[0].Error != "the file cannot be read" || got.Files[1].Text != "     1\tx" {
		t.Errorf("%+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := runWith[manyFiles](ctx, t, tools.ReadManyFiles(), broken(context.Canceled), map[string]any{"paths": []string{"good"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}
