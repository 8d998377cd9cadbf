package arch_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// formatPackages are the trees that know the formats of model providers.
var formatPackages = []string{"toolspec/wire", "toolspec/conversation", "provider", "internal/modelserver"}

// formatWords are names of members and kinds in these formats. Names that Pawl uses too, such as tool_call_id, are left out.
var formatWords = []string{
	"tool_calls", "tool_choice", "tool_use", "tool_use_id", "tool_result", "input_schema", "parallel_tool_calls", "finish_reason", "stop_reason",
	"function_call", "function_call_output", "functionCall", "functionResponse", "functionDeclarations", "content_block", "input_json_delta",
}

// providerFormatsHavePlaces (AR-07): other packages handle the types of a tool call, in which providers do not differ. The rule finds a
// name that is a whole text, such as the key of a map, or the name of a field in JSON.
func providerFormatsHavePlaces(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		if within(p.path, formatPackages...) {
			continue
		}
		for pos, text := range p.texts() {
			if name, isTag := reflect.StructTag(text).Lookup("json"); isTag {
				text, _, _ = strings.Cut(name, ",")
			}
			if text = strings.Trim(text, `"`); slices.Contains(formatWords, text) {
				found = append(found, violation{t.at(pos), fmt.Sprintf("%s knows %s of a provider's format: only %s may", p.path, text, strings.Join(formatPackages, ", "))})
			}
		}
	}
	return found
}
