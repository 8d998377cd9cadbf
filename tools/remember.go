package tools

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type rememberIn struct {
	Text string `json:"text" jsonschema:"minLength=1,maxLength=8192" jsonschema_description:"What to remember, at most 8192 characters. No passwords or keys."`
}

type rememberOut struct {
	Path      string `json:"path" jsonschema_description:"Path of the new entry, for core__memory."`
	ExpiresAt string `json:"expiresAt" jsonschema_description:"When the entry is deleted, a year after this call."`
}

// Remember is core__remember: one text, without a path. It needs capability.Memory.
func Remember() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__remember",
		Title: "Remember",
		Description: "Keeps one text for later calls of this session, when you need no path of your own. " +
			"Each call makes a new entry below /remembered, which core__memory views, searches, changes and deletes. " +
			"Do not store secrets: such a call is refused.",
		Version:      "1",
		Effect:       toolspec.StateChange,
		Risk:         toolspec.LowRisk,
		Idempotent:   true,
		MaxArgsBytes: toolspec.MaxInline,
		Redaction:    toolspec.Redaction{Allow: []string{"/path", "/expiresAt"}},
		Capabilities: []toolspec.CapabilityName{capability.MemoryKey.Name()},
		Tags:         []string{"memory"},
		Examples:     []toolspec.Example{{Title: "Keep a preference", Args: `{"text":"The user writes dates as 31.12.2026."}`}},
	}, remember)
}

func remember(ctx context.Context, in rememberIn, call toolspec.Call) (rememberOut, error) {
	e, err := capability.MemoryKey.From(call).WriteMemory(ctx, capability.MemoryCallerOf(call), capability.MemoryWrite{
		Action: capability.MemoryAdd, Path: "/remembered", Content: in.Text,
	})
	return rememberOut{Path: e.Path, ExpiresAt: instant(e.ExpiresAt)}, explainMemory(err)
}
