package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema"
	"github.com/pawl-run/pawl/toolspec/source"
)

// Bound is a tool that passed every rule, with its compiled schemas and its
// capabilities. It is immutable and safe for concurrent use.
type Bound struct {
	tool      toolspec.Tool
	def       toolspec.Definition
	spec      toolspec.Spec
	in, out   *jsonschema.Schema // in is nil if the author gave none
	projected *jsonschema.Schema
	// visible is the parsed document of projected.
	visible  *jsonschema.Node
	redactor toolspec.OutputRedactor
	// streams is nil if nothing of a stream is masked.
	streams *toolspec.StreamMasker
	// masks are the masks of policy, beside the masks that redactor has.
	masks toolspec.Masks
	caps  toolspec.Capabilities
}

// Bind checks a tool and binds it to what a worker provides. An error names the
// tool and, if the fault is in a schema, its path.
func Bind(tool toolspec.Tool, provided toolspec.Capabilities) (*Bound, error) {
	def := tool.Definition()
	b := &Bound{tool: tool, def: def}
	if err := b.bind(provided); err != nil {
		name := def.ID
		if name == "" {
			name = "(no id)"
		}
		return nil, fmt.Errorf("tool %s: %w", name, err)
	}
	return b, nil
}

func (b *Bound) bind(provided toolspec.Capabilities) error {
	if err := b.def.Check(); err != nil {
		return err
	}
	if !b.tool.HasRun() {
		return errors.New("its function is missing")
	}
	if b.def.Fences && !b.tool.HasProbe() {
		return errors.New("fences needs a probe: define the tool with DefineWithProbe, or leave fences out")
	}
	if err := b.tool.CheckPreview(); err != nil {
		return err
	}
	inDoc, outDoc, err := b.documents()
	if err != nil {
		return err
	}
	if inDoc, err = b.bindInput(inDoc); err != nil {
		return err
	}
	if err := schema.CheckOutput(outDoc); err != nil {
		return fmt.Errorf("output schema: %w", err)
	}
	if b.out, err = jsonschema.CompileValue(outDoc); err != nil {
		return fmt.Errorf("output schema: %w", err)
	}
	projected, err := schema.Project(outDoc, b.def.Redaction.Allow)
	if err != nil {
		return fmt.Errorf("redaction.allow: %w", err)
	}
	if b.projected, err = jsonschema.CompileValue(projected); err != nil {
		return fmt.Errorf("redaction.allow: %w", err)
	}
	if b.visible, err = jsonschema.ParseValue(projected); err != nil {
		return fmt.Errorf("redaction.allow: %w", err)
	}
	for _, m := range b.def.Redaction.MaskOutput {
		if err := b.CheckMask(m.Path); err != nil {
			return fmt.Errorf("redaction.maskOutput: %w", err)
		}
	}
	for _, t := range b.def.Truncate {
		if _, err := schema.Project(projected, []string{t.Path}); err != nil {
			return fmt.Errorf("truncate: %w", err)
		}
	}
	if b.redactor, err = b.def.Redaction.CompileOutput(); err != nil {
		return err
	}
	if b.streams, err = b.def.Redaction.Stream(); err != nil {
		return err
	}
	if b.caps, err = provided.Only(b.def.Capabilities); err != nil {
		return err
	}
	return b.publish(inDoc, outDoc)
}

// publish writes the spec and its digests.
func (b *Bound) publish(inDoc, outDoc json.RawMessage) error {
	digest, err := b.digest(inDoc, outDoc)
	if err != nil {
		return err
	}
	names := make([]string, len(b.def.Capabilities))
	for i, c := range b.def.Capabilities {
		names[i] = string(c)
	}
	b.spec = toolspec.Spec{
		Name: b.def.ID, Title: b.def.Title, Description: b.def.Description, Version: b.def.Version,
		InputSchema: inDoc, OutputSchema: outDoc, Kind: b.tool.Kind(), Truncate: b.def.Truncate,
		Effect: b.def.Effect, Risk: b.def.Risk, Idempotent: b.def.Idempotent,
		Redaction:    toolspec.RedactionSpec(b.def.Redaction),
		Capabilities: names, RequiresConnection: b.def.RequiresConnection, Scopes: b.def.Scopes, Tags: b.def.Tags,
		ScriptArg: b.def.ScriptArg, HarmlessNames: b.def.HarmlessNames, Stream: b.def.Stream, Strict: b.def.Strict, Digest: digest, NoSchema: !b.HasSchema(), NoSchemaMode: b.noSchemaMode(),
		ProvidedBy: b.def.ProvidedBy, Discovered: b.def.Discovered,
	}
	if b.HasSchema() {
		b.spec.SchemaHash = b.in.Digest()
	}
	if b.def.MaxArgsBytes != toolspec.DefaultMaxArgs {
		b.spec.MaxArgsBytes = b.def.MaxArgsBytes
	}
	return nil
}

// comesFrom writes the source into the spec. It must run before other goroutines have the tool.
func (b *Bound) comesFrom(s source.Info) {
	b.spec.Origin = string(s.Kind)
	if b.spec.ProvidedBy == "" {
		b.spec.ProvidedBy = s.Name
	}
}

// ID returns the tool's id.
func (b *Bound) ID() string { return b.def.ID }

// Digest returns the tool digest.
func (b *Bound) Digest() string { return b.spec.Digest }

// Tags returns the tool's tags, which nobody may write into.
func (b *Bound) Tags() []string { return b.def.Tags }

// Definition returns a copy of the contract.
func (b *Bound) Definition() toolspec.Definition { return b.tool.Definition() }

// Spec returns a copy of what is published.
func (b *Bound) Spec() toolspec.Spec {
	s := b.spec
	s.InputSchema, s.OutputSchema = slices.Clone(s.InputSchema), slices.Clone(s.OutputSchema)
	s.Capabilities, s.Scopes, s.Tags = slices.Clone(s.Capabilities), slices.Clone(s.Scopes), slices.Clone(s.Tags)
	s.HarmlessNames, s.Truncate = slices.Clone(s.HarmlessNames), slices.Clone(s.Truncate)
	s.Redaction.Allow, s.Redaction.MaskInput = slices.Clone(s.Redaction.Allow), slices.Clone(s.Redaction.MaskInput)
	s.Redaction.MaskOutput, s.Redaction.MaskStream = slices.Clone(s.Redaction.MaskOutput), slices.Clone(s.Redaction.MaskStream)
	s.Discovered = s.Discovered.Clone()
	return s
}

// Tool returns the tool itself, for the execute activity.
func (b *Bound) Tool() toolspec.Tool { return b.tool }

// Capabilities returns exactly what the tool declared.
func (b *Bound) Capabilities() toolspec.Capabilities { return b.caps }

// InputSchema returns the schema of the arguments, which nobody may write into.
func (b *Bound) InputSchema() json.RawMessage { return b.spec.InputSchema }

// SchemaHash returns the digest of the input schema, or "" if there is none.
func (b *Bound) SchemaHash() string { return b.spec.SchemaHash }

// HasSchema reports whether there is a schema that arguments are checked against.
func (b *Bound) HasSchema() bool { return b.in != nil }

// Kind returns the kind of the tool's values.
func (b *Bound) Kind() toolspec.ValueKind { return b.spec.Kind }

// MaxResultBytes bounds the redacted value.
func (b *Bound) MaxResultBytes() int { return b.def.MaxResultBytes }

// Truncations returns the declared contents of the values, which nobody may write into.
func (b *Bound) Truncations() []toolspec.Truncation { return b.def.Truncate }

// ValidateInput checks arguments; no problem means that the tool accepts them, or
// that it is declared to need no schema.
func (b *Bound) ValidateInput(args json.RawMessage) []toolspec.Problem {
	if b.in == nil {
		return nil
	}
	return hydrate.ProblemsOf(b.in.Validate(args))
}

// ValidateOutput checks the tool's own value against its contract.
func (b *Bound) ValidateOutput(value json.RawMessage) []toolspec.Problem {
	return hydrate.ProblemsOf(b.out.Validate(value))
}

// ValidateRedacted checks a value after redaction: the contract projected to
// the allowlist.
func (b *Bound) ValidateRedacted(value json.RawMessage) []toolspec.Problem {
	return hydrate.ProblemsOf(b.projected.Validate(value))
}

// Redact strips what the allowlist does not name, and masks what the tool and policy say.
func (b *Bound) Redact(value json.RawMessage) (json.RawMessage, error) {
	return b.redactor.Redact(value, b.masks)
}

// IsMasked reports whether the tool or policy masks something of its values.
func (b *Bound) IsMasked() bool { return len(b.masks) > 0 || len(b.def.Redaction.MaskOutput) > 0 }

// StreamMasker returns the masker of the tool's streams, or nil if it masks nothing.
func (b *Bound) StreamMasker() *toolspec.StreamMasker { return b.streams }

// Discovered returns the digests that tie the tool to a review in policy; nil if no server gave its definition.
func (b *Bound) Discovered() *toolspec.Discovered { return b.def.Discovered.Digests() }

// WithMasks returns the tool with the masks of policy beside its own masks. streams is nil if policy masks nothing in
// streams.
func (b *Bound) WithMasks(masks toolspec.Masks, streams *toolspec.StreamMasker) *Bound {
	if len(masks) == 0 && streams == nil {
		return b
	}
	masked := *b
	masked.masks, masked.streams = masks, b.streams.With(streams)
	return &masked
}

// RedactText masks a text that is no output, such as a preview. It applies all masks of the tool
// and of policy, whatever part of the output each is for.
func (b *Bound) RedactText(text string) (string, error) {
	text = b.redactor.RedactText(text, b.masks)
	if b.streams == nil {
		return text, nil
	}
	masked, _, err := b.streams.Mask([]byte(text), true)
	return masked, err
}

// CheckMask reports why the texts at a path of the output cannot be masked. If the output has
// nothing at this path, the error is schema.ErrNoText.
func (b *Bound) CheckMask(path string) error { return schema.CheckMask(b.visible, path) }

// SafeArgs masks what approvers and records may not see.
func (b *Bound) SafeArgs(args json.RawMessage) (json.RawMessage, error) {
	return b.def.Redaction.Input(args)
}
