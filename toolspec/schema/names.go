package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// CheckInput refuses an input schema that names a field which must not come
// from a caller: connectionId, whose only place is the invocation context
// (SP-11, CN-02), and the names of credentials. It looks at every depth and
// under every keyword that lists names of fields. It does not read a pattern
// for several names, or the schemas that propertyNames is composed of or refers
// to: a map may have any names. Case and separators do not matter; only whole
// names count, so "secretary" and "tokenCount" pass. The error is a
// [jsonschema.Refusal] with the pointer of the name.
//
// A name in harmless passes, in exactly this spelling: the tool's author declares that no field of
// this name carries a credential. A name in harmless that the document does not have is an error
// too.
func CheckInput(doc json.RawMessage, harmless ...string) error {
	root, err := jsonschema.Parse(doc)
	if err != nil {
		return err
	}
	return checkNames(root, harmless)
}

// CheckOutput is CheckInput for an output schema, whose values need not be objects.
func CheckOutput(doc json.RawMessage) error {
	root, err := jsonschema.ParseValue(doc)
	if err != nil {
		return err
	}
	return checkNames(root, nil)
}

func checkNames(root *jsonschema.Node, harmless []string) error {
	c := &nameCheck{harmless: harmless, met: map[string]bool{}}
	if err := root.Walk(c.checkNames); err != nil {
		return err
	}
	for _, name := range harmless {
		if !c.met[name] {
			return fmt.Errorf("the schema has no field %q, which is declared harmless", name)
		}
	}
	return nil
}

type nameCheck struct {
	harmless []string
	met      map[string]bool // names of harmless that the document has
}

func (c *nameCheck) checkNames(n *jsonschema.Node) error {
	for _, s := range n.Subs {
		name := s.Name
		switch s.Keyword {
		case "patternProperties":
			name = strings.Trim(name, "^$()") // a pattern for one name is that name
		case "properties", "dependentSchemas", "dependencies":
		default:
			continue
		}
		if err := c.checkName(name, n.At.With(s.Keyword).With(s.Name)); err != nil {
			return err
		}
	}
	if err := c.checkNameList(n.Object["required"], n.At.With("required")); err != nil {
		return err
	}
	for _, keyword := range []string{"dependentRequired", "dependencies"} {
		lists, _ := n.Object[keyword].(map[string]any)
		for name, list := range lists {
			at := n.At.With(keyword).With(name)
			if err := c.checkName(name, at); err != nil {
				return err
			}
			if err := c.checkNameList(list, at); err != nil {
				return err
			}
		}
	}
	if names, ok := n.Object["propertyNames"].(map[string]any); ok {
		at := n.At.With("propertyNames")
		if err := c.checkNameList([]any{names["const"]}, at.With("const")); err != nil {
			return err
		}
		return c.checkNameList(names["enum"], at.With("enum"))
	}
	return nil
}

func (c *nameCheck) checkNameList(value any, at strictjson.Path) error {
	list, _ := value.([]any)
	for _, member := range list {
		name, _ := member.(string)
		if err := c.checkName(name, at); err != nil {
			return err
		}
	}
	return nil
}

func (c *nameCheck) checkName(name string, at strictjson.Path) error {
	switch {
	case toolspec.FoldName(name) == "connectionid":
		return jsonschema.Refuse(at, "connectionId comes in the invocation context, never in arguments")
	case slices.Contains(c.harmless, name):
		c.met[name] = true
	case toolspec.SecretName(name):
		return jsonschema.Refuse(at, "a field for a secret: arguments never carry credentials. Use a connection or, if the value is no credential, add the name to HarmlessNames of the definition")
	}
	return nil
}
