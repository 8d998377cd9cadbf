package tools

import (
	"context"
	"path"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// A result lists a directory of up to lsWhole entries in full. For a larger directory it lists the
// first lsHead.
const (
	lsWhole = 1000
	lsHead  = 500
)

type lsIn struct {
	Path string `json:"path,omitempty" jsonschema:"maxLength=4096" jsonschema_description:"Directory to list, relative to the workspace, with slashes. Default: the workspace itself."`
}

type lsOut struct {
	Entries   []lsEntry `json:"entries" jsonschema_description:"What the directory holds, sorted by name."`
	Total     int       `json:"total" jsonschema_description:"How many entries the directory holds, shown or not."`
	Truncated bool      `json:"truncated" jsonschema_description:"True if not all entries are shown."`
}

type lsEntry struct {
	Name string `json:"name"`
	Type string `json:"type" jsonschema:"enum=file,enum=dir,enum=symlink,enum=other"`
	Size *int64 `json:"size,omitempty" jsonschema_description:"Length in bytes; files only."`
}

// List is core__ls: the content of one directory. It needs capability.Files.
func List() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__ls",
		Title: "List directory",
		Description: "Lists one directory of the workspace: names, types and file sizes, sorted by name, hidden ones included; " +
			"it does not descend. Up to 1000 entries are listed in full; of a larger directory you get the first 500 and the total. " +
			"To find files in all directories use core__glob, and text in files core__grep.",
		Version: "1",
		Effect:  toolspec.ReadOnly,
		Risk:    toolspec.LowRisk,
		Fast:    true,
		Redaction: toolspec.Redaction{Allow: []string{
			"/entries/*/name", "/entries/*/type", "/entries/*/size", "/total", "/truncated",
		}},
		Capabilities: []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:         []string{"files"},
		Examples:     []toolspec.Example{{Title: "List a directory", Args: `{"path":"src"}`}},
	}, ls)
}

func ls(ctx context.Context, in lsIn, call toolspec.Call) (lsOut, error) {
	if in.Path == "" {
		in.Path = "."
	}
	listing, err := capability.FilesKey.From(call).List(ctx, in.Path, lsWhole)
	if err != nil {
		return lsOut{}, explain(err)
	}
	shown := listing.Entries
	if listing.Total > lsWhole {
		shown = shown[:min(lsHead, len(shown))]
	}
	out := lsOut{Entries: make([]lsEntry, 0, len(shown)), Total: listing.Total, Truncated: listing.Total > len(shown)}
	for _, e := range shown {
		entry := lsEntry{Name: showable(path.Base(e.Path)), Type: string(e.Type)}
		if e.Type == capability.TypeFile {
			entry.Size = &e.Size
		}
		out.Entries = append(out.Entries, entry)
	}
	return out, nil
}

// showable makes a name or a line of a file valid UTF-8. A name that it changes
// cannot be asked for, since arguments are UTF-8.
func showable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
