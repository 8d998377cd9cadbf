package schema

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kaptinlin/jsonschema"
)

// explainer turns the validator's tree of results into problems. Of each result
// it takes only which keyword failed and where; names and limits come from the
// schema, because the library's own messages hold instance values.
type explainer struct {
	problems []Problem
}

func (e *explainer) add(at path, kind Kind, message string) {
	e.problems = append(e.problems, Problem{Path: at.pointer(), Kind: kind, Message: message})
}

// visit explains one failed result of schema s on value.
func (e *explainer) visit(r *jsonschema.EvaluationResult, s *jsonschema.Schema, value any, at path) {
	if r == nil || r.Valid {
		return
	}
	if s == nil {
		e.add(at, KindInvalidValue, invalid(at, ""))
		return
	}
	for _, keyword := range slices.Sorted(maps.Keys(r.Errors)) {
		e.keyword(keyword, r, s, value, at)
	}
	refSeen := s.ResolvedRef == nil
	for _, d := range r.Details {
		if d == nil {
			continue
		}
		if d.EvaluationPath == "" { // first the target of $ref, then else
			target := s.Else
			if !refSeen {
				target, refSeen = s.ResolvedRef, true
			}
			e.visit(d, target, value, at)
			continue
		}
		e.detail(d, s, value, at)
	}
}

// detail follows a failed result to the subschema and the part of the value it
// is about. The library writes one unescaped token per step.
func (e *explainer) detail(d *jsonschema.EvaluationResult, s *jsonschema.Schema, value any, at path) {
	if d.Valid {
		return
	}
	keyword, token, _ := strings.Cut(strings.TrimPrefix(d.EvaluationPath, "/"), "/")
	name := strings.TrimPrefix(d.InstanceLocation, "/")
	switch keyword {
	case "allOf":
		e.visit(d, element(s.AllOf, token), value, at)
	case "then":
		e.visit(d, s.Then, value, at)
	case "dependentSchemas":
		e.visit(d, s.DependentSchemas[token], value, at)
	case "items":
		e.inside(d, s.Items, value, at, name)
	case "prefixItems":
		e.inside(d, element(s.PrefixItems, token), value, at, name)
	case "unevaluatedItems":
		e.inside(d, s.UnevaluatedItems, value, at, name)
	case "properties":
		e.field(d, entry(s.Properties, name), value, at, name)
	case "patternProperties":
		e.field(d, byPattern(s, name), value, at, name)
	case "additionalProperties":
		e.field(d, s.AdditionalProperties, value, at, name)
	case "unevaluatedProperties":
		e.field(d, s.UnevaluatedProperties, value, at, name)
	}
}

func (e *explainer) inside(d *jsonschema.EvaluationResult, s *jsonschema.Schema, value any, at path, index string) {
	array, _ := value.([]any)
	i, err := strconv.Atoi(index)
	if err != nil || i >= len(array) {
		e.add(at, KindInvalidValue, invalid(at, ""))
		return
	}
	e.visit(d, s, array[i], at.with(index))
}

func (e *explainer) field(d *jsonschema.EvaluationResult, s *jsonschema.Schema, value any, at path, name string) {
	object, _ := value.(map[string]any)
	member, present := object[name]
	switch {
	case !present: // the library validates null for a missing required field
	case s != nil && s.Boolean != nil && !*s.Boolean:
		unknown := at.with(name)
		e.add(unknown, KindUnknownProperty, "Unknown field: "+strconv.Quote(strings.TrimPrefix(unknown.pointer(), "/")))
	default:
		e.visit(d, s, member, at.with(name))
	}
}

// byPattern returns the schema of the one pattern that matches name, or nil if
// several do: the result does not say which of them failed.
func byPattern(s *jsonschema.Schema, name string) *jsonschema.Schema {
	var found *jsonschema.Schema
	if s.PatternProperties == nil {
		return nil
	}
	for pattern, candidate := range *s.PatternProperties {
		if re, err := regexp.Compile(pattern); err != nil || !re.MatchString(name) {
			continue
		}
		if found != nil {
			return nil
		}
		found = candidate
	}
	return found
}

// branches explains anyOf and oneOf. Where all branches want another type it is
// a type mismatch; where one branch alone has the type, that one is explained.
func (e *explainer) branches(r *jsonschema.EvaluationResult, keyword string, list []*jsonschema.Schema, value any, at path) {
	var near []*jsonschema.EvaluationResult
	var schemas []*jsonschema.Schema
	for _, d := range r.Details {
		kind, token, _ := strings.Cut(strings.TrimPrefix(d.EvaluationPath, "/"), "/")
		switch {
		case kind != keyword:
		case d.Valid:
			e.add(at, KindInvalidValue, invalid(at, "matches more than one of the allowed forms"))
			return
		case !wrongType(d):
			near, schemas = append(near, d), append(schemas, element(list, token))
		}
	}
	switch len(near) {
	case 0:
		e.add(at, KindTypeMismatch, "Invalid type for field: "+at.field())
	case 1:
		e.visit(near[0], schemas[0], value, at)
	default:
		e.add(at, KindInvalidValue, invalid(at, "matches none of the allowed forms"))
	}
}

// wrongType reports whether a branch failed for the type of the value itself.
func wrongType(r *jsonschema.EvaluationResult) bool {
	if r.Errors["type"] != nil {
		return true
	}
	return slices.ContainsFunc(r.Details, func(d *jsonschema.EvaluationResult) bool {
		return d != nil && d.EvaluationPath == "" && !d.Valid && wrongType(d)
	})
}
