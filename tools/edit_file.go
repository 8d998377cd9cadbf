package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// maxEdited bounds a file that core__edit_file edits, before and after, in bytes.
const maxEdited = 4 << 20

type editFileIn struct {
	Path  string `json:"path" jsonschema:"minLength=1,maxLength=4096" jsonschema_description:"File to edit, relative to the workspace, with slashes."`
	Edits []edit `json:"edits" jsonschema:"minItems=1,maxItems=64" jsonschema_description:"The edits. Each is found in the file as it is now, and they may not overlap."`
}

type edit struct {
	OldText    string `json:"oldText" jsonschema:"minLength=1" jsonschema_description:"The text to replace, exactly as it is in the file, without line numbers. It must be there once, unless replaceAll is true: take more of the lines around it."`
	NewText    string `json:"newText" jsonschema_description:"The text that takes its place. Empty deletes it."`
	ReplaceAll bool   `json:"replaceAll,omitempty" jsonschema_description:"Replace every occurrence. Default: false."`
}

// editFileOut says nothing about the file before the edit. All attempts of a call must give the same answer,
// and an attempt after a lost attempt may find the file already edited.
type editFileOut struct {
	BytesWritten int    `json:"bytesWritten" jsonschema_description:"Length of the whole file in bytes."`
	SHA256       string `json:"sha256" jsonschema_description:"SHA-256 of the whole file in hexadecimal."`
}

// EditFile is core__edit_file: several exact replacements in one file, in one step. It needs
// capability.Files.
func EditFile() toolspec.Tool {
	return toolspec.WithPreview(toolspec.Define(toolspec.Definition{
		ID:    "core__edit_file",
		Title: "Edit file",
		Description: "Replaces exact texts in a text file of the workspace; use it for a change to a part of a file, and core__write_file for a new file. " +
			"All edits are made in one step or none is: an oldText that is not there, or is there more than once without replaceAll, " +
			"is an error that says on which lines it was found, and the file is unchanged. Read the file first. " +
			"Line ends and a byte order mark are kept: write line ends as \\n, also for a file with \\r\\n. " +
			"Only UTF-8 text of up to 4 MiB can be edited, and all edits together have up to about 60 KiB.",
		Version:      "1",
		Effect:       toolspec.StateChange,
		Risk:         toolspec.MediumRisk,
		Idempotent:   true,
		MaxArgsBytes: toolspec.MaxInline,
		Redaction:    toolspec.Redaction{Allow: []string{"/bytesWritten", "/sha256"}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files"},
		Examples: []toolspec.Example{
			{Title: "change a line", Args: `{"path":"config.yaml","edits":[{"oldText":"retries: 3\n","newText":"retries: 5\n"}]}`},
			{Title: "rename a function and fix the call of it", Args: `{"path":"main.go","edits":[{"oldText":"func load(","newText":"func loadConfig("},{"oldText":"= load(","newText":"= loadConfig(","replaceAll":true}]}`},
		},
	}, editFile), previewEdit)
}

// maxTries bounds how often an attempt without a preview begins its edit anew because the file has changed
// meanwhile. The attempt repeats the edit itself, because a later attempt could not tell whether this one has
// edited the file.
const maxTries = 3

func editFile(ctx context.Context, in editFileIn, call toolspec.Call) (out editFileOut, err error) {
	_, seen := call.Previewed()
	for range maxTries {
		if out, err = editOnce(ctx, in, call); seen || !errors.Is(err, capability.ErrChanged) {
			break
		}
	}
	if err != nil {
		return editFileOut{}, explainWrite(err, seen)
	}
	return out, nil
}

func editOnce(ctx context.Context, in editFileIn, call toolspec.Call) (editFileOut, error) {
	files := capability.FilesKey.From(call)
	previewed, seen := call.Previewed()
	at, found, noLinks := approved(previewed.State, in.Path)
	old, err := readText(ctx, files, at, maxEdited)
	if err != nil {
		return editFileOut{}, err
	}
	switch {
	case seen && found != digestOf(old):
		return editFileOut{}, toolspec.ErrStale
	case seen && previewed.Done, !seen && isRepeated(call) && mayBeEdited(old, in.Edits):
		return editFileOut{}, errPerhapsEdited
	}
	text, err := applyEdits(old, in.Edits)
	if err != nil {
		return editFileOut{}, err
	}
	opts := capability.ReplaceOptions{If: digestOf(old), NoLinks: noLinks}
	if err := files.Replace(ctx, at, []byte(text), opts); err != nil {
		return editFileOut{}, err
	}
	return editFileOut{BytesWritten: len(text), SHA256: digestOf(text)}, nil
}

func previewEdit(ctx context.Context, in editFileIn, call toolspec.Call) (toolspec.Preview, error) {
	files := capability.FilesKey.From(call)
	resolved, line, err := resolve(ctx, files, in.Path)
	if err != nil {
		return toolspec.Preview{}, err
	}
	old, err := readText(ctx, files, in.Path, maxEdited)
	if err != nil {
		return toolspec.Preview{}, err
	}
	// An earlier attempt may have made the edits, and then the text of this preview differs from the approved text.
	// Because of Done, the call does not end with approval_stale then, which would say that nothing has changed.
	p := toolspec.Preview{State: stateOf(resolved, digestOf(old)), Done: isRepeated(call) && mayBeEdited(old, in.Edits)}
	text, err := applyEdits(old, in.Edits)
	if err != nil { // the call would fail with this error
		p.Text = line + err.Error() + "\n"
		return p, nil //nolint:nilerr // people see it
	}
	p.Text = line + difference(resolved, contentOf(old), contentOf(text))
	return p, nil
}

// isRepeated reports whether an earlier attempt of the call may have had its effect.
func isRepeated(call toolspec.Call) bool { return call.Attempt > 1 || call.Epoch > 1 }

// readText reads a text file of at most limit bytes.
func readText(ctx context.Context, files capability.Files, path string, limit int64) (string, error) {
	file, _, err := files.Open(ctx, path, limit)
	if err != nil {
		return "", explain(err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	content, err := io.ReadAll(file)
	if errors.Is(err, capability.ErrTooLarge) {
		return "", toolspec.Safef("the file has more than %d MiB", limit>>20)
	}
	if err != nil {
		return "", explain(err)
	}
	if !isText(content) {
		return "", errNotText
	}
	return string(content), nil
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// explainWrite is explain for a write that expects a content. previewed says that people have seen a
// preview of the write.
func explainWrite(err error, previewed bool) error {
	switch {
	case !errors.Is(err, capability.ErrChanged):
		return explain(err)
	case previewed:
		return toolspec.ErrStale
	}
	return toolspec.RetryAfter(busyDelay, capability.ErrBusy.Error())
}
