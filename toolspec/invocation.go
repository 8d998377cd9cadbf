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
	// ToolID is the namespaced id of the tool, such as core__read_file.
	ToolID string `json:"toolId"`
	// ToolCallID is the model's or the caller's id of this call, stable from start to result: 1 to
	// 128 printable characters. With tenantId and runId it is the identity of the call.
	ToolCallID string `json:"toolCallId"`
	// Args are the arguments: a JSON object, or a string whose text is a JSON object. If args is
	// absent or null, the arguments are {}. A tool accepts at most 8192 bytes, or the limit in its
	// definition, which is at most 65536.
	Args json.RawMessage `json:"args,omitempty"`
	// Context says who calls, for whom and in what run. It holds opaque references only, never
	// credentials.
	Context Context `json:"context"`
	// AllowedConnectionIDs are the connections that this call may use, at most 256. A
	// context.connectionId must be in this list: an absent or empty list allows no connection. The
	// list grants nothing by itself. It is part of the input digest.
	AllowedConnectionIDs []string `json:"allowedConnectionIds,omitempty"`
	// Provider is the data of the service that runs the model. Pawl records ids and names from it as
	// evidence.
	// It changes neither the arguments nor the verdict nor the input digest. But if a value in it
	// has the shape of a credential, the whole invocation is refused.
	Provider *Provider `json:"provider,omitempty"`
	// SubmitterProof is a signed token of a submitter, a server that your tenant trusts. It confirms
	// context.subjectId: see docs/authorization.md. Pawl ignores it if the call has no subject. It
	// is not part of the input digest.
	SubmitterProof string `json:"submitterProof,omitempty"`
}

// Context identifies a call. All its fields are opaque references, never secrets.
type Context struct {
	// TenantID is the tenant: 1 to 48 characters of A-Z a-z 0-9 _ . -
	TenantID string `json:"tenantId"`
	// RunID is the run, the caller's name for a group of calls such as one conversation: 1 to 64
	// characters of A-Z a-z 0-9 _ . - It is not the run id of Temporal.
	RunID string `json:"runId"`
	// ActorID is the identity that calls: user:NAME, agent:NAME or service:NAME, of 1 to 200
	// characters with the prefix: see the section Names of the contract.
	ActorID string `json:"actorId"`
	// SubjectID is the person or service on whose behalf the actor calls. It needs a valid
	// submitterProof. Otherwise the call ends with authz_denied. It is part of the input digest and
	// of the approval digest.
	SubjectID string `json:"subjectId,omitempty"`
	// SessionID is the session, the caller's name for calls that belong together. The calls of a
	// session can share the objects that hooks provide, cached results and remembered approvals. It
	// is not part of the input digest.
	SessionID string `json:"sessionId,omitempty"`
	// RequestID is the caller's id of the request that led to this call, to find the call by it. It
	// is not part of the input digest.
	RequestID string `json:"requestId,omitempty"`
	// GraphID is the caller's id of the agent graph or the agent that the run executes.
	GraphID string `json:"graphId,omitempty"`
	// ConnectionID is the opaque id of the connection that the tool uses. allowedConnectionIds must
	// name the connection. The subject of the call needs a grant; without a subject, the actor needs
	// it. Otherwise the call ends with policy_denied. If a tool requires a connection, a call
	// without connectionId ends with validation, and details.kind is missing_connection.
	ConnectionID string `json:"connectionId,omitempty"`
	// VirtualKeyID is an opaque id of the caller's own choice, for example of the virtual key that a
	// gateway gave to a customer. Calls with different ids share no cached result.
	VirtualKeyID string `json:"virtualKeyId,omitempty"`
	// ToolIDs are the tools that the run may use, at most 1024. A call may use a tool only if this
	// list and policy both allow it. An absent or empty list allows what policy allows.
	ToolIDs []string `json:"toolIds,omitempty"`
}

// Provider is the data of the model's provider, in the provider's own format. It changes
// neither the arguments of a call nor the decision about it. Like every part of an input, it
// must hold nothing that looks like a credential, because the history keeps the input.
type Provider struct {
	// Name is the name of the provider.
	Name string `json:"name,omitempty"`
	// ToolCall is the tool call in the provider's own form, any JSON.
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
	if err := checkActorID("context.actorId", inv.Context.ActorID); err != nil {
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
