package schema

import (
	"maps"
	"slices"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// inPlace are the keywords by which a schema evaluates fields and elements of the value.
var inPlace = []string{"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"}

// dependsOn lists keywords of 2020-12 whose meaning depends on keywords beside them. A schema that
// has one without the other can refuse more. properties is not listed, because conjoin keeps all
// names.
var dependsOn = map[string][]string{
	"then":                  {"if"},
	"else":                  {"if"},
	"minContains":           {"contains"},
	"maxContains":           {"contains"},
	"items":                 {"prefixItems"},
	"additionalProperties":  {"patternProperties"},
	"unevaluatedItems":      append([]string{"prefixItems", "items", "contains"}, inPlace...),
	"unevaluatedProperties": append([]string{"patternProperties", "additionalProperties"}, inPlace...),
}

// noEffectWithout lists keywords that have no effect without another.
var noEffectWithout = map[string]string{"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}

// removeIneffective removes from out the keywords that have no effect there and would get one from a keyword
// of other. It returns other without those that would get an effect from a keyword of out.
func removeIneffective(out, other map[string]any) map[string]any {
	cloned := false
	for keyword, base := range noEffectWithout {
		_, ours := out[base]
		_, theirs := other[base]
		if theirs && !ours {
			delete(out, keyword)
		}
		if _, there := other[keyword]; there && ours && !theirs {
			if !cloned {
				other, cloned = maps.Clone(other), true
			}
			delete(other, keyword)
		}
	}
	return other
}

// misses reports whether a keyword of other depends on a keyword of other that conjoin drops.
func misses(out, other map[string]any, keyword string) bool {
	return slices.ContainsFunc(dependsOn[keyword], func(needed string) bool { return clash(out, other, needed) })
}

// clash reports whether both schemas have a keyword, and conjoin cannot combine the two.
func clash(out, other map[string]any, keyword string) bool {
	ours, has := out[keyword]
	theirs, both := other[keyword]
	return has && both && jsonschema.RoleOf(keyword) != jsonschema.Annotates && !same(ours, theirs)
}
