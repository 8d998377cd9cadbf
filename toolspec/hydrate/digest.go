package hydrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// InputDigest returns the hexadecimal SHA-256 of the RFC 8785 JSON of {toolId, args, context,
// allowedConnectionIds}. If args are a string that holds JSON other than a string, the digest is of
// that JSON; otherwise it is of args as they are. The digest leaves out requestId and sessionId of
// the context, the provider and the proofs. It sorts the connections. InputDigest fails if args are
// not JSON or have a lone surrogate.
func InputDigest(inv toolspec.Invocation) (string, error) {
	args := given(inv.Args)
	if text, wrapped := unwrapped(args); wrapped && strictjson.Check(text) == nil && bytes.TrimLeft(text, " \t\r\n")[0] != '"' {
		args = text
	}
	ctx := inv.Context
	ctx.RequestID, ctx.SessionID = "", ""
	connections := slices.Clone(inv.AllowedConnectionIDs)
	slices.Sort(connections)
	doc, err := json.Marshal(struct {
		ToolID      string           `json:"toolId"`
		Args        json.RawMessage  `json:"args"`
		Context     toolspec.Context `json:"context"`
		Connections []string         `json:"allowedConnectionIds,omitempty"`
	}{inv.ToolID, args, ctx, connections})
	if err != nil {
		return "", fmt.Errorf("input digest: %w", err)
	}
	return strictjson.Digest(doc)
}

// Approved is the content of which an approval holds the digest.
type Approved struct {
	InvocationID string          `json:"invocationId"`
	ToolID       string          `json:"toolId"`
	ToolDigest   string          `json:"toolDigest"`
	Args         json.RawMessage `json:"args"`
	TenantID     string          `json:"tenantId"`
	ActorID      string          `json:"actorId"`
	SubjectID    string          `json:"subjectId"`
	ConnectionID string          `json:"connectionId"`
}

// Digest is the hexadecimal SHA-256 of the RFC 8785 JSON of a.
func (a Approved) Digest() (string, error) {
	doc, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("approval digest: %w", err)
	}
	return strictjson.Digest(doc)
}
