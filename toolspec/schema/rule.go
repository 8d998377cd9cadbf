package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kaptinlin/jsonschema"
)

// maxRuleBytes bounds the text of a rule, for enumerations are long.
const maxRuleBytes = 200

// keyword explains one failed keyword; those that only sum up subschemas say
// nothing, their details do.
func (e *explainer) keyword(keyword string, r *jsonschema.EvaluationResult, s *jsonschema.Schema, value any, at path) {
	object, _ := value.(map[string]any)
	switch keyword {
	case "required":
		e.missing(s.Required, object, at)
	case "dependentRequired":
		for _, name := range slices.Sorted(maps.Keys(s.DependentRequired)) {
			if _, present := object[name]; present {
				e.missing(s.DependentRequired[name], object, at)
			}
		}
	case "type":
		e.add(at, KindTypeMismatch, "Invalid type for field: "+at.field())
	case "anyOf":
		e.branches(r, keyword, s.AnyOf, value, at)
	case "oneOf":
		e.branches(r, keyword, s.OneOf, value, at)
	case "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "items", "prefixItems",
		"allOf", "then", "else", "$ref", "dependentSchemas":
	default:
		e.add(at, KindInvalidValue, invalid(at, rule(keyword, s)))
	}
}

func (e *explainer) missing(required []string, object map[string]any, at path) {
	for _, name := range required {
		if _, present := object[name]; !present {
			field := at.with(name)
			e.add(field, KindMissingRequired, "Missing required field: "+field.field())
		}
	}
}

func invalid(at path, rule string) string {
	message := "Invalid value for field: " + at.field()
	if rule != "" {
		message += " (" + brief(rule) + ")"
	}
	return message
}

// rule says in the schema's words what the keyword asks for.
func rule(keyword string, s *jsonschema.Schema) string {
	switch keyword {
	case "minimum":
		return "must be ≥ " + jsonschema.FormatRat(s.Minimum)
	case "maximum":
		return "must be ≤ " + jsonschema.FormatRat(s.Maximum)
	case "exclusiveMinimum":
		return "must be > " + jsonschema.FormatRat(s.ExclusiveMinimum)
	case "exclusiveMaximum":
		return "must be < " + jsonschema.FormatRat(s.ExclusiveMaximum)
	case "multipleOf":
		return "must be a multiple of " + jsonschema.FormatRat(s.MultipleOf)
	case "minLength":
		return "shorter than " + count(s.MinLength)
	case "maxLength":
		return "longer than " + count(s.MaxLength)
	case "minItems":
		return "fewer than " + count(s.MinItems) + " entries"
	case "maxItems":
		return "more than " + count(s.MaxItems) + " entries"
	case "minProperties":
		return "fewer than " + count(s.MinProperties) + " fields"
	case "maxProperties":
		return "more than " + count(s.MaxProperties) + " fields"
	case "uniqueItems":
		return "entries must differ"
	case "pattern":
		return "must match " + brief(strconv.Quote(*s.Pattern))
	case "format":
		return "must be a " + brief(printable(*s.Format))
	case "contentEncoding":
		return "must be base64"
	case "enum":
		return "must be one of " + brief(values(s.Enum))
	case "const":
		return "must be " + brief(values([]any{s.Const.Value}))
	case "minContains", "maxContains":
		return "number of matching entries"
	case "not":
		return "matches a forbidden form"
	case "propertyNames":
		return "a field name is not allowed"
	case "schema":
		return "nothing is allowed here"
	}
	return "rule " + printable(keyword)
}

func count(limit *float64) string {
	return strconv.FormatFloat(*limit, 'f', -1, 64)
}

func values(list []any) string {
	texts := make([]string, 0, len(list))
	for _, value := range list {
		raw, err := encode(value)
		if err != nil {
			raw = []byte("?")
		}
		texts = append(texts, string(raw))
	}
	return printable(strings.Join(texts, ", "))
}

func brief(text string) string {
	if len(text) <= maxRuleBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxRuleBytes], "") + "…"
}
