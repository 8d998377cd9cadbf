package toolspec

import "encoding/json"

// Spec is the published part of a tool: what models, people and other workers may know. It has the
// schemas as documents.
type Spec struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	Version      string          `json:"version,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	// Kind is the kind of the values; absent means json.
	Kind ValueKind `json:"kind,omitempty"`
	// Truncate are the parts of the values that have limits of their own.
	Truncate   []Truncation  `json:"truncate,omitempty"`
	Effect     Effect        `json:"effect"`
	Risk       Risk          `json:"risk"`
	Idempotent bool          `json:"idempotent,omitempty"`
	Redaction  RedactionSpec `json:"redaction"`
	// Stream says what the tool writes beside its value.
	Stream       Stream   `json:"stream,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	// RequiresConnection says that context.connectionId must be given.
	RequiresConnection bool `json:"requiresConnection,omitempty"`
	// Scopes are the scopes of the connection that the tool needs.
	Scopes []string `json:"scopes,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	// ScriptArg names the argument that has a script of a shell.
	ScriptArg string `json:"scriptArg,omitempty"`
	// HarmlessNames are names of arguments that look like credentials and carry none, as
	// the author declares.
	HarmlessNames []string `json:"harmlessNames,omitempty"`
	// Strict asks providers to hold the model to the schema.
	Strict bool `json:"strict,omitempty"`
	// NoSchema says that InputSchema describes nothing: calls are not checked
	// against it, and need an approval. NoSchemaMode is what the author allows then.
	NoSchema     bool         `json:"noSchema,omitempty"`
	NoSchemaMode NoSchemaMode `json:"noSchemaMode,omitempty"`
	// SchemaHash is the digest of the input schema, hexadecimal SHA-256.
	SchemaHash string `json:"schemaHash"`
	// Digest is the tool digest: schemas, effect, risk, redaction and author's
	// version, and Discovered; not the description. Approvals are bound to it.
	Digest string `json:"digest"`
	// MaxArgsBytes bounds the arguments; 0 means DefaultMaxArgs.
	MaxArgsBytes int `json:"maxArgsBytes,omitempty"`
	// Validator checks the arguments of calls; nil if nothing does, or if the worker that published
	// the tool did not say.
	Validator *ValidatorInfo `json:"validator,omitempty"`
	// Origin is the kind of the source of the tool: builtin, worker, mcp, http or extension.
	Origin string `json:"source,omitempty"`
	// ProvidedBy names the server or the document that the tool comes from, or else its source.
	ProvidedBy string `json:"providedBy,omitempty"`
	// Discovered is set if calls need a review of the tool in policy.
	Discovered *Discovered `json:"discovered,omitempty"`
}

// RedactionSpec is Redaction as it is published.
type RedactionSpec struct {
	Allow      []string  `json:"allow"`
	MaskInput  []string  `json:"maskInput,omitempty"`
	MaskOutput []Masking `json:"maskOutput,omitempty"`
	MaskStream []Masker  `json:"maskStream,omitempty"`
}
