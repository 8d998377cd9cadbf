package tools_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type fileText struct {
	Text       string `json:"text"`
	StartLine  int    `json:"startLine"`
	EndLine    int    `json:"endLine"`
	Truncated  bool   `json:"truncated"`
	TotalBytes int64  `json:"totalBytes"`
	NextOffset int    `json:"nextOffset"`
	Encoding   string `json:"encoding"`
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "four"), "one\ntwo\r\n\nfour €\n")
	write(t, filepath.Join(dir, "open"), "one\ntwo")
	write(t, filepath.Join(dir, "empty"), "")
	write(t, filepath.Join(dir, "newline"), "\n")
	for _, c := range []struct {
		args map[string]any
		want fileText
	}{
		{map[string]any{"path": "four"}, fileText{Text: "     1\tone\n     2\ttwo\r\n     3\t\n     4\tfour €\n", StartLine: 1, EndLine: 4, TotalBytes: 19}},
		{map[string]any{"path": "four", "offset": 2, "limit": 2}, fileText{Text: "     2\ttwo\r\n     3\t\n", StartLine: 2, EndLine: 3, TotalBytes: 19, NextOffset: 4}},
		{map[string]any{"path": "four", "offset": 4}, fileText{Text: "     4\tfour €\n", StartLine: 4, EndLine: 4, TotalBytes: 19}},
		{map[string]any{"path": "four", "offset": 1, "limit": 4}, fileText{Text: "     1\tone\n     2\ttwo\r\n     3\t\n     4\tfour €\n", StartLine: 1, EndLine: 4, TotalBytes: 19}},
		{map[string]any{"path": "open"}, fileText{Text: "     1\tone\n     2\ttwo", StartLine: 1, EndLine: 2, TotalBytes: 7}},
		{map[string]any{"path": "open", "limit": 1}, fileText{Text: "     1\tone\n", StartLine: 1, EndLine: 1, TotalBytes: 7, NextOffset: 2}},
		{map[string]any{"path": "open", "limit": 9}, fileText{Text: "     1\tone\n     2\ttwo", StartLine: 1, EndLine: 2, TotalBytes: 7}},
		{map[string]any{"path": "empty"}, fileText{}},
		{map[string]any{"path": "newline"}, fileText{Text: "     1\t\n", StartLine: 1, EndLine: 1, TotalBytes: 1}},
	} {
		if got, err := run[fileText](t, tools.ReadFile(), dir, c.args); err != nil || got != c.want {
			t.Errorf("%v:\n%+v, %v, want\n%+v", c.args, got, err, c.want)
		}
	}
	for _, args := range []map[string]any{{"path": "four", "offset": 5}, {"path": "open", "offset": 3}, {"path": "empty", "offset": 2}, {"path": "open", "offset": 1 << 40}} {
		_, err := run[fileText](t, tools.ReadFile(), dir, args)
		wantSafe(t, fmt.Sprint(args), err, "the offset is past the last line of the file")
	}
}

const marker = "... [truncated]"

func TestReadFileBoundary(t *testing.T) {
	dir := t.TempDir()
	line := strings.Repeat("x", 63) + "\n" // 80 of them are 5120 bytes, 160 are 10240
	for _, c := range []struct {
		name    string
		content string
		head    string // "" for the whole
		next    int
	}{
		{"10240 in lines", strings.Repeat(line, 160), "", 0},
		{"10241 in lines", strings.Repeat(line, 160) + "y", strings.Repeat(line, 80), 81},
		{"10240 in one", strings.Repeat("x", 10240), "", 0},
		{"10241 in one", strings.Repeat("x", 10241), strings.Repeat("x", 5120), 0},
		{"10241, the last a line end", strings.Repeat("x", 10240) + "\n", strings.Repeat("x", 5120), 0},
		{"10240 and another line", strings.Repeat("x", 10240) + "\ny", strings.Repeat("x", 5120), 2},
		{"8000 and another line", strings.Repeat("x", 8000) + "\n" + strings.Repeat("y", 8000), strings.Repeat("x", 5120), 2},
		{"8000 and an empty line", strings.Repeat("x", 8000) + "\n\n" + strings.Repeat("y", 8000), strings.Repeat("x", 5120), 2},
		{"100000 in one", strings.Repeat("x", 100000), strings.Repeat("x", 5120), 0},
		{"100000 and a line end", strings.Repeat("x", 100000) + "\n", strings.Repeat("x", 5120), 0},
		{"100000 and another line", strings.Repeat("x", 100000) + "\ny", strings.Repeat("x", 5120), 2},
		{"a character across the cut", strings.Repeat("x", 5119) + "€" + strings.Repeat("x", 10000), strings.Repeat("x", 5119), 0},
		{"one of four bytes", strings.Repeat("x", 5117) + "🦫" + strings.Repeat("x", 10000), strings.Repeat("x", 5117), 0},
		{"one that ends at the cut", strings.Repeat("x", 5117) + "€" + strings.Repeat("x", 10000), strings.Repeat("x", 5117) + "€", 0},
		{"a line end short of the cut", strings.Repeat("x", 5000) + "\n" + strings.Repeat("y", 10000), strings.Repeat("x", 5000) + "\n", 2},
		{"a line end far ahead of it", "short\n" + strings.Repeat("y", 20000), "short\n" + strings.Repeat("y", 5114), 2},
		{"only line ends", strings.Repeat("\n", 10241), strings.Repeat("\n", 5120), 5121},
		{"a character across the 10240", strings.Repeat("x", 10239) + "€", strings.Repeat("x", 5120), 0},
		{"characters only", strings.Repeat("€", 5000), strings.Repeat("€", 1706), 0},
	} {
		write(t, filepath.Join(dir, "file"), c.content)
		got, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "file"})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		head := c.head
		if head == "" {
			head = c.content
		}
		text, cut := strings.CutSuffix(got.Text, marker)
		shown := unnumbered(t, text)
		if cut && !strings.HasSuffix(head, "\n") {
			head += "\n" // the marker stands on a line of its own
		}
		if shown != head || cut != (c.head != "") || got.Truncated != cut || got.NextOffset != c.next || got.TotalBytes != int64(len(c.content)) {
			t.Errorf("%s: %d bytes shown, want %d; truncated %v, next %d, want %d", c.name, len(shown), len(head), got.Truncated, got.NextOffset, c.next)
		}
	}
}

var numberedLine = regexp.MustCompile(`^ *([0-9]+)\t`)

// unnumbered takes the numbers off.
func unnumbered(t interface{ Fatalf(string, ...any) }, text string) string {
	var plain strings.Builder
	for line := range strings.Lines(text) {
		number := numberedLine.FindString(line)
		if len(number) < 7 {
			t.Fatalf("the line %.30q has no number", line)
		}
		plain.WriteString(line[len(number):])
	}
	return plain.String()
}

// Whatever the file, going on with nextOffset ends, and shows every line under
// its number: whole up to 5 KiB, of a longer one the beginning.
func TestReadFileGoesOn(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		length := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 200), rapid.IntRange(5000, 5200), rapid.IntRange(0, 12000))
		lengths := rapid.SliceOfN(length, 1, 40).Draw(r, "lengths")
		unit := rapid.SampledFrom([]string{"x", "€"}).Draw(r, "unit")
		lines := make([]string, len(lengths))
		for i, n := range lengths {
			lines[i] = strings.Repeat(unit, n/len(unit))
		}
		content := strings.Join(lines, "\n")
		if content == "" {
			return
		}
		write(t, filepath.Join(dir, "file"), content)
		whole := map[int]string{}
		for offset := 1; offset != 0; {
			got, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "file", "offset": offset})
			if err != nil || got.StartLine != offset || got.EndLine < offset || !utf8.ValidString(got.Text) {
				r.Fatalf("from %d: %+v, %v", offset, got, err)
			}
			for line := range strings.Lines(strings.TrimSuffix(got.Text, marker)) {
				number, _ := strconv.Atoi(strings.TrimSpace(line[:6]))
				whole[number] = strings.TrimSuffix(line[7:], "\n")
			}
			if got.NextOffset != 0 && got.NextOffset <= offset {
				r.Fatalf("from %d on to %d", offset, got.NextOffset)
			}
			offset = got.NextOffset
		}
		for i, line := range lines {
			if i == len(lines)-1 && line == "" {
				continue // what follows the last line end is no line
			}
			if shown := whole[i+1]; len(line) <= 5<<10 && shown != line || !strings.HasPrefix(line, shown) {
				r.Fatalf("line %d of %d bytes is shown as %d bytes", i+1, len(line), len(shown))
			}
		}
	})
}

func TestReadFileRefusesBinary(t *testing.T) {
	dir := t.TempDir()
	const notText, notUTF8 = "not a text file", "not UTF-8 text: if it is text in another encoding, say encoding, such as windows-1252"
	for name, c := range map[string]struct{ content, want string }{
		"NUL":               {"text\x00text", notText},
		"NUL late":          {strings.Repeat("x", 9000) + "\x00" + strings.Repeat("x", 9000), notText},
		"latin-1":           {"caf\xe9", notUTF8},
		"half a character":  {"caf\xc3", notUTF8},
		"half at the cut":   {strings.Repeat("x", 5119) + "\xe2" + strings.Repeat("x", 10000), notUTF8},
		"surrogate":         {"\xed\xa0\x80", notUTF8},
		"continuation only": {strings.Repeat("\x80", 20000), notUTF8},
		"UTF-16, no mark":   {"h\x00i\x00", notText},
		"NUL in UTF-16":     {"\xff\xfeh\x00\x00\x00", notText},
		"PNG":               {"\x89PNG\r\n\x1a\n....", "the file is an image: look at it with core__read_image"},
	} {
		write(t, filepath.Join(dir, "file"), c.content)
		_, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "file"})
		wantSafe(t, name, err, c.want)
	}
	write(t, filepath.Join(dir, "file"), "a\x00\nb\n")
	_, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "file", "offset": 2})
	wantSafe(t, "NUL ahead of the offset", err, notText)
	// What follows the window does not matter.
	write(t, filepath.Join(dir, "file"), "a\nb\nc\x00\n")
	if got, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "file", "offset": 2, "limit": 1}); err != nil || got.Text != "     2\tb\n" {
		t.Errorf("NUL behind the window: %+v, %v", got, err)
	}
}

func TestReadFileEncodings(t *testing.T) {
	dir := t.TempDir()
	le, be := "\xff\xfe", "\xfe\xff"
	for _, c := range text16("né\n€🦫\r\nx") {
		le, be = le+string([]byte{byte(c), byte(c >> 8)}), be+string([]byte{byte(c >> 8), byte(c)})
	}
	const text = "     1\tné\n     2\t€🦫\r\n     3\tx"
	for _, c := range []struct{ content, encoding, want, found string }{
		{"\xef\xbb\xbfné\n€🦫\r\nx", "", text, ""},
		{le, "", text, "utf-16le"},
		{be, "", text, "utf-16be"},
		{le, "utf-16le", text, "utf-16le"},
		{le[2:], "utf-16le", text, "utf-16le"},
		{be[2:], "utf-16be", text, "utf-16be"},
		{"\x80 n\xe9", "windows-1252", "     1\t€ né", "windows-1252"},
		{"\xa4 n\xe9", "iso-8859-1", "     1\t¤ né", "iso-8859-1"},
		{"né", "utf-8", "     1\tné", ""},
	} {
		write(t, filepath.Join(dir, "file"), c.content)
		args := map[string]any{"path": "file"}
		if c.encoding != "" {
			args["encoding"] = c.encoding
		}
		got, err := run[fileText](t, tools.ReadFile(), dir, args)
		if err != nil || got.Text != c.want || got.Encoding != c.found || got.TotalBytes != int64(len(c.content)) {
			t.Errorf("%q as %q: %+v, %v", c.content, c.encoding, got, err)
		}
	}
	// Limits are of the text as UTF-8: 1707 characters of 3 bytes do not fit in 5 KiB.
	write(t, filepath.Join(dir, "file"), "\xff\xfe"+strings.Repeat("\xac\x20", 10000))
	got, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "file"})
	if err != nil || !got.Truncated || got.Text != "     1\t"+strings.Repeat("€", 1706)+"\n"+marker {
		t.Errorf("cut: %d bytes, %v", len(got.Text), err)
	}
	if _, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "file", "encoding": "utf-7"}); err == nil {
		t.Error("utf-7 was taken")
	}
}

func text16(s string) []uint16 { return utf16.Encode([]rune(s)) }

func TestReadFileLarge(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("begin\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "sparse"})
	wantSafe(t, "sparse", err, "not a text file")
	got, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "sparse", "limit": 1})
	if err != nil || got.Text != "     1\tbegin\n" || got.TotalBytes != 1<<40 || got.NextOffset != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// linesFiles has one file of endlessly many lines of 1 MiB.
type linesFiles struct{ brokenFiles }

func (linesFiles) Open(_ context.Context, _ string, limit int64) (io.ReadCloser, capability.Entry, error) {
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	return io.NopCloser(&endless{text: line, left: limit}), capability.Entry{Path: "file", Type: capability.TypeFile, Size: 1 << 50}, nil
}

// endless is text again and again, up to a limit.
type endless struct {
	text []byte
	at   int
	left int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, capability.ErrTooLarge
	}
	n := copy(p[:min(int64(len(p)), e.left)], e.text[e.at:])
	e.at, e.left = (e.at+n)%len(e.text), e.left-int64(n)
	return n, nil
}

// TestReadFileDeep: how deep a window may lie, and what reading it takes.
func TestReadFileDeep(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := runWith[fileText](t.Context(), t, tools.ReadFile(), linesFiles{}, map[string]any{"path": "file", "offset": 1024})
	if err != nil || got.StartLine != 1024 || !got.Truncated || got.NextOffset != 1025 {
		t.Errorf("within reach: %d, %v, %d, %v", got.StartLine, got.Truncated, got.NextOffset, err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 8<<20 {
		t.Errorf("it takes %d bytes of memory", after.TotalAlloc-before.TotalAlloc)
	}
	_, err = runWith[fileText](t.Context(), t, tools.ReadFile(), linesFiles{}, map[string]any{"path": "file", "offset": 1025})
	wantSafe(t, "out of reach", err, "the offset lies too deep in the file: only the first 1 GiB can be read")
}

func TestReadFileNotRegular(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "pipe"})
	wantSafe(t, "a pipe", err, "the path is not a regular file")
	if _, err := run[fileText](t, tools.ReadFile(), dir, map[string]any{"path": "pipe", "offset": "1"}); err == nil || errors.Is(err, syscall.EINVAL) {
		t.Error("an offset that is a string was taken")
	}
}
