package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type writeFileIn struct {
	Path       string  `json:"path" jsonschema:"minLength=1,maxLength=4096" jsonschema_description:"File to write, relative to the workspace, with slashes."`
	Content    *string `json:"content,omitempty" jsonschema_description:"The whole content of the file. It takes the place of what is there. Either content or contentRef is needed."`
	ContentRef string  `json:"contentRef,omitempty" jsonschema:"maxLength=256" jsonschema_description:"Reference of a stored output of this run (outputRef of a result), whose bytes are the content as they are stored: of any size."`
	CreateDirs bool    `json:"createDirs,omitempty" jsonschema_description:"Create missing parent directories. Default: false."`
}

// writeFileOut says nothing about what was there before: an attempt that follows
// a lost one finds its own file, and all attempts must answer the same.
type writeFileOut struct {
	BytesWritten int64  `json:"bytesWritten" jsonschema_description:"Length of the file in bytes."`
	SHA256       string `json:"sha256" jsonschema_description:"SHA-256 of the file in hexadecimal."`
}

// WriteFile is core__write_file: the whole content of one file, in one step. It
// needs capability.Files and, for a content by reference, capability.Outputs.
func WriteFile() toolspec.Tool {
	return toolspec.WithPreview(toolspec.Define(toolspec.Definition{
		ID:    "core__write_file",
		Title: "Write file",
		Description: "Creates a text file in the workspace or replaces the whole of an existing one. There is no undo, so read the file first. " +
			"Change a part of a file with core__edit_file. " +
			"The content must be complete, without line numbers, at most about 60 KiB; larger content comes from a stored output by contentRef. " +
			"The file is replaced in one step: nobody ever sees half of it. " +
			"An existing file keeps its permissions. The parent directory must exist unless createDirs is true.",
		Version:      "1",
		Effect:       toolspec.StateChange,
		Risk:         toolspec.MediumRisk,
		Idempotent:   true,
		MaxArgsBytes: toolspec.MaxInline, // the content of a file
		Redaction:    toolspec.Redaction{Allow: []string{"/bytesWritten", "/sha256"}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name(), capability.OutputsKey.Name()},
		Tags:         []string{"files"},
		Examples: []toolspec.Example{
			{Title: "create a file and its directory", Args: `{"path":"docs/notes.md","content":"# Notes\n","createDirs":true}`},
			{Title: "keep a large output of an earlier call", Args: `{"path":"report.csv","contentRef":"out_8c1f2d3e-1"}`},
		},
	}, writeFile), previewWrite)
}

func writeFile(ctx context.Context, in writeFileIn, call toolspec.Call) (writeFileOut, error) {
	source, closeSource, err := in.source(ctx, call)
	if err != nil {
		return writeFileOut{}, err
	}
	defer closeSource()
	previewed, seen := call.Previewed()
	at, found, noLinks := approved(previewed.State, in.Path)
	written := counter{Hash: sha256.New()}
	if seen && previewed.Done {
		_, err = io.Copy(&written, source)
	} else {
		opts := capability.ReplaceOptions{CreateDirs: in.CreateDirs, If: found, NoLinks: noLinks}
		err = capability.FilesKey.From(call).ReplaceFrom(ctx, at, io.TeeReader(source, &written), opts)
	}
	if errors.Is(err, capability.ErrNotExist) {
		return writeFileOut{}, toolspec.Safef("the parent directory does not exist: create it with createDirs")
	}
	if err != nil {
		return writeFileOut{}, explainWrite(explainOutput(err), seen)
	}
	return writeFileOut{BytesWritten: written.bytes, SHA256: hex.EncodeToString(written.Sum(nil))}, nil
}

func previewWrite(ctx context.Context, in writeFileIn, call toolspec.Call) (toolspec.Preview, error) {
	source, closeSource, err := in.source(ctx, call)
	if err != nil {
		return toolspec.Preview{}, err
	}
	defer closeSource()
	after, err := readContent(source)
	if err != nil {
		return toolspec.Preview{}, explainOutput(err)
	}
	files := capability.FilesKey.From(call)
	resolved, line, err := resolve(ctx, files, in.Path)
	if err != nil {
		return toolspec.Preview{}, err
	}
	before, err := readOld(ctx, files, in.Path)
	if err != nil {
		return toolspec.Preview{}, err
	}
	return toolspec.Preview{
		Text: line + difference(resolved, before, &after), State: stateOf(resolved, before.state()), Done: isRepeated(call) && before.state() == after.digest,
	}, nil
}

// source returns a reader of the content. closeSource ends it.
func (in writeFileIn) source(ctx context.Context, call toolspec.Call) (_ io.Reader, closeSource func(), err error) {
	switch {
	case (in.Content == nil) == (in.ContentRef == ""):
		return nil, nil, toolspec.Safef("either content or contentRef is needed, and not both")
	case in.Content != nil:
		return strings.NewReader(*in.Content), func() {}, nil
	}
	return openOutput(ctx, readableOutputs(call), call.Context.TenantID, in.ContentRef)
}
