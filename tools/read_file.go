package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// Bounds of core__read_file, in bytes of the file. A window of up to readWhole
// is shown in full, of a larger one the first readHead.
const (
	readWhole = 10 << 10
	readHead  = 5 << 10
	// readReach is how deep into a file a window may lie.
	readReach = 64 << 20
)

type readFileIn struct {
	Path   string `json:"path" jsonschema:"minLength=1,maxLength=4096" jsonschema_description:"File to read, relative to the workspace, with slashes."`
	Offset int    `json:"offset,omitempty" jsonschema:"minimum=1" jsonschema_description:"First line to read, counted from 1. Default: 1."`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=1" jsonschema_description:"How many lines to read at the most. Default: to the end of the file."`
}

type readFileOut struct {
	Text       string `json:"text" jsonschema_description:"The lines, each after its number and a tab. Ends with the line '... [truncated]' if truncated."`
	StartLine  int    `json:"startLine" jsonschema_description:"Number of the first line shown; 0 if none is."`
	EndLine    int    `json:"endLine" jsonschema_description:"Number of the last line shown; 0 if none is."`
	Truncated  bool   `json:"truncated" jsonschema_description:"True if less is shown than was asked for."`
	TotalBytes int64  `json:"totalBytes" jsonschema_description:"Length of the whole file in bytes."`
	NextOffset int    `json:"nextOffset,omitempty" jsonschema_description:"Offset to go on reading with; absent at the end of the file."`
}

// ReadFile is core__read_file: the lines of one text file, numbered. It needs
// capability.Files.
func ReadFile() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__read_file",
		Title: "Read file",
		Description: "Reads a text file of the workspace as numbered lines. Up to 10 KB (10240 bytes) come whole; of more you get the first 5 KB " +
			"and the line '... [truncated]': go on with offset = nextOffset. Use offset and limit to read a part of a large file, down to 64 MB deep. " +
			"Of a single line over 5 KB you get the beginning, with limit 1 up to 10 KB of it; look for text further on with core__grep. " +
			"Only UTF-8 text can be read. The line numbers and tabs are not part of the file.",
		Version: "1",
		Effect:  toolspec.ReadOnly,
		Risk:    toolspec.LowRisk,
		Fast:    true,
		Redaction: toolspec.Redaction{Allow: []string{
			"/text", "/startLine", "/endLine", "/truncated", "/totalBytes", "/nextOffset",
		}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files"},
		Examples:     []toolspec.Example{{Title: "read a file", Args: `{"path": "docs/guide.md"}`}},
	}, readFile)
}

func readFile(ctx context.Context, in readFileIn, call toolspec.Call) (readFileOut, error) {
	file, entry, err := capability.FilesKey.From(call).Open(ctx, in.Path, readReach)
	if err != nil {
		return readFileOut{}, explain(err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	w, err := readWindow(bufio.NewReaderSize(file, 32<<10), max(in.Offset, 1), in.Limit)
	if errors.Is(err, capability.ErrTooLarge) {
		return readFileOut{}, toolspec.Safef("the offset lies too deep in the file: only the first 64 MB can be read")
	}
	if err != nil {
		return readFileOut{}, explain(err)
	}
	text := numbered(w.text, w.offset)
	out := readFileOut{Truncated: w.cut, TotalBytes: entry.Size, NextOffset: w.next}
	if lines := countLines(w.text); lines > 0 {
		out.StartLine, out.EndLine = w.offset, w.offset+lines-1
	}
	if w.cut {
		if !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n')
		}
		text = append(text, "... [truncated]"...)
	}
	out.Text = string(text)
	return out, nil
}

var (
	errNotText = toolspec.Safef("not a text file")
	errPastEnd = toolspec.Safef("the offset is past the last line of the file")
)

// skipLines reads past n lines. io.EOF says that the file has no line after them.
func skipLines(r *bufio.Reader, n int) error {
	for n > 0 {
		part, err := r.ReadSlice('\n')
		if bytes.IndexByte(part, 0) >= 0 {
			return errNotText
		}
		if err == nil {
			n--
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	_, err := r.Peek(1)
	return err
}

// take reads limit lines, 0 meaning all, but stops behind most bytes. What it
// returns beyond them is at most a line or the reader's buffer.
func take(r *bufio.Reader, limit, most int) ([]byte, error) {
	var taken []byte
	for lines := 0; (limit == 0 || lines < limit) && len(taken) <= most; {
		part, err := r.ReadSlice('\n')
		taken = append(taken, part...)
		switch {
		case err == nil:
			lines++
		case err == io.EOF:
			return taken, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
	return taken, nil
}
