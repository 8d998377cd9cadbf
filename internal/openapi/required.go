package openapi

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/toolspec"
)

const (
	// maxRequired bounds the names that one schema requires.
	maxRequired = 20_000
	// maxLooks bounds the schemas and properties that are read for the hidden names of one operation. A schema that several schemas
	// refer to counts each time.
	maxLooks = 50 * maxSchemaNodes
)

var (
	errRequired = fmt.Errorf("requires more than %d properties", maxRequired)
	errParts    = fmt.Errorf("has schemas whose parts have more than %d properties together", maxLooks)
)

// require copies the names of required without those that are left out. An argument that looks
// like a credential cannot be left out if it is required, unless it is hidden.
func (s *schemas) require(p place, out *object) error {
	required := p.get("required").texts()
	if len(required) == 0 {
		return nil
	}
	if len(required) > maxRequired {
		return s.fault(p, errRequired)
	}
	hidden, err := s.hiddenNames(s.here)
	if err != nil {
		return err
	}
	names, seen := []any{}, map[string]bool{}
	for _, name := range required {
		secret := s.isSecret(name)
		switch {
		case hidden[name], seen[name]:
			continue
		case secret && s.input:
			return s.fault(p, fmt.Errorf("needs the argument %q, which looks like a credential: if it is none, allow it with --harmless %s", name, name))
		case secret:
			continue
		}
		s.noteHarmless(name)
		seen[name] = true
		names = append(names, name)
	}
	if len(names) > 0 {
		out.add("required", names)
	}
	return nil
}

// isSecret reports whether a name looks like the name of a credential, and is not allowed.
func (s *schemas) isSecret(name string) bool {
	return looksSecret(name) && !(s.input && slices.Contains(s.doc.options.Harmless, name))
}

// noteHarmless notes that a name is kept.
func (s *schemas) noteHarmless(name string) {
	if s.input && looksSecret(name) {
		s.harmless[name] = true
	}
}

func looksSecret(name string) bool {
	return toolspec.SecretName(name) || toolspec.FoldName(name) == "connectionid"
}

// isHidden reports whether a property is left out by its schema.
func (s *schemas) isHidden(schema place) bool {
	if s.input {
		return schema.get("readOnly").is()
	}
	return schema.get("writeOnly").is()
}

// hiddenNames returns the names of the properties that p or a part of it hides. A schema can require a property that another
// part of the same value has.
func (s *schemas) hiddenNames(p place) (map[string]bool, error) {
	if names, known := s.hidden[p.n]; known {
		return names, nil
	}
	names := map[string]bool{}
	if err := s.addHidden(p, 0, names, map[*yaml.Node]bool{}); err != nil {
		return nil, err
	}
	s.hidden[p.n] = names
	return names, nil
}

func (s *schemas) addHidden(p place, depth int, names map[string]bool, seen map[*yaml.Node]bool) error {
	if !p.isMap() || seen[p.n] || depth > maxRefDepth {
		return nil
	}
	seen[p.n] = true
	if s.looks++; s.looks > maxLooks {
		return s.fault(p, errParts)
	}
	// A reference that leads nowhere is a fault of convert.
	if target, err := s.doc.follow(p); err == nil {
		if err := s.addHidden(target, depth+1, names, seen); err != nil {
			return err
		}
	}
	for name, member := range p.get("properties").members() {
		s.looks++
		if target, err := s.doc.follow(member); err == nil && s.isHidden(target) {
			names[name] = true
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range p.get(keyword).elements() {
			if err := s.addHidden(part, depth+1, names, seen); err != nil {
				return err
			}
		}
	}
	return nil
}
