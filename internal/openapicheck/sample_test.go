package openapicheck

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// sampler makes values that fit a schema.
type sampler struct {
	root map[string]any
	// all says that optional properties are there too.
	all bool
}

const maxDepth = 5

// value returns a value for a schema, or an error if it knows none.
func (s sampler) value(schema any, depth int) (any, error) {
	m, ok := schema.(map[string]any)
	if !ok || len(m) == 0 {
		return "x", nil
	}
	if ref, ok := m["$ref"].(string); ok {
		defs, _ := s.root["$defs"].(map[string]any)
		return s.value(defs[strings.TrimPrefix(ref, "#/$defs/")], depth+1)
	}
	if depth > 20 {
		return nil, fmt.Errorf("too deep")
	}
	if v, ok := m["const"]; ok {
		return v, nil
	}
	if list, ok := m["enum"].([]any); ok && len(list) > 0 {
		return list[0], nil
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, ok := m[keyword].([]any); ok {
			return s.first(m, list, depth)
		}
	}
	if list, ok := m["allOf"].([]any); ok {
		return s.joined(m, list, depth)
	}
	switch kind := typeOf(m); kind {
	case "object":
		return s.object(m, depth)
	case "array":
		return s.array(m, depth)
	case "integer", "number":
		return number(m), nil
	case "boolean":
		return true, nil
	case "null":
		return nil, nil
	case "string":
		return text(m)
	default:
		return "x", nil
	}
}

func typeOf(m map[string]any) string {
	switch kind := m["type"].(type) {
	case string:
		return kind
	case []any:
		for _, k := range kind {
			if k != "null" {
				text, _ := k.(string)
				return text
			}
		}
	}
	if m["properties"] != nil {
		return "object"
	}
	return ""
}

// first returns the value of the first alternative that has one.
func (s sampler) first(m map[string]any, list []any, depth int) (v any, err error) {
	for _, alternative := range list {
		if o, ok := alternative.(map[string]any); ok && o["type"] == "null" && len(list) > 1 {
			continue
		}
		part, ok := alternative.(map[string]any)
		if ok && (m["properties"] != nil || m["type"] != nil) && part["$ref"] == nil {
			merged := map[string]any{}
			for k, v := range m {
				if k != "anyOf" && k != "oneOf" {
					merged[k] = v
				}
			}
			for k, v := range part {
				if k == "required" {
					before, _ := merged[k].([]any)
					after, _ := v.([]any)
					v = append(slices.Clone(before), after...)
				}
				if k == "properties" {
					both := map[string]any{}
					before, _ := merged[k].(map[string]any)
					after, _ := v.(map[string]any)
					for _, table := range []map[string]any{before, after} {
						for name, p := range table {
							both[name] = p
						}
					}
					v = both
				}
				merged[k] = v
			}
			alternative = merged
		}
		if v, err = s.value(alternative, depth+1); err == nil {
			return v, nil
		}
	}
	return v, err
}

// joined returns the properties of all parts together, or the value of the first part.
func (s sampler) joined(m map[string]any, list []any, depth int) (any, error) {
	rest := map[string]any{}
	for k, v := range m {
		if k != "allOf" {
			rest[k] = v
		}
	}
	joined := map[string]any{}
	for _, part := range append(slices.Clone(list), any(rest)) {
		if o, ok := part.(map[string]any); ok && len(o) == 0 || ok && typeOf(o) == "" && o["$ref"] == nil && o["allOf"] == nil && o["anyOf"] == nil && o["oneOf"] == nil {
			continue
		}
		v, err := s.value(part, depth+1)
		if err != nil {
			return nil, err
		}
		object, ok := v.(map[string]any)
		if !ok {
			return v, nil
		}
		for name, value := range object {
			joined[name] = value
		}
	}
	return joined, nil
}

func (s sampler) object(m map[string]any, depth int) (any, error) {
	out := map[string]any{}
	required := map[string]bool{}
	if list, ok := m["required"].([]any); ok {
		for _, name := range list {
			text, _ := name.(string)
			required[text] = true
		}
	}
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		if !required[name] && (!s.all || depth > maxDepth) {
			continue
		}
		v, err := s.value(p, depth+1)
		switch {
		case err == nil:
			out[name] = v
		case required[name]:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if n, ok := m["minProperties"].(float64); ok && len(out) < int(n) {
		for name, p := range properties {
			if v, err := s.value(p, depth+1); err == nil && len(out) < int(n) {
				out[name] = v
			}
		}
	}
	for name := range required {
		if _, there := out[name]; !there {
			out[name] = "x"
		}
	}
	return out, nil
}

func (s sampler) array(m map[string]any, depth int) (any, error) {
	least, _ := m["minItems"].(float64)
	n := int(least)
	if s.all && depth < maxDepth {
		n = max(n, 1)
	}
	out := []any{}
	for range n {
		v, err := s.value(m["items"], depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func number(m map[string]any) any {
	v := 1.0
	if least, ok := m["minimum"].(float64); ok {
		v = max(v, math.Ceil(least))
	}
	if least, ok := m["exclusiveMinimum"].(float64); ok {
		v = max(v, math.Floor(least)+1)
	}
	if most, ok := m["maximum"].(float64); ok {
		v = min(v, most)
	}
	if most, ok := m["exclusiveMaximum"].(float64); ok && v >= most {
		v = math.Ceil(most) - 1
	}
	return json.Number(fmt.Sprintf("%.0f", v))
}

// candidates are texts that patterns of documents want.
var candidates = []string{
	"x", "1", "A", "abc", "2020-01-01", "2020-01-01T00:00:00Z", "0123456789abcdef0123456789abcdef01234567", "123456", "abc-def", "ABC", "a1", "1.0.0", "#ffffff", "ffffff",
	"https://example.com/", "a@b.example", "10.0.0.1", "10.0.0.0/8", "AB", "0", "12", "1234", "123456789", "sha256:" + strings.Repeat("a", 64),
}

func text(m map[string]any) (any, error) {
	format, _ := m["format"].(string)
	v := cmp.Or(map[string]string{
		"date-time": "2020-01-01T00:00:00Z", "date": "2020-01-01", "uri": "https://example.com/", "url": "https://example.com/", "email": "a@b.example",
		"uuid": "123e4567-e89b-12d3-a456-426614174000", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "hostname": "example.com", "byte": "eA==", "timezone": "UTC",
	}[format], "x y/")
	pattern, _ := m["pattern"].(string)
	if pattern != "" {
		p, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(append([]string{v}, candidates...), p.MatchString)
		if i < 0 {
			return nil, fmt.Errorf("no text for the pattern %s", pattern)
		}
		v = append([]string{v}, candidates...)[i]
	}
	if least, ok := m["minLength"].(float64); ok && len(v) < int(least) {
		v += strings.Repeat("x", int(least)-len(v))
	}
	if most, ok := m["maxLength"].(float64); ok && len(v) > int(most) {
		v = v[:int(most)]
	}
	return v, nil
}
