package hydrate

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// decoded decodes JSON and keeps the text of numbers. It returns nil for text that is not JSON.
func decoded(raw []byte) any {
	v, err := strictjson.Decode(raw)
	if err != nil {
		return nil
	}
	return v
}

// explained adds the expected type and the actual type to problems. It does not validate: if the
// document names no type, it adds no expectation.
func explained(problems []toolspec.Problem, args, doc json.RawMessage) []toolspec.Problem {
	root, value := jsonschema.Outline(doc), decoded(args)
	for i, p := range problems {
		v, n, present := value, root.Target(), true
		tokens, _ := strictjson.SplitPointer(p.Path)
		for _, token := range tokens {
			switch parent := v.(type) {
			case map[string]any:
				v, present = parent[token]
				n = n.Member(token)
			case []any:
				at, err := strconv.Atoi(token)
				if present = err == nil && at >= 0 && at < len(parent); present {
					v = parent[at]
				}
				n = n.Element(at)
			default:
				present = false
			}
			if !present {
				v = nil
			}
		}
		if present {
			problems[i].Got = typeOf(v)
		}
		if p.Kind == string(jsonschema.KindTypeMismatch) || p.Kind == string(jsonschema.KindMissingRequired) {
			problems[i].Expected = strings.Join(n.Types(), " or ")
		}
	}
	return problems
}

// wants reports whether a schema names one of the other types and not the type of v.
func wants(n *jsonschema.Node, v any, other ...string) bool {
	names := n.Types()
	is := typeOf(v)
	if slices.Contains(names, is) || is == "number" && slices.Contains(names, "integer") {
		return false
	}
	return slices.ContainsFunc(other, func(t string) bool { return slices.Contains(names, t) })
}
