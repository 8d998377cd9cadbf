package tools_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
)

func TestReadImage(t *testing.T) {
	dir := t.TempDir()
	const tooLarge, noImage = "the image has more than 4 MiB (4194304 bytes)", "the file is not a PNG, JPEG, GIF or WebP image"
	png := "\x89PNG\r\n\x1a\n\x00\x00"
	for _, c := range []struct{ name, content, mediaType, err string }{
		{"a.png", png, "image/png", ""},
		{"é.txt", "\xff\xd8\xff\xe0\x00", "image/jpeg", ""},
		{"a.gif", "GIF89a\x01\x00", "image/gif", ""},
		{"b.gif", "GIF87a", "image/gif", ""},
		{"a.webp", "RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp", ""},
		{"below", png + strings.Repeat("é", 2<<20-6), "image/png", ""},
		{"at", png + strings.Repeat("é", 2<<20-5), "image/png", ""},
		{"above", png + strings.Repeat("é", 2<<20-5) + "x", "", tooLarge},
		{"sound.png", "RIFF\x10\x00\x00\x00WAVEfmt ", "", noImage},
		{"page.png", "<svg onload=alert(1)>", "", noImage},
		{"short.png", "\x89PNG", "", noImage},
		{"empty.png", "", "", noImage},
	} {
		write(t, filepath.Join(dir, c.name), c.content)
		got := pawltest.Call{Tool: tools.ReadImage(), Args: map[string]any{"path": c.name}, Workspace: dir}.Run(t)
		if c.err != "" {
			if got.Result.SafeMessage != toolspec.ErrorPrefix+c.err {
				t.Errorf("%s: %s, want %s", c.name, got.Result.SafeMessage, c.err)
			}
			continue
		}
		parts, err := decodeParts(got.Value)
		if err != nil || got.Result.Kind != toolspec.KindParts || len(parts) != 1 || parts[0].Type != toolspec.PartImage || parts[0].MediaType != c.mediaType ||
			string(parts[0].Data) != c.content || parts[0].Name != c.name || parts.Check() != nil {
			t.Errorf("%s: %d parts, %+v, %v", c.name, len(parts), got.Result.ErrorCode, err)
		}
	}
}
