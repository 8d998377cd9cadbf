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

// Bounds of core__read_file, in bytes of the file. A result shows a window of up to readWhole in
// full. Of a larger window it shows the first readHead.
const (
	readWhole = 10 << 10
	readHead  = 5 << 10
	// readReach is the part of a file that can be read, from its beginning.
	readReach = 1 << 30
)

type readFileIn struct {
	Path     string `json:"path" jsonschema:"minLength=1,maxLength=4096" jsonschema_description:"File to read, relative to the workspace, with slashes."`
	Offset   int    `json:"offset,omitempty" jsonschema:"minimum=1" jsonschema_description:"First line to read, counted from 1. Default: 1."`
	Limit    int    `json:"limit,omitempty" jsonschema:"minimum=1" jsonschema_description:"How many lines to read at the most. Default: to the end of the file."`
	Encoding string `json:"encoding,omitempty" jsonschema:"enum=utf-8,enum=utf-16le,enum=utf-16be,enum=iso-8859-1,enum=windows-1252" jsonschema_description:"Encoding of the file. Default: that of its byte order mark, else utf-8."`
}

type readFileOut struct {
	Text       string `json:"text" jsonschema_description:"The lines, each after its number and a tab. Ends with the line '... [truncated]' if truncated."`
	StartLine  int    `json:"startLine" jsonschema_description:"Number of the first line shown; 0 if none is."`
	EndLine    int    `json:"endLine" jsonschema_description:"Number of the last line shown; 0 if none is."`
	Truncated  bool   `json:"truncated" jsonschema_description:"True if less is shown than was asked for."`
	TotalBytes int64  `json:"totalBytes" jsonschema_description:"Length of the whole file in bytes."`
	NextOffset int    `json:"nextOffset,omitempty" jsonschema_description:"Offset to go on reading with; absent at the end of the file."`
	Encoding   string `json:"encoding,omitempty" jsonschema_description:"Encoding that the file was read in; absent if it is UTF-8."`
}

// ReadFile is core__read_file: the lines of one text file, numbered. It needs
// capability.Files.
func ReadFile() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__read_file",
		Title: "Read file",
		Description: "Reads a text file of the workspace as numbered lines. Up to 10 KiB (10240 bytes) come whole; of more you get the first 5 KiB " +
			"and the line '... [truncated]': go on with offset = nextOffset. Use offset and limit to read a part of a large file, down to 1 GiB deep. " +
			"Of a single line over 5 KiB you get the beginning, with limit 1 up to 10 KiB of it; look for text further on with core__grep. " +
			"Text is UTF-8, or UTF-16 with a byte order mark; for other encodings say encoding. A file with a NUL is not text; look at images with core__read_image. The line numbers and tabs are not part of the file.",
		Version: "1",
		Effect:  toolspec.ReadOnly,
		Risk:    toolspec.LowRisk,
		Fast:    true,
		Redaction: toolspec.Redaction{Allow: []string{
			"/text", "/startLine", "/endLine", "/truncated", "/totalBytes", "/nextOffset", "/encoding",
		}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files"},
		Examples: []toolspec.Example{
			{Title: "Read a file", Args: `{"path":"README.md"}`},
			{Title: "Read 100 lines from the middle of a large file", Args: `{"path":"logs/server.log","offset":900000,"limit":100}`},
		},
	}, readFile)
}

func readFile(ctx context.Context, in readFileIn, call toolspec.Call) (readFileOut, error) {
	return readOne(ctx, capability.FilesKey.From(call), in)
}

// readOne reads a window of one file.
func readOne(ctx context.Context, files capability.Files, in readFileIn) (readFileOut, error) {
	file, entry, err := files.Open(ctx, in.Path, readReach)
	if err != nil {
		return readFileOut{}, explain(err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	r, encoding, err := decode(file, in.Encoding)
	if err != nil {
		return readFileOut{}, err
	}
	w, err := readWindow(r, max(in.Offset, 1), in.Limit)
	if errors.Is(err, capability.ErrTooLarge) {
		return readFileOut{}, toolspec.Safef("the offset lies too deep in the file: only the first 1 GiB can be read")
	}
	if err != nil {
		return readFileOut{}, explain(err)
	}
	text := numbered(w.text, w.offset)
	out := readFileOut{Truncated: w.cut, TotalBytes: entry.Size, NextOffset: w.next}
	if encoding != utf8Name {
		out.Encoding = encoding
	}
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
	errNotUTF8 = toolspec.Safef("not UTF-8 text: if it is text in another encoding, say encoding, such as windows-1252")
	errPastEnd = toolspec.Safef("the offset is past the last line of the file")
)

// skipLines reads past n lines. io.EOF says that the file has no line after them.
func skipLines(r *bufio.Reader, n int) error {
	for n > 0 {
		if _, err := r.Peek(1); err != nil {
			return err
		}
		block, _ := r.Peek(r.Buffered())
		if ends := bytes.Count(block, []byte("\n")); ends < n {
			n -= ends
		} else {
			at := 0
			for ; n > 0; n-- {
				at += bytes.IndexByte(block[at:], '\n') + 1
			}
			block = block[:at]
		}
		if bytes.IndexByte(block, 0) >= 0 {
			return errNotText
		}
		if _, err := r.Discard(len(block)); err != nil {
			return err
		}
	}
	_, err := r.Peek(1)
	return err
}

// take reads the next limit lines, or all lines if limit is 0. It stops when the result is longer
// than the parameter most. The result is then too long by at most one line or one buffer of the
// reader.
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
