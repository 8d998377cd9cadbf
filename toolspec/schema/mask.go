package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// ErrNoText says that a path names nothing in a schema.
var ErrNoText = errors.New("names nothing in the output schema that redaction.allow keeps")

// CheckMask reports why texts at a path cannot be masked: doc describes nothing there, it allows
// another type than text, or a keyword of it judges the text. Without an error, a value that meets
// doc meets it after masking, too. The path is that of toolspec.Masking. If doc describes nothing there,
// the error is ErrNoText.
func CheckMask(doc *jsonschema.Node, path string) error {
	tokens, ok := strictjson.SplitPointer(path)
	if !ok {
		return fmt.Errorf("path %q is not a JSON pointer: start it with /", path)
	}
	c := maskCheck{seen: map[maskStep]bool{}}
	if err := c.walk(doc, tokens, false); err != nil {
		return fmt.Errorf("path %q: %w", path, err)
	}
	if !c.met {
		return fmt.Errorf("path %q %w", path, ErrNoText)
	}
	return nil
}

type maskStep struct {
	node      *jsonschema.Node
	left      int
	exclusive bool
}

// maskCheck visits all schemas that apply to the values at a path.
type maskCheck struct {
	met  bool
	seen map[maskStep]bool
}

// walk checks n, at which path begins. exclusive says that a oneOf applies n or a schema above it: a
// number that becomes a text could then fit another branch of the oneOf.
func (c *maskCheck) walk(n *jsonschema.Node, path strictjson.Path, exclusive bool) error {
	step := maskStep{n, len(path), exclusive}
	if c.seen[step] {
		return nil
	}
	c.seen[step] = true
	if isUntyped(n) {
		if exclusive {
			return errors.New("a branch of oneOf in the output schema allows every type there: state the type string")
		}
		c.met = c.met || n.Object != nil || n.Boolean
		return nil
	}
	if err := checkMasked(n, len(path) == 0); err != nil {
		return err
	}
	c.met = c.met || len(path) == 0
	if n.Ref != nil {
		if err := c.walk(n.Ref, path, exclusive); err != nil {
			return err
		}
	}
	for _, s := range n.Subs {
		rest, applies := path, s.Keyword == "allOf" || s.Keyword == "anyOf" || s.Keyword == "oneOf"
		if !applies && len(path) > 0 {
			rest, applies = path[1:], reaches(n, s, path[0])
		}
		if !applies {
			continue
		}
		if err := c.walk(s.To, rest, exclusive || s.Keyword == "oneOf"); err != nil {
			return err
		}
	}
	return nil
}

// reaches reports whether a field or an element of this name, or with * any field or element, is described
// by the subschema s of n.
func reaches(n *jsonschema.Node, s jsonschema.Sub, name string) bool {
	switch s.Keyword {
	case "properties":
		return name == "*" || name == s.Name
	case "patternProperties":
		re, err := regexp.Compile(s.Name)
		return name == "*" || err != nil || re.MatchString(name)
	case "additionalProperties", "unevaluatedProperties":
		return name == "*" || n.Fields[name] == nil
	case "items", "prefixItems", "additionalItems", "unevaluatedItems":
		if s.Name != "" { // an element of a tuple
			return name == "*" || name == s.Name
		}
		index, err := strconv.ParseUint(name, 10, 63)
		return name == "*" || err == nil && strconv.FormatUint(index, 10) == name
	}
	return false
}

// checkMasked returns an error for a rule of n that could accept a value and refuse the masked
// value, or the reverse. ends says that n describes the text itself.
func checkMasked(n *jsonschema.Node, ends bool) error {
	for _, keyword := range n.Keywords() {
		breaks := false
		switch keyword {
		case "enum", "const", "not", "if", "contains", "uniqueItems", "dependentSchemas", "dependencies":
			breaks = true
		case "pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType":
			breaks = ends
		}
		if breaks {
			return fmt.Errorf("the output schema has the keyword %q there, which a masked text may not meet: leave it out", keyword)
		}
	}
	if !ends {
		return nil
	}
	for _, kind := range n.Types() {
		if kind != "string" && kind != "null" {
			return fmt.Errorf("only texts are masked, and the output schema allows the type %s there: name the path of a text, such as /a/*", kind)
		}
	}
	if len(n.Types()) > 0 {
		return nil
	}
	for _, keyword := range n.Keywords() {
		switch keyword {
		case "$ref", "allOf", "anyOf", "oneOf", "title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly",
			"$defs", "definitions", "$schema", "$id", "$anchor":
		default:
			return fmt.Errorf("only texts are masked, and the output schema has the keyword %q there without the type string", keyword)
		}
	}
	return nil
}
