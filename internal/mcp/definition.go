package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/sanitize"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Bounds of a definition.
const (
	// maxTitle bounds a title, in characters. A longer title is dropped.
	maxTitle = 200
	// maxDescription bounds the description of a tool, in bytes.
	maxDescription = 16 << 10
	// maxResult bounds the redacted result of a call, in bytes.
	maxResult = 8 << 20
)

// noDescription is the description of a tool for which the server gives none.
const noDescription = "(The MCP server gives no description of this tool.)"

// definition is what a server says about a tool.
type definition struct {
	Name        string               `json:"name"`
	Title       string               `json:"title,omitempty"`
	Description string               `json:"description,omitempty"`
	Input       any                  `json:"inputSchema,omitempty"`
	Output      any                  `json:"outputSchema,omitempty"`
	Annotations *sdk.ToolAnnotations `json:"annotations,omitempty"`

	// digest is the hexadecimal SHA-256 of the canonical JSON of the other fields. Icons and _meta are not
	// part of it: no model and no call uses them. It is empty if there is none, and undigested says why.
	digest     string
	undigested error
}

func definitionOf(t *sdk.Tool) definition {
	d := definition{Name: t.Name, Title: t.Title, Description: t.Description, Input: t.InputSchema, Output: t.OutputSchema, Annotations: t.Annotations}
	doc, err := json.Marshal(d)
	if err == nil {
		d.digest, err = strictjson.Digest(doc)
	}
	d.undigested = err
	return d
}

// annotations returns the hints of the server, sanitized, or nil. The digest is of the hints as they are.
func (d definition) annotations() json.RawMessage {
	if d.Annotations == nil {
		return nil
	}
	hints, err := json.Marshal(d.Annotations)
	if err != nil {
		return nil
	}
	hints, _ = sanitize.Value(hints)
	return hints
}

// runner calls a tool of a server.
type runner interface {
	run(tool target) toolFunc
}

// target is a tool as its calls need it.
type target struct {
	name string
	// structured says that the tool has an output schema.
	structured bool
	reviewed   bool
	allow      []string
	def        toolspec.Definition
}

// tool maps a definition to a tool with the effect, risk and allowlist of its review. Without a review of
// exactly this definition, or if the review does not fit the definition, the tool has the highest effect and
// risk, shows nothing, and refuses to run. review is nil if there is none. fault says why there is no tool, or
// why its review does not count.
func (d definition) tool(s Server, review *policy.MCPReview, calls runner) (tool toolspec.Tool, fault *fault) {
	if fault := d.check(); fault != nil {
		return tool, fault
	}
	in, out, fault := d.schemas()
	if fault != nil {
		return tool, fault
	}
	def := d.base(s)
	switch {
	case review != nil && review.Digest != d.digest:
		fault = newFault(reasonChanged, nil)
	case review != nil:
		reviewed := d.reviewed(def, *review)
		tool, err := bind(reviewed, in, out, calls.run(target{name: d.Name, structured: d.Output != nil, reviewed: true, allow: review.Allow, def: reviewed}))
		if err == nil {
			return tool, nil
		}
		fault = newFault(reasonReview, err)
	}
	if unreviewed, err := d.unreviewed(def, in, out, calls); err != nil {
		fault = newFault(reasonSchema, err)
	} else {
		tool = unreviewed
	}
	return tool, fault
}

// check judges all but the schemas and the digest.
func (d definition) check() *fault {
	switch {
	case d.Name == "":
		return newFault(reasonName, nil)
	case toolspec.CheckVisible("the name", d.Name, toolspec.MaxOwnName) != nil:
		return newFault(reasonHiddenName, nil)
	case len(d.Description) > maxDescription || len(d.Title) > maxDescription || len(d.annotations()) > toolspec.MaxAnnotations:
		return newFault(reasonDescription, nil)
	}
	return nil
}

// base returns what of a definition does not depend on a review.
func (d definition) base(s Server) toolspec.Definition {
	description, _ := sanitize.Text(d.Description)
	if description = strings.TrimSpace(description); description == "" {
		description = noDescription
	}
	title, _ := sanitize.Text(d.Title)
	if toolspec.CheckVisible("title", title, maxTitle) != nil {
		title = ""
	}
	capabilities := []toolspec.CapabilityName{capability.ProgressKey.Name()}
	if s.Connection {
		capabilities = append(capabilities, capability.ClientsKey.Name())
	}
	return toolspec.Definition{
		ID: toolspec.MCPToolID(s.ID, d.Name), Title: title, Description: description, Version: d.digest[:16],
		Capabilities: capabilities, RequiresConnection: s.Connection, Scopes: s.Scopes,
		Timeout: s.CallTimeout, MaxArgsBytes: toolspec.MaxInline, MaxResultBytes: maxResult,
		ProvidedBy: s.ID, Discovered: &toolspec.Discovered{Digest: d.digest, Name: d.Name, Annotations: d.annotations()},
	}
}

// reviewed adds a review. The annotations of the server can only raise the risk.
func (d definition) reviewed(def toolspec.Definition, r policy.MCPReview) toolspec.Definition {
	def.Effect, def.Risk, def.Idempotent, def.HarmlessNames = r.Effect, r.Risk, r.Idempotent, r.HarmlessNames
	def.Redaction = toolspec.Redaction{Allow: r.Allow}
	if a := d.Annotations; a != nil && a.DestructiveHint != nil && *a.DestructiveHint && !a.ReadOnlyHint {
		def.Risk = toolspec.HighRisk
	}
	def.Discovered = def.Discovered.Clone()
	def.Discovered.Review = r.ReviewDigest()
	return def
}

// unreviewed returns a tool that lists can show and that does nothing.
func (d definition) unreviewed(def toolspec.Definition, in, out json.RawMessage, calls runner) (toolspec.Tool, error) {
	def.Effect, def.Risk = toolspec.ExternalSideEffect, toolspec.HighRisk
	run := calls.run(target{name: d.Name, def: def})
	// The review names the arguments that carry no credential. Until there is one, lists show the tool.
	def.HarmlessNames = secretNames(d.Input)
	def.Redaction = toolspec.Redaction{Allow: []string{""}}
	if _, err := bind(def, in, out, run); err != nil {
		return toolspec.Tool{}, err // also with a review, the schema would be refused
	}
	shown, allow := hideAll(out)
	def.Redaction.Allow = []string{allow}
	return bind(def, in, shown, run)
}

// bind returns a tool that the worker will accept.
func bind(def toolspec.Definition, in, out json.RawMessage, run toolFunc) (toolspec.Tool, error) {
	tool := toolspec.DefineSchema(def, in, out, run)
	_, err := bound(tool)
	return tool, err
}

// bound returns the tool as a worker has it, except for its capabilities.
func bound(tool toolspec.Tool) (*catalog.Bound, error) {
	provided, err := toolspec.NewCapabilities(capability.ProgressKey.Provide(nil), capability.ClientsKey.Provide(nil))
	if err != nil {
		return nil, err
	}
	b, err := catalog.Bind(tool, provided)
	if err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	return b, nil
}
