package schema

import (
	"maps"
	"regexp"
	"slices"
)

// fields projects the object keywords of n into out.
func (p *projection) fields(n *node, paths []path, closed bool, out map[string]any) {
	if !n.describesFields() {
		return
	}
	properties := map[string]any{}
	whole := map[string]bool{} // kept fields that redaction never strips
	for _, name := range slices.Sorted(maps.Keys(n.fields)) {
		if rest := below(paths, name); len(rest) > 0 {
			if !endsHere(rest) && !n.fields[name].mayBe("object") && !n.fields[name].mayBe("array") {
				continue // redaction strips a scalar that a path goes through
			}
			properties[name] = p.keep(n.fields[name], rest, true)
			whole[name] = endsHere(rest) || n.fields[name].container()
		}
	}
	p.patterns(n, paths, properties, out)
	p.additional(n, paths, closed, properties, out)
	if required := n.names("required"); len(required) > 0 {
		left := []any{}
		for _, name := range required {
			if whole[name] {
				left = append(left, name)
			}
		}
		out["required"] = left
	}
	if len(properties) > 0 || n.fields != nil {
		out["properties"] = properties
	}
}

// describesFields reports whether n can hold fields at all.
func (n *node) describesFields() bool {
	for _, keyword := range []string{"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "required"} {
		if _, ok := n.object[keyword]; ok {
			return true
		}
	}
	return n.mayBe("object") && n.object["type"] != nil && !n.combines()
}

func (n *node) combines() bool {
	return slices.ContainsFunc(n.subs, func(s sub) bool {
		return s.keyword == "allOf" || s.keyword == "anyOf" || s.keyword == "oneOf"
	}) || n.ref != nil
}

// patterns projects patternProperties: a name that the allowlist spells out
// becomes a property, * keeps the pattern.
func (p *projection) patterns(n *node, paths []path, properties, out map[string]any) {
	kept := map[string]any{}
	for _, s := range n.subs {
		if s.keyword != "patternProperties" {
			continue
		}
		if rest := starred(paths); len(rest) > 0 {
			kept[s.token] = p.keep(s.to, rest, true)
		}
		re, err := regexp.Compile(s.token)
		for _, a := range paths {
			name := a[0]
			if err == nil && name != "*" && properties[name] == nil && re.MatchString(name) {
				properties[name] = p.keep(s.to, below(paths, name), true)
			}
		}
	}
	if len(kept) > 0 {
		out["patternProperties"] = kept
	}
}

// additional projects the fields that n does not name.
func (p *projection) additional(n *node, paths []path, closed bool, properties, out map[string]any) {
	value, stated := n.object["additionalProperties"]
	if value == false {
		out["additionalProperties"] = false
		return
	}
	var extra *node
	for _, s := range n.subs {
		if s.keyword == "additionalProperties" {
			extra = s.to
		}
	}
	if extra == nil {
		if len(n.fields) > 0 || n.combines() || !closed {
			// Open by silence: a name beside the stated ones is more likely a
			// typo, and redaction leaves nothing but the listed ones.
			if unevaluated := n.object["unevaluatedProperties"]; unevaluated == false {
				out["unevaluatedProperties"] = false
			} else if closed && !n.combines() && len(starred(paths)) == 0 {
				out["additionalProperties"] = false
			}
			return
		}
		extra = &node{at: n.at, boolean: true}
	}
	for _, a := range paths {
		if name := a[0]; name != "*" && properties[name] == nil && n.fields[name] == nil {
			properties[name] = p.keep(extra, below(paths, name), true)
		}
	}
	switch rest := starred(paths); {
	case len(rest) > 0:
		out["additionalProperties"] = p.keep(extra, rest, true)
	case closed:
		out["additionalProperties"] = false
	case stated:
		out["additionalProperties"] = value
	}
}

// mayBe reports whether the type keyword of n allows the type.
func (n *node) mayBe(kind string) bool {
	switch declared := n.object["type"].(type) {
	case string:
		return declared == kind
	case []any:
		return slices.Contains(declared, any(kind))
	}
	return true
}

// container reports whether every value of n is an object or an array.
func (n *node) container() bool {
	if n.object == nil {
		return false
	}
	if n.ref != nil && n.refAlone() {
		return n.ref.container()
	}
	kinds := n.names("type")
	if kind, ok := n.text("type"); ok {
		kinds = []string{kind}
	}
	for _, kind := range kinds {
		if kind != "object" && kind != "array" {
			return false
		}
	}
	return len(kinds) > 0
}
