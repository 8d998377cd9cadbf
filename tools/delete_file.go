package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type deleteFileIn struct {
	Path string `json:"path" jsonschema:"minLength=1,maxLength=4096" jsonschema_description:"File, symbolic link or empty directory to delete, relative to the workspace, with slashes."`
}

// deleteFileOut says nothing about what was there before: see writeFileOut.
type deleteFileOut struct {
	Deleted bool `json:"deleted" jsonschema_description:"True: there is nothing at the path any more."`
}

// DeleteFile is core__delete_file: one file, symbolic link or empty directory. It needs
// capability.Files.
func DeleteFile() toolspec.Tool {
	return toolspec.WithPreview(toolspec.Define(toolspec.Definition{
		ID:    "core__delete_file",
		Title: "Delete file",
		Description: "Deletes one file, symbolic link or empty directory of the workspace. There is no undo. " +
			"Use it only for what the user wants to be gone. Of a link it deletes the link and not what it points to. " +
			"It does not delete a directory with entries: delete these first. A read-only file stays.",
		Version:      "1",
		Effect:       toolspec.StateChange,
		Risk:         toolspec.HighRisk,
		Idempotent:   true,
		Redaction:    toolspec.Redaction{Allow: []string{"/deleted"}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files"},
		Examples:     []toolspec.Example{{Title: "delete a generated file", Args: `{"path":"build/report.tmp"}`}},
	}, deleteFile), previewDelete)
}

var (
	errNothingThere   = toolspec.Safef("there is nothing at the path")
	errPerhapsDeleted = toolspec.Safef("an earlier attempt of this call may have begun, and what is at the path now may be newer: look at it, and delete it again if it is still to go")
	previewOfNothing  = toolspec.Preview{Text: errNothingThere.Error() + "\n", State: stateOf("", capability.Absent)}
)

func deleteFile(ctx context.Context, in deleteFileIn, call toolspec.Call) (deleteFileOut, error) {
	previewed, seen := call.Previewed()
	at, found, noLinks := approved(previewed.State, in.Path)
	switch {
	case seen && previewed.Done: // an earlier attempt has deleted the file; nobody has approved the deletion of what is there now
		return deleteFileOut{Deleted: true}, nil
	case seen && found == capability.Absent:
		return deleteFileOut{}, errNothingThere
	}
	files := capability.FilesKey.From(call)
	var err error
	if isRepeated(call) && found == "" {
		// An earlier attempt may have deleted the file, and another file may be there now.
		if _, err = files.Stat(ctx, in.Path); err == nil {
			return deleteFileOut{}, errPerhapsDeleted
		}
	} else {
		err = files.Remove(ctx, at, capability.RemoveOptions{If: found, NoLinks: noLinks})
	}
	switch {
	case errors.Is(err, capability.ErrNotExist) && isRepeated(call): // an earlier attempt has deleted it
	case errors.Is(err, capability.ErrNotExist):
		return deleteFileOut{}, errNothingThere
	case err != nil:
		return deleteFileOut{}, explainWrite(err, seen)
	}
	return deleteFileOut{Deleted: true}, nil
}

func previewDelete(ctx context.Context, in deleteFileIn, call toolspec.Call) (toolspec.Preview, error) {
	files := capability.FilesKey.From(call)
	entry, err := files.Stat(ctx, in.Path)
	switch {
	case errors.Is(err, capability.ErrNotExist) && isRepeated(call):
		return toolspec.Preview{Text: "there is nothing at the path any more\n", Done: true}, nil
	case errors.Is(err, capability.ErrNotExist):
		return previewOfNothing, nil
	case err != nil:
		return toolspec.Preview{}, explain(err)
	}
	resolved, line, err := resolveParent(ctx, files, in.Path)
	if err != nil {
		return toolspec.Preview{}, err
	}
	switch entry.Type {
	case capability.TypeDir:
		return toolspec.Preview{Text: line + fmt.Sprintf("deletes the directory %q, which must be empty\n", resolved), State: stateOf(resolved, string(entry.Type))}, nil
	case capability.TypeSymlink:
		return toolspec.Preview{Text: line + fmt.Sprintf("deletes the symbolic link %q, and not what it points to\n", resolved), State: stateOf(resolved, string(entry.Type))}, nil
	default:
	}
	old, err := readOld(ctx, files, in.Path)
	if err != nil {
		return toolspec.Preview{}, err
	}
	if old == nil {
		return previewOfNothing, nil
	}
	return toolspec.Preview{Text: line + difference(resolved, old, nil), State: stateOf(resolved, old.state())}, nil
}
