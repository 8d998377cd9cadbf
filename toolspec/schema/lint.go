package schema

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// Lint lists keywords outside of the restricted subset of the specification (oneOf, anyOf, allOf,
// not, if/then/else, patternProperties and complex references), and keywords without effect in the
// draft of the document. A finding is advice and refuses nothing: the worker enforces all keywords,
// and [Down] reports how it changes them for a provider. An error means that [jsonschema.Compile]
// refuses the document.
func Lint(doc json.RawMessage) ([]Finding, error) {
	root, err := jsonschema.Parse(doc)
	if err != nil {
		return nil, err
	}
	var list []Finding
	cycles := findCycles(root)
	_ = root.Walk(func(n *jsonschema.Node) error {
		for _, keyword := range n.Keywords() {
			if text := lintOf(n, keyword, cycles); text != "" {
				list = append(list, found(n.At, keyword, Linted, text))
			}
			if text := idleText(n, keyword); text != "" {
				list = append(list, found(n.At, keyword, Ignored, text))
			}
		}
		if n.IdleNullable {
			list = append(list, found(n.At, "nullable", Ignored, "nullable counts only beside type"))
		}
		return nil
	})
	return sortFindings(list), nil
}

func lintOf(n *jsonschema.Node, keyword string, cycles *cycles) string {
	switch keyword {
	case "oneOf", "anyOf", "allOf", "not", "if", "then", "else", "patternProperties":
		return "not every provider takes it"
	case "$ref":
		switch {
		case cycles.isRecursive(n):
			return "a recursive reference: few providers take it"
		case n.Ref.Ref != nil:
			return "a reference to a reference"
		case !n.Draft.RefAlone() && n.RuleBesideRef() != "":
			return "a reference with rules beside it"
		}
	}
	return ""
}

// idleText returns why a keyword has no effect at its place, or "".
func idleText(n *jsonschema.Node, keyword string) string {
	role := jsonschema.RoleOf(keyword)
	_, tuple := n.Object["items"].([]any)
	switch {
	case n.Ref != nil && n.Draft.RefAlone() && (role == jsonschema.Asserts || role == jsonschema.Applies):
		return n.Draft.String() + " ignores what stands beside $ref"
	case keyword == "additionalItems" && !tuple:
		return "additionalItems counts only beside a list of items"
	case (keyword == "then" || keyword == "else") && n.Object["if"] == nil:
		return keyword + " counts only beside if"
	case (keyword == "minContains" || keyword == "maxContains") && n.Object["contains"] == nil:
		return keyword + " counts only beside contains"
	}
	return ""
}
