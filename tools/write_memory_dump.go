package tools

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type writeMemoryDumpIn struct {
	Title   string `json:"title" jsonschema:"minLength=1,maxLength=200" jsonschema_description:"What the snapshot is of, in a few words."`
	Content string `json:"content" jsonschema:"minLength=1,maxLength=32768" jsonschema_description:"The snapshot: what was done, what is decided, what is open, at most 32768 bytes. No passwords or keys."`
}

type writeMemoryDumpOut struct {
	Path      string `json:"path" jsonschema_description:"Path of the snapshot, for core__memory."`
	Bytes     int    `json:"bytes" jsonschema_description:"Length of the snapshot in bytes."`
	CreatedAt string `json:"createdAt" jsonschema_description:"When the snapshot was taken."`
}

// WriteMemoryDump is core__write_memory_dump: a snapshot of the context of a model. It is not part of
// All: a program that compresses the context of its models adds it to its worker. It needs
// capability.Memory.
//
//pawl:unlisted
func WriteMemoryDump() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__write_memory_dump",
		Title: "Write memory dump",
		Description: "Keeps a snapshot of what you know now, before your context is shortened. Each call makes a new entry below /dumps, " +
			"which core__memory views and searches, and which does not change. Write all that you need to go on: what was done, what is decided, what is open.",
		Version:      "1",
		Effect:       toolspec.StateChange,
		Risk:         toolspec.LowRisk,
		Idempotent:   true,
		MaxArgsBytes: toolspec.MaxInline,
		Redaction:    toolspec.Redaction{Allow: []string{"/path", "/bytes", "/createdAt"}},
		Capabilities: []toolspec.CapabilityName{capability.MemoryKey.Name()},
		Tags:         []string{"memory"},
		Examples: []toolspec.Example{
			{Title: "Take a snapshot", Args: `{"title":"Before the migration","content":"Done: schema reviewed. Open: run the backfill."}`},
		},
	}, writeMemoryDump)
}

func writeMemoryDump(ctx context.Context, in writeMemoryDumpIn, call toolspec.Call) (writeMemoryDumpOut, error) {
	e, err := capability.MemoryKey.From(call).WriteMemory(ctx, capability.MemoryCallerOf(call), capability.MemoryWrite{
		Action: capability.MemoryAdd, Path: "/dumps", Kind: capability.MemoryDump, Title: in.Title, Content: in.Content,
	})
	return writeMemoryDumpOut{Path: e.Path, Bytes: e.Bytes, CreatedAt: instant(e.CreatedAt)}, explainMemory(err)
}
