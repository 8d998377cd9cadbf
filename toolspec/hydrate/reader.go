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

// decoded reads JSON with numbers as they are written; nil where it is none.
func decoded(raw []byte) any {
	v, err := strictjson.Decode(raw)
	if err != nil {
		return nil
	}
	return v
}

// explained adds to problems what was expected and what came in its place. It never
// validates: where the document does not say plainly what is expected, it adds nothing.
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

// wants reports whether a schema names types, and the type of v is none of them
// but another is.
func wants(n *jsonschema.Node, v any, other ...string) bool {
	names := n.Types()
	is := typeOf(v)
	if slices.Contains(names, is) || is == "number" && slices.Contains(names, "integer") {
		return false
	}
	return slices.ContainsFunc(other, func(t string) bool { return slices.Contains(names, t) })
}
