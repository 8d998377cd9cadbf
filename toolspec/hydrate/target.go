package hydrate

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// Validator checks arguments. It must be safe for concurrent use, and its messages must contain no
// values of the arguments.
type Validator interface {
	// Info is recorded in the provenance.
	Info() toolspec.ValidatorInfo
	// Validate returns the problems of arguments in RFC 8785 form. The first problem decides. No
	// problems means that the tool accepts the arguments.
	Validate(args json.RawMessage) []toolspec.Problem
}

// Name and version of the built-in validator. Raise the version if the same document and arguments
// can get another verdict.
const (
	builtinName    = "pawl"
	builtinVersion = "1"
)

// BuiltinInfo describes the validator of package jsonschema.
func BuiltinInfo(compiledAt string) toolspec.ValidatorInfo {
	return toolspec.ValidatorInfo{Name: builtinName, Version: builtinVersion, CompiledAt: compiledAt}
}

// Target is the part of a tool that hydration needs.
type Target struct {
	ToolID, ToolDigest, SchemaHash string
	// Schema is the document of the tool, not one translated for a provider. It is used for
	// explanations and repairs; Validator checks the arguments.
	Schema json.RawMessage
	// Validator is nil if the tool has no schema. Hydration then fails, unless AllowNoSchema is
	// set.
	Validator     Validator
	AllowNoSchema bool
	// MaxArgs bounds the arguments, in bytes; 0 means toolspec.DefaultMaxArgs.
	MaxArgs int
	// Repairer repairs refused arguments, once; nil repairs nothing.
	Repairer Repairer
}

// TargetOf returns the target of a published tool. It compiles the schema, so keep the result. It
// fails if the schema does not compile.
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

// builtin is a Validator with a compiled schema.
type builtin struct{ compiled *jsonschema.Schema }

func (b builtin) Info() toolspec.ValidatorInfo { return BuiltinInfo(toolspec.CompiledAtHydration) }

func (b builtin) Validate(args json.RawMessage) []toolspec.Problem {
	return ProblemsOf(b.compiled.Validate(args))
}

// ProblemsOf converts problems of an instance to the problems of results.
func ProblemsOf(found []jsonschema.Problem) (problems []toolspec.Problem) {
	for _, p := range found {
		problems = append(problems, toolspec.Problem{Path: p.Path, Kind: string(p.Kind), Message: p.Message})
	}
	return problems
}
