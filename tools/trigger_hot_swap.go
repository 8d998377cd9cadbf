package tools

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type triggerHotSwapIn struct {
	Source string `json:"source" jsonschema:"enum=policy,enum=tools" jsonschema_description:"What the workers read again: policy, or the tools that are registered in the database."`
}

type triggerHotSwapOut struct {
	Source      string `json:"source" jsonschema_description:"What the workers read again."`
	Digest      string `json:"digest,omitempty" jsonschema_description:"For policy, the version that is in force: its SHA-256 in hexadecimal."`
	ActivatedAt string `json:"activatedAt,omitempty" jsonschema_description:"When this version was activated, in RFC 3339."`
}

// TriggerHotSwap is core__trigger_hot_swap: all workers read the active policy, or the registered tools, again. It needs capability.HotSwap.
func TriggerHotSwap() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__trigger_hot_swap",
		Title: "Reload the policy or the registered tools",
		Description: "Makes all running workers read the active policy again now, and says which version is in force. " +
			"With the source tools they read the registered tools again. " +
			"Use it only when an operator asks for it. It changes neither: an operator activates a version with `pawl policy apply` and registers tools with `pawl tools register`, " +
			"and workers follow without this tool. It does not wait for the other workers.",
		Version:      "2",
		Effect:       toolspec.StateChange,
		Risk:         toolspec.HighRisk,
		Idempotent:   true,
		Redaction:    toolspec.Redaction{Allow: []string{"/source", "/digest", "/activatedAt"}},
		Capabilities: []toolspec.CapabilityName{capability.HotSwapKey.Name()},
		Tags:         []string{"operations"},
		Examples:     []toolspec.Example{{Title: "read the active policy again", Args: `{"source": "policy"}`}, {Title: "read the registered tools again", Args: `{"source": "tools"}`}},
	}, triggerHotSwap)
}

func triggerHotSwap(ctx context.Context, in triggerHotSwapIn, call toolspec.Call) (triggerHotSwapOut, error) {
	if in.Source == "tools" {
		return triggerHotSwapOut{Source: in.Source}, capability.HotSwapKey.From(call).ReloadTools(ctx)
	}
	version, err := capability.HotSwapKey.From(call).ReloadPolicy(ctx)
	switch {
	case errors.Is(err, capability.ErrNoPolicy):
		return triggerHotSwapOut{}, toolspec.Safef("no policy is active, so every call is denied: an operator activates one with `pawl policy apply`")
	case err != nil:
		return triggerHotSwapOut{}, err
	}
	return triggerHotSwapOut{Source: in.Source, Digest: version.Digest, ActivatedAt: version.ActivatedAt.UTC().Format(time.RFC3339)}, nil
}
