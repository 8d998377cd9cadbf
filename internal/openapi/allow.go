package openapi

import (
	"slices"
	"strings"
)

const (
	// maxAllow bounds the paths of an allowlist.
	maxAllow = 500
	// maxAllowDepth bounds their depth. A deeper part that lacks a field is left out.
	maxAllowDepth = 8
)

// allow returns the paths of a value that may be shown: the properties of its objects. A property that
// holds a field whose name looks like a credential is listed by its own properties, so that the
// field is not shown. It returns nil if that is not possible.
func (s *schemas) allow(root *object) []string {
	var paths []string
	s.allowBelow(root, "", 0, true, &paths)
	if len(paths) == 0 || len(paths) > maxAllow {
		if len(s.dropped) > 0 {
			return nil
		}
		return []string{""}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// allowBelow adds the paths of a schema. If top is true, it lists the properties of v and not v
// itself, even if no field was left out of v.
func (s *schemas) allowBelow(v any, at string, depth int, top bool, paths *[]string) {
	o := s.target(v)
	if o == nil || depth > maxAllowDepth || len(*paths) > maxAllow {
		return
	}
	if !top && !s.lacks(o, map[*object]bool{}) {
		*paths = append(*paths, at)
		return
	}
	listed := false
	if properties, ok := o.get("properties"); ok {
		if table, ok := properties.(*object); ok {
			for _, e := range *table {
				if e.name != "*" && e.name != "" {
					listed = true
					s.allowBelow(e.value, at+token(e.name), depth+1, false, paths)
				}
			}
		}
	}
	if items, ok := o.get("items"); ok {
		listed = true
		s.allowBelow(items, at+"/*", depth+1, top, paths)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := o.get(keyword)
		parts, _ := list.([]any)
		for _, part := range parts {
			if kind, _ := s.kind(part); kind == "null" {
				continue
			}
			listed = true
			s.allowBelow(part, at, depth+1, top, paths)
		}
	}
	if !listed && !s.tainted[o] {
		*paths = append(*paths, at)
	}
}

// kind returns the type of a schema.
func (s *schemas) kind(v any) (string, bool) {
	if o := s.target(v); o != nil {
		kind, _ := o.get("type")
		text, ok := kind.(string)
		return text, ok
	}
	return "", false
}

// target returns the object of a schema, after its reference.
func (s *schemas) target(v any) *object {
	for range maxHops {
		o, ok := v.(*object)
		if !ok {
			return nil
		}
		ref, ok := o.get("$ref")
		if !ok {
			return o
		}
		text, _ := ref.(string)
		v, _ = s.defs.get(strings.TrimPrefix(text, "#/$defs/"))
	}
	return nil
}

// lacks reports whether a field was left out of a schema, or of one below it.
func (s *schemas) lacks(v any, seen map[*object]bool) bool {
	o := s.target(v)
	if o == nil || seen[o] {
		return false
	}
	seen[o] = true
	if s.tainted[o] {
		return true
	}
	for _, e := range *o {
		switch value := e.value.(type) {
		case *object:
			if e.name == "properties" || e.name == "patternProperties" {
				for _, member := range *value {
					if s.lacks(member.value, seen) {
						return true
					}
				}
			} else if s.lacks(value, seen) {
				return true
			}
		case []any:
			for _, part := range value {
				if s.lacks(part, seen) {
					return true
				}
			}
		}
	}
	return false
}
