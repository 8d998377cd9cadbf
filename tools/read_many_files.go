package tools

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// manyText bounds what one call of core__read_many_files reads: after so many bytes of numbered text it reads no further file.
const manyText = 48 << 10

type readManyIn struct {
	Paths []string `json:"paths" jsonschema:"minItems=1,maxItems=50" jsonschema_description:"Files to read, relative to the workspace, with slashes."`
}

type readManyOut struct {
	Files  []readManyFile `json:"files" jsonschema_description:"What was read of each path, in the order of the paths."`
	Failed int            `json:"failed" jsonschema_description:"How many of the files have an error."`
}

type readManyFile struct {
	Path       string `json:"path"`
	Error      string `json:"error,omitempty" jsonschema_description:"Why the file was not read; the fields below are absent then."`
	Text       string `json:"text,omitempty" jsonschema_description:"The lines, each after its number and a tab. Ends with the line '... [truncated]' if truncated."`
	Truncated  bool   `json:"truncated,omitempty" jsonschema_description:"True if not the whole file is shown."`
	TotalBytes int64  `json:"totalBytes,omitempty" jsonschema_description:"Length of the whole file in bytes."`
	NextOffset int    `json:"nextOffset,omitempty" jsonschema_description:"Offset to go on reading with, by core__read_file; absent at the end of the file."`
	Encoding   string `json:"encoding,omitempty" jsonschema_description:"Encoding of the file; absent if it is UTF-8."`
}

// ReadManyFiles is core__read_many_files: the beginning of several text files, numbered. It needs
// capability.Files.
func ReadManyFiles() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__read_many_files",
		Title: "Read files",
		Description: "Reads up to 50 text files of the workspace at once, as numbered lines. Each comes as from core__read_file: whole up to 10 KiB, of more the first 5 KiB " +
			"and the line '... [truncated]'; go on with core__read_file at nextOffset. A file that cannot be read has an error, beside the text of the others. " +
			"After 48 KiB of text in all, the remaining files are not read and have an error that says so: read them in another call. " +
			"To find files use core__glob.",
		Version: "1",
		Effect:  toolspec.ReadOnly,
		Risk:    toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{
			"/files/*/path", "/files/*/error", "/files/*/text", "/files/*/truncated", "/files/*/totalBytes", "/files/*/nextOffset", "/files/*/encoding", "/failed",
		}},
		MaxArgsBytes: toolspec.MaxInline, // 50 long paths
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files"},
		Examples:     []toolspec.Example{{Title: "Read three files", Args: `{"paths":["README.md","go.mod","cmd/main.go"]}`}},
	}, readManyFiles)
}

var (
	errNotReached = toolspec.Safef("not read: the files before it have 48 KiB of text; read it in another call")
	errUnreadable = toolspec.Safef("the file cannot be read")
)

func readManyFiles(ctx context.Context, in readManyIn, call toolspec.Call) (readManyOut, error) {
	out := readManyOut{Files: make([]readManyFile, 0, len(in.Paths))}
	size := 0
	for _, path := range in.Paths {
		file := readManyFile{Path: path}
		err := errNotReached
		var got readFileOut
		if size < manyText {
			got, err = readOne(ctx, capability.FilesKey.From(call), readFileIn{Path: path})
		}
		if ctx.Err() != nil {
			return readManyOut{}, ctx.Err()
		}
		if err != nil {
			// If the disk fails for this file, the call still returns the other files.
			var safe *toolspec.SafeError
			if !errors.As(err, &safe) {
				err = errUnreadable
			}
			file.Error = err.Error()
			out.Failed++
		} else {
			size += len(got.Text)
			file.Text, file.Truncated, file.TotalBytes, file.NextOffset, file.Encoding = got.Text, got.Truncated, got.TotalBytes, got.NextOffset, got.Encoding
		}
		out.Files = append(out.Files, file)
	}
	return out, nil
}
