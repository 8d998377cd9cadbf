package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type writeFileIn struct {
	Path       string `json:"path" jsonschema:"minLength=1,maxLength=4096" jsonschema_description:"File to write, relative to the workspace, with slashes."`
	Content    string `json:"content" jsonschema_description:"The whole content of the file. It takes the place of what is there."`
	CreateDirs bool   `json:"createDirs,omitempty" jsonschema_description:"Create missing parent directories. Default: false."`
}

// writeFileOut says nothing about what was there before: an attempt that follows
// a lost one finds its own file, and all attempts must answer the same.
type writeFileOut struct {
	BytesWritten int    `json:"bytesWritten" jsonschema_description:"Length of the file in bytes."`
	SHA256       string `json:"sha256" jsonschema_description:"SHA-256 of the file in hexadecimal."`
}

// WriteFile is core__write_file: the whole content of one file, in one step. It
// needs capability.Files.
func WriteFile() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__write_file",
		Title: "Write file",
		Description: "Creates a text file in the workspace or replaces the whole of an existing one. There is no undo, so read the file first. " +
			"The content must be complete, without line numbers, at most about 60 KB. " +
			"The file is replaced in one step: nobody ever sees half of it. " +
			"An existing file keeps its permissions. The parent directory must exist unless createDirs is true.",
		Version:      "1",
		Effect:       toolspec.StateChange,
		Risk:         toolspec.MediumRisk,
		Idempotent:   true,
		MaxArgsBytes: toolspec.MaxInline, // the content of a file
		Redaction:    toolspec.Redaction{Allow: []string{"/bytesWritten", "/sha256"}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files"},
		Examples: []toolspec.Example{
			{Title: "create a file in a new directory", Args: `{"path": "notes/today.md", "content": "- buy milk\n", "createDirs": true}`},
		},
	}, writeFile)
}

func writeFile(ctx context.Context, in writeFileIn, call toolspec.Call) (writeFileOut, error) {
	content := []byte(in.Content)
	opts := capability.ReplaceOptions{CreateDirs: in.CreateDirs}
	err := capability.FilesKey.From(call).Replace(ctx, in.Path, content, opts)
	if errors.Is(err, capability.ErrNotExist) {
		return writeFileOut{}, toolspec.Safef("the parent directory does not exist: create it with createDirs")
	}
	if err != nil {
		return writeFileOut{}, explain(err)
	}
	sum := sha256.Sum256(content)
	return writeFileOut{BytesWritten: len(content), SHA256: hex.EncodeToString(sum[:])}, nil
}
