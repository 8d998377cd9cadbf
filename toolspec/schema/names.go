package schema

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// CheckInput refuses an input schema that names a field which must not come
// from a caller: connectionId, whose only place is the invocation context
// (SP-11, CN-02), and the names of credentials. It looks at every depth and
// under every keyword that can name a field. Case and separators do not
// matter; only whole names count, so "secretary" and "tokenCount" pass. The
// error is a [jsonschema.Refusal] with the pointer of the name.
func CheckInput(doc json.RawMessage) error {
	root, err := jsonschema.Parse(doc)
	if err != nil {
		return err
	}
	return root.Walk(checkNames)
}

func checkNames(n *jsonschema.Node) error {
	for _, s := range n.Subs {
		name := s.Name
		switch s.Keyword {
		case "patternProperties":
			name = strings.Trim(name, "^$()") // a pattern for one name is that name
		case "properties", "dependentSchemas", "dependencies":
		default:
			continue
		}
		if err := checkName(name, n.At.With(s.Keyword).With(s.Name)); err != nil {
			return err
		}
	}
	if err := checkNameList(n.Object["required"], n.At.With("required")); err != nil {
		return err
	}
	for _, keyword := range []string{"dependentRequired", "dependencies"} {
		lists, _ := n.Object[keyword].(map[string]any)
		for name, list := range lists {
			at := n.At.With(keyword).With(name)
			if err := checkName(name, at); err != nil {
				return err
			}
			if err := checkNameList(list, at); err != nil {
				return err
			}
		}
	}
	if names, ok := n.Object["propertyNames"].(map[string]any); ok {
		at := n.At.With("propertyNames")
		if err := checkNameList([]any{names["const"]}, at.With("const")); err != nil {
			return err
		}
		return checkNameList(names["enum"], at.With("enum"))
	}
	return nil
}

func checkNameList(value any, at strictjson.Path) error {
	list, _ := value.([]any)
	for _, member := range list {
		name, _ := member.(string)
		if err := checkName(name, at); err != nil {
			return err
		}
	}
	return nil
}

func checkName(name string, at strictjson.Path) error {
	switch {
	case toolspec.FoldName(name) == "connectionid":
		return jsonschema.Refuse(at, "connectionId comes in the invocation context, never in arguments")
	case toolspec.SecretName(name):
		return jsonschema.Refuse(at, "a field for a secret: the broker resolves credentials, arguments never carry them")
	}
	return nil
}
