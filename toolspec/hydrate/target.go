package hydrate

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// Validator checks arguments. It is safe for concurrent use, and its messages
// hold no value of the arguments.
type Validator interface {
	// Info stands in the provenance.
	Info() toolspec.ValidatorInfo
	// Validate returns what is wrong with arguments in RFC 8785 form, the problem
	// that decides first; none means that the tool accepts them.
	Validate(args json.RawMessage) []toolspec.Problem
}

// Name and version of the built-in validator. The version is raised where the
// same document and the same arguments may get another verdict.
const (
	builtinName    = "pawl"
	builtinVersion = "1"
)

// BuiltinInfo describes the validator of package jsonschema.
func BuiltinInfo(compiledAt string) toolspec.ValidatorInfo {
	return toolspec.ValidatorInfo{Name: builtinName, Version: builtinVersion, CompiledAt: compiledAt}
}

// Target is the tool that arguments are for, as far as hydration goes by it.
type Target struct {
	ToolID, ToolDigest, SchemaHash string
	// Schema is the authoritative document, never one that was translated for a
	// provider. It explains and mends; Validator checks.
	Schema json.RawMessage
	// Validator is nil where there is no schema: nothing is hydrated then, unless
	// AllowNoSchema says so.
	Validator     Validator
	AllowNoSchema bool
	// MaxArgs bounds the arguments, in bytes; 0 means toolspec.DefaultMaxArgs.
	MaxArgs int
	// Repairer mends what was refused, once; nil mends nothing.
	Repairer Repairer
}

// TargetOf is the target that a published tool is. It compiles the schema: keep
// it. It fails where the schema does not compile.
func TargetOf(spec toolspec.Spec) (Target, error) {
	t := Target{
		ToolID: spec.Name, ToolDigest: spec.Digest, SchemaHash: spec.SchemaHash, Schema: spec.InputSchema,
		AllowNoSchema: spec.NoSchema && spec.NoSchemaMode == toolspec.NoSchemaAsk, MaxArgs: spec.MaxArgsBytes,
	}
	if spec.NoSchema {
		t.Schema, t.SchemaHash = nil, ""
		return t, nil
	}
	compiled, err := jsonschema.Compile(spec.InputSchema)
	if err != nil {
		return Target{}, fmt.Errorf("tool %s: input schema: %w", spec.Name, err)
	}
	t.Validator = builtin{compiled}
	return t, nil
}

// builtin is a compiled schema as a Validator.
type builtin struct{ compiled *jsonschema.Schema }

func (b builtin) Info() toolspec.ValidatorInfo { return BuiltinInfo(toolspec.CompiledAtHydration) }

func (b builtin) Validate(args json.RawMessage) []toolspec.Problem {
	return ProblemsOf(b.compiled.Validate(args))
}

// ProblemsOf are problems of an instance as results carry them.
func ProblemsOf(found []jsonschema.Problem) (problems []toolspec.Problem) {
	for _, p := range found {
		problems = append(problems, toolspec.Problem{Path: p.Path, Kind: string(p.Kind), Message: p.Message})
	}
	return problems
}
