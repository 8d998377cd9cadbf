package policy

import (
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/toolspec"
	"go.yaml.in/yaml/v4"
)

// when reads and compiles a condition. Its faults have the right position in the file, also
// within a text of several lines.
func (r *reader) when(n *yaml.Node, path string) (string, *whenCondition) {
	text, ok := r.expression(n, path)
	if !ok {
		return "", nil
	}
	from := r.origin(n, text)
	w, faults := newWhen(text)
	for _, f := range faults {
		line, column := from.position(f.line, f.column)
		r.failAt(line, column, path, "%s", f.reason)
	}
	if w == nil {
		return "", nil
	}
	w.at = from
	return text, w
}

// expression reads a text that may have several lines.
func (r *reader) expression(n *yaml.Node, path string) (string, bool) {
	v, ok := r.scalar(n, path, "!!str", "a condition, as text; quote it where YAML reads something else")
	if !ok {
		return "", false
	}
	v = strings.TrimRight(v, " \t\n")
	odd := func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) }
	switch runes := []rune(v); {
	case strings.TrimSpace(v) == "":
		r.fail(n, path, "is empty; leave it out for every call")
	case len(runes) > maxWhen:
		r.fail(n, path, "is longer than %d characters", maxWhen)
	case slices.ContainsFunc(runes, odd):
		r.fail(n, path, "may hold only printable characters")
	case toolspec.SecretValue(v):
		r.fail(n, path, "holds something of the shape of a credential, and everybody reads it")
	default:
		return v, true
	}
	return "", false
}
