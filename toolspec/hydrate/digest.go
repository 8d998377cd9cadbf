package hydrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// InputDigest names what was asked: the hexadecimal SHA-256 of the RFC 8785
// JSON of {toolId, args, context, allowedConnectionIds}. args that are a string
// are parsed, and stand as the string itself where they do not parse, or hold
// another string: what holds that is another input. context goes without
// requestId and sessionId; the connections are sorted. Provider and proofs stand
// outside. It fails for args that are no JSON, or hold half a character.
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

// Approved is what an approval is bound to.
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
