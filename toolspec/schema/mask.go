package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// CheckMask reports why texts at a path cannot be masked: doc describes nothing there, it allows
// another type than text, or a keyword of it judges the text. Without an error, a value that meets
// doc meets it after masking, too. The path is that of toolspec.Masking.
func CheckMask(doc json.RawMessage, path string) error {
	root, err := jsonschema.Parse(doc)
	if err != nil {
		return err
	}
	tokens, ok := strictjson.SplitPointer(path)
	if !ok {
		return fmt.Errorf("path %q is not a JSON pointer: start it with /", path)
	}
	c := maskCheck{seen: map[maskStep]bool{}}
	if err := c.walk(root, tokens); err != nil {
		return fmt.Errorf("path %q: %w", path, err)
	}
	if !c.met {
		return fmt.Errorf("path %q names nothing in the output schema that redaction.allow keeps", path)
	}
	return nil
}

type maskStep struct {
	node *jsonschema.Node
	left int
}

// maskCheck walks all schemas that apply to what a path leads to.
type maskCheck struct {
	met  bool
	seen map[maskStep]bool
}

func (c *maskCheck) walk(n *jsonschema.Node, path strictjson.Path) error {
	step := maskStep{n, len(path)}
	if c.seen[step] {
		return nil
	}
	c.seen[step] = true
	if isUntyped(n) {
		c.met = c.met || n.Object != nil || n.Boolean
		return nil
	}
	if err := checkMasked(n, len(path) == 0); err != nil {
		return err
	}
	c.met = c.met || len(path) == 0
	if n.Ref != nil {
		if err := c.walk(n.Ref, path); err != nil {
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
		if err := c.walk(s.To, rest); err != nil {
			return err
		}
	}
	return nil
}

// reaches reports whether a field of this name, or with * any field or element, is described by the
// subschema s of n.
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
		return name == "*"
	}
	return false
}

// checkMasked reports a rule of n by which a masked value could be judged otherwise. ends says that
// n describes the text itself.
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
			return fmt.Errorf("only texts are masked, and the output schema allows the type %s there", kind)
		}
	}
	if len(n.Types()) == 0 && !combines(n) {
		return errors.New("only texts are masked, and the output schema does not state the type there")
	}
	return nil
}
