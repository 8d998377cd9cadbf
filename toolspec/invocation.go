package toolspec

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Bounds of an invocation, in bytes unless said otherwise.
const (
	// MaxInline is the most that one value may hold inside a workflow payload.
	MaxInline = 64 << 10
	// MaxInvocation bounds the whole workflow input.
	MaxInvocation = 256 << 10
	// MaxConnections bounds allowedConnectionIds, in entries.
	MaxConnections = 256
	// MaxToolIDs bounds context.toolIds, in entries.
	MaxToolIDs = 1024
	maxLooseID = 200
)

// Invocation is the input of the workflow InvokeTool: one tool call. Unknown
// and secret-shaped fields are refused (NO_SECRETS_IN_CONTEXT).
type Invocation struct {
	// ToolID is the namespaced id, such as core__read_file.
	ToolID string `json:"toolId"`
	// ToolCallID is the model's or the caller's id of this call, stable from
	// start to result: 1–128 printable characters.
	ToolCallID string `json:"toolCallId"`
	// Args is an object, or a string that holds JSON. Absent means {}.
	Args json.RawMessage `json:"args,omitempty"`
	// Context says who calls, for whom and in what run.
	Context Context `json:"context"`
	// AllowedConnectionIDs narrows the connections this call may use. Absence
	// never means all.
	AllowedConnectionIDs []string `json:"allowedConnectionIds,omitempty"`
	// Provider is what the model's provider sent, for observability only.
	Provider *Provider `json:"provider,omitempty"`
	// SubmitterProof is a signed token by which a trusted submitter vouches for
	// Context.SubjectID.
	SubmitterProof string `json:"submitterProof,omitempty"`
}

// Context identifies a call. All of it are opaque references, never secrets.
type Context struct {
	TenantID     string   `json:"tenantId"`
	RunID        string   `json:"runId"`
	ActorID      string   `json:"actorId"`
	SubjectID    string   `json:"subjectId,omitempty"`
	SessionID    string   `json:"sessionId,omitempty"`
	RequestID    string   `json:"requestId,omitempty"`
	GraphID      string   `json:"graphId,omitempty"`
	ConnectionID string   `json:"connectionId,omitempty"`
	VirtualKeyID string   `json:"virtualKeyId,omitempty"`
	ToolIDs      []string `json:"toolIds,omitempty"`
}

// Provider keeps the provider-native payload. It never influences execution.
type Provider struct {
	Name     string          `json:"name,omitempty"`
	ToolCall json.RawMessage `json:"toolCall,omitempty"`
}

// Identity is the (tenant, run, toolCallId) of the invocation.
func (inv Invocation) Identity() Identity {
	return Identity{TenantID: inv.Context.TenantID, RunID: inv.Context.RunID, ToolCallID: inv.ToolCallID}
}

// Check reports the first field that breaks its rule, by its path. It does not
// judge the arguments beyond their size.
func (inv Invocation) Check() error {
	if err := inv.Identity().Check(); err != nil {
		return err
	}
	if err := CheckToolID(inv.ToolID); err != nil {
		return fmt.Errorf("toolId %w", err)
	}
	if err := checkIdentity("context.actorId", inv.Context.ActorID); err != nil {
		return err
	}
	for _, f := range []struct{ path, value string }{
		{"context.subjectId", inv.Context.SubjectID}, {"context.sessionId", inv.Context.SessionID},
		{"context.requestId", inv.Context.RequestID}, {"context.graphId", inv.Context.GraphID},
		{"context.connectionId", inv.Context.ConnectionID}, {"context.virtualKeyId", inv.Context.VirtualKeyID},
	} {
		if f.value == "" {
			continue
		}
		if err := CheckVisible(f.path, f.value, maxLooseID); err != nil {
			return err
		}
	}
	if len(inv.Args) > MaxInline {
		return fmt.Errorf("args are larger than %d bytes", MaxInline)
	}
	if len(inv.AllowedConnectionIDs) > MaxConnections {
		return fmt.Errorf("allowedConnectionIds has more than %d entries", MaxConnections)
	}
	if len(inv.Context.ToolIDs) > MaxToolIDs {
		return fmt.Errorf("context.toolIds has more than %d entries", MaxToolIDs)
	}
	return nil
}

// Clone returns a copy that shares nothing with inv.
func (inv Invocation) Clone() Invocation {
	inv.Args = slices.Clone(inv.Args)
	inv.AllowedConnectionIDs = slices.Clone(inv.AllowedConnectionIDs)
	inv.Context.ToolIDs = slices.Clone(inv.Context.ToolIDs)
	if inv.Provider != nil {
		p := Provider{Name: inv.Provider.Name, ToolCall: slices.Clone(inv.Provider.ToolCall)}
		inv.Provider = &p
	}
	return inv
}
