package document

import (
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"go.yaml.in/yaml/v4"
)

// condition reads the text of a condition and its position.
func (r *reader) condition(n *yaml.Node, path string) (string, strictyaml.Position) {
	text, ok := r.expression(n, path)
	if !ok {
		return "", strictyaml.Position{}
	}
	return text, r.Position(n, text)
}

// expression reads a text that may have several lines.
func (r *reader) expression(n *yaml.Node, path string) (string, bool) {
	v, ok := r.Scalar(n, path, "!!str", "a condition, as text; quote it where YAML reads something else")
	if !ok {
		return "", false
	}
	v = strings.TrimRight(v, " \t\n")
	odd := func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) }
	switch runes := []rune(v); {
	case strings.TrimSpace(v) == "":
		r.Fail(n, path, "is empty; leave it out for every call")
	case len(runes) > MaxCondition:
		r.Fail(n, path, "is longer than %d characters", MaxCondition)
	case slices.ContainsFunc(runes, odd):
		r.Fail(n, path, "may hold only printable characters")
	case toolspec.SecretValue(v):
		r.Fail(n, path, "holds something of the shape of a credential, and everybody reads it")
	default:
		return v, true
	}
	return "", false
}
