package schema

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// CheckInput refuses an input schema that names a field which must not come
// from a caller: connectionId, whose only place is the invocation context
// (SP-11, CN-02), and the names of credentials. It looks at every depth and
// under every keyword that can name a field. Case and separators do not
// matter; only whole names count, so "secretary" and "tokenCount" pass. The
// error is a [*Refusal] with the pointer of the name.
func CheckInput(doc json.RawMessage) error {
	root, err := read(doc)
	if err != nil {
		return err
	}
	return root.walk(checkNames)
}

func checkNames(n *node) error {
	for _, s := range n.subs {
		name := s.token
		switch s.keyword {
		case "patternProperties":
			name = strings.Trim(name, "^$()") // a pattern for one name is that name
		case "properties", "dependentSchemas", "dependencies":
		default:
			continue
		}
		if err := checkName(name, n.at.with(s.keyword).with(s.token)); err != nil {
			return err
		}
	}
	if err := checkNameList(n.object["required"], n.at.with("required")); err != nil {
		return err
	}
	for _, keyword := range []string{"dependentRequired", "dependencies"} {
		lists, _ := n.object[keyword].(map[string]any)
		for name, list := range lists {
			at := n.at.with(keyword).with(name)
			if err := checkName(name, at); err != nil {
				return err
			}
			if err := checkNameList(list, at); err != nil {
				return err
			}
		}
	}
	if names, ok := n.object["propertyNames"].(map[string]any); ok {
		at := n.at.with("propertyNames")
		if err := checkNameList([]any{names["const"]}, at.with("const")); err != nil {
			return err
		}
		return checkNameList(names["enum"], at.with("enum"))
	}
	return nil
}

func checkNameList(value any, at path) error {
	list, _ := value.([]any)
	for _, member := range list {
		name, _ := member.(string)
		if err := checkName(name, at); err != nil {
			return err
		}
	}
	return nil
}

func checkName(name string, at path) error {
	switch {
	case toolspec.FoldName(name) == "connectionid":
		return refuse(at, "connectionId comes in the invocation context, never in arguments")
	case toolspec.SecretName(name):
		return refuse(at, "a field for a secret: the broker resolves credentials, arguments never carry them")
	}
	return nil
}
