package legacy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Function is a definition as JSON: what programs in other languages attach to
// their tools. Effect, risk, redaction and the rest of the contract are no part of
// it and have no default: [Function.Import] asks for them.
type Function struct {
	Name        string
	Description string
	// Parameters is the JSON Schema of the arguments, as it was written.
	Parameters    json.RawMessage
	AllowNoSchema bool
	NoSchemaMode  toolspec.NoSchemaMode
	Strict        bool
}

// ParseFunction reads a definition. Its keys are type, which is "function", name, description,
// parameters, allowNoSchema, noSchemaMode and strict. The error names unknown keys. The contract
// and the schema in parameters are checked when the tool is registered.
func ParseFunction(doc []byte) (Function, error) {
	var f Function
	fail := func(format string, args ...any) (Function, error) {
		return Function{}, fmt.Errorf("function definition: "+format, args...)
	}
	if len(doc) > 2*jsonschema.MaxDocumentBytes {
		return fail("larger than %d KiB", 2*jsonschema.MaxDocumentBytes>>10)
	}
	if fault := strictjson.Check(doc); fault != nil {
		return fail("%s", fault.Error())
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil || members == nil {
		return fail("not an object")
	}
	var kind string
	known := map[string]any{
		"type": &kind, "name": &f.Name, "description": &f.Description, "parameters": &f.Parameters,
		"allowNoSchema": &f.AllowNoSchema, "noSchemaMode": &f.NoSchemaMode, "strict": &f.Strict,
	}
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(members)) {
		into, ok := known[key]
		if !ok {
			unknown = append(unknown, fmt.Sprintf("%.40q", key))
		} else if err := json.Unmarshal(members[key], into); err != nil {
			return fail("%s has the wrong JSON type", key)
		}
	}
	switch {
	case len(unknown) > 0:
		return fail("unknown keys: %s", strings.Join(unknown[:min(len(unknown), 8)], ", "))
	case kind != "function":
		return fail(`type must be "function"`)
	case f.Name == "":
		return fail("name is missing")
	}
	return f, nil
}

// Import makes a tool of the definition. providedBy is the namespace of a bare name. Import does
// not use the ID, Title, Strict, AllowNoSchema and NoSchemaMode of contract. It uses the
// Description of contract if the function has none. output is the JSON Schema of what run returns.
func (f Function) Import(
	providedBy string, contract toolspec.Definition, output json.RawMessage,
	run func(ctx context.Context, args json.RawMessage, call toolspec.Call) (json.RawMessage, error),
) toolspec.Tool {
	def := contract
	def.ID, def.Title = namespaced(providedBy, f.Name), f.Name
	if f.Description != "" {
		def.Description = f.Description
	}
	def.AllowNoSchema, def.NoSchemaMode, def.Strict = f.AllowNoSchema, f.NoSchemaMode, f.Strict
	return toolspec.DefineSchema(def, f.Parameters, output, run)
}
