package schema

import "slices"

// Target is a kind of request that carries tool definitions.
type Target string

// The targets. With a strict target, the provider lets the model write only what the schema
// accepts.
const (
	OpenAI          Target = "openai"           // Chat Completions and Responses, strict: false
	OpenAIStrict    Target = "openai-strict"    // the same, strict: true
	Anthropic       Target = "anthropic"        // Messages
	AnthropicStrict Target = "anthropic-strict" // Messages, strict: true
	Gemini          Target = "gemini"           // FunctionDeclaration.parameters
	Ollama          Target = "ollama"           // /api/chat
)

// dialect is what one target accepts. A dialect without words accepts all of 2020-12 below the
// root; only notAtTop applies.
type dialect struct {
	words    []string // keywords that judge
	notAtTop []string // keywords that the root may not have
	refs     bool     // local $ref, and $defs; nothing beside $ref
	recurses bool     // references may lead back
	formats  []string
	maxMin   int  // the largest minItems, 0: any
	nullable bool // nullable instead of the type null, one type for each schema
	textEnum bool // enum holds strings only
	alone    bool // nothing but annotations may stand beside anyOf
	strict   bool // all fields required, nothing else allowed
}

// dialects are facts about formats that others publish and change. Each entry names its source.
// Keywords that a target does not list are dropped and reported.
var dialects = map[Target]dialect{
	// openai-go v1.12.0 shared.FunctionDefinitionParam: "described as a JSON Schema
	// object", map[string]any. The server answers 400 "schema must have type
	// 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top
	// level" (github.com/langchain-ai/langchainjs/issues/9804,
	// github.com/goruck/home-generative-agent/pull/545).
	OpenAI: {notAtTop: []string{"oneOf", "anyOf", "allOf", "enum", "const", "not"}},

	// platform.openai.com/docs/guides/structured-outputs, "Supported schemas", as captured by
	// jsonschemaprofiles.unitvectorylabs.com/schemas/openai (February 2026): no allOf, not,
	// dependentRequired, dependentSchemas, if/then/else; no anyOf at the root; definitions and
	// recursion are taken. The list has no lengths of strings; these and all other keywords that it
	// lacks are left out.
	OpenAIStrict: {
		words: []string{
			"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "pattern", "format",
			"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
		},
		notAtTop: []string{"anyOf", "enum", "const"}, refs: true, recurses: true, strict: true, alone: true,
		formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	},

	// anthropic-sdk-go v1.84.0 ToolInputSchemaParam: any members beside type,
	// properties, required. The server answers 400 "input_schema does not support
	// oneOf, allOf, or anyOf at the top level"
	// (github.com/anthropics/claude-code/issues/27337).
	Anthropic: {notAtTop: []string{"oneOf", "anyOf", "allOf"}},

	// anthropic-sdk-go v1.84.0 schemautil.go (supportedSchemaKeys,
	// supportedStringFormats, transformSchema): nothing beside $ref, minItems 0 or
	// 1, additionalProperties false. platform.claude.com, structured outputs, "JSON
	// Schema limitations": no recursion, no bounds of numbers and lengths; allOf
	// with $ref is not taken, so allOf is written out.
	AnthropicStrict: {
		words: []string{
			"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "pattern", "format", "minItems",
		},
		notAtTop: []string{"anyOf", "enum", "const"}, refs: true, strict: true, alone: true, maxMin: 1,
		formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
	},

	// google.golang.org/genai v1.77.0 types.go, type Schema: "a select subset of an OpenAPI 3.0 schema
	// object"; Enum is []string, Type one type, Nullable a flag. The server wants anyOf alone
	// (github.com/anomalyco/opencode/pull/14659), and required and properties on objects only, for
	// fields that are listed there (github.com/goruck/home-generative-agent/pull/525,
	// github.com/ayunis-core/ayunis-core/pull/998). The member parametersJsonSchema beside parameters
	// takes JSON Schema: use the target OpenAI for it.
	Gemini: {
		words: []string{
			"type", "properties", "required", "items", "enum", "anyOf", "pattern", "format", "minimum", "maximum",
			"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties",
		},
		notAtTop: []string{"anyOf", "enum"}, nullable: true, textEnum: true, alone: true,
		formats: []string{"float", "double", "int32", "int64", "email", "byte", "date", "date-time", "password", "enum"},
	},

	// ollama v0.17.4 api/types.go, ToolFunctionParameters and ToolProperty: other
	// members are lost when the server reads the request.
	Ollama: {words: []string{"type", "properties", "required", "items", "enum", "anyOf"}, notAtTop: []string{"anyOf", "enum"}},
}

func (d dialect) takes(keyword string) bool {
	return d.words == nil || slices.Contains(d.words, keyword)
}
