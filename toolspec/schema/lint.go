package schema

import "encoding/json"

// Lint lists what stands outside of the restricted subset of the specification
// (oneOf, anyOf, allOf, not, if/then/else, patternProperties and complex
// references), and what has no effect in the document's draft. A finding is
// advice and no refusal: the worker enforces all of it, and [Down] says what
// becomes of it for a provider. An error means that [Compile] refuses the
// document.
func Lint(doc json.RawMessage) ([]Finding, error) {
	root, _, err := analyse(doc)
	if err != nil {
		return nil, err
	}
	var list []Finding
	_ = root.walk(func(n *node) error {
		for _, keyword := range n.keywords() {
			if text := n.lint(keyword); text != "" {
				list = append(list, found(n.at, keyword, Linted, text))
			}
			if text := n.idle(keyword); text != "" {
				list = append(list, found(n.at, keyword, Ignored, text))
			}
		}
		return nil
	})
	return sortFindings(list), nil
}

func (n *node) lint(keyword string) string {
	switch keyword {
	case "oneOf", "anyOf", "allOf", "not", "if", "then", "else", "patternProperties":
		return "not every provider takes it"
	case "$ref":
		switch {
		case n.recursive():
			return "a recursive reference: few providers take it"
		case n.ref.ref != nil:
			return "a reference to a reference"
		case !n.draft.refAlone() && n.ruleBesideRef() != "":
			return "a reference with rules beside it"
		}
	}
	return ""
}

// idle says why a keyword does nothing where it stands, or "".
func (n *node) idle(keyword string) string {
	k := vocabulary[keyword]
	_, tuple := n.object["items"].([]any)
	switch {
	case n.ref != nil && n.draft.refAlone() && (k.role == asserts || k.role == applies):
		return n.draft.String() + " ignores what stands beside $ref"
	case keyword == "additionalItems" && !tuple:
		return "additionalItems counts only beside a list of items"
	case (keyword == "then" || keyword == "else") && n.object["if"] == nil:
		return keyword + " counts only beside if"
	case (keyword == "minContains" || keyword == "maxContains") && n.object["contains"] == nil:
		return keyword + " counts only beside contains"
	}
	return ""
}

// recursive reports whether what $ref leads to contains n again.
func (n *node) recursive() bool {
	seen := map[*node]bool{}
	var reaches func(*node) bool
	reaches = func(at *node) bool {
		if at == n {
			return true
		}
		if seen[at] {
			return false
		}
		seen[at] = true
		for _, s := range at.subs {
			if vocabulary[s.keyword].role == applies && reaches(s.to) {
				return true
			}
		}
		return at.ref != nil && reaches(at.ref)
	}
	return n.ref != nil && reaches(n.ref)
}
