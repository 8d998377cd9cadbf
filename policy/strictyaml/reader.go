package strictyaml

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pawl-run/pawl/policy/suggest"
	"go.yaml.in/yaml/v4"
)

// Reader walks a YAML tree and collects every fault with its position. It knows only YAML; its
// caller defines the contents of the document.
type Reader struct {
	file string
	// lines are the lines of the document, for positions within a text.
	lines  [][]byte
	faults Errors
	// limit bounds the document, in bytes.
	limit int
}

// NewReader returns a reader of one document. The file name is only used in errors.
func NewReader(file string) *Reader { return &Reader{file: file, limit: MaxDocument} }

// Limit bounds the document, in bytes, in place of MaxDocument.
func (r *Reader) Limit(limit int) { r.limit = limit }

// Field is a key that a mapping may have.
type Field struct {
	Name string
	// Read reads the value. path is the path of the key.
	Read func(n *yaml.Node, path string)
	// Required is the fault if the key is missing. If it is empty, the key is optional.
	Required string
}

// Faults returns the faults so far, in the order in which they were found.
func (r *Reader) Faults() Errors { return r.faults }

// FailAt adds a fault at a line and a column.
func (r *Reader) FailAt(line, column int, path, format string, args ...any) {
	r.faults = append(r.faults, &Error{
		File: r.file, Line: line, Column: column, Path: path, Reason: fmt.Sprintf(format, args...),
	})
}

// Fail adds a fault at a node.
func (r *Reader) Fail(n *yaml.Node, path, format string, args ...any) {
	r.FailAt(n.Line, n.Column, path, format, args...)
}

// Plain reports whether a node has no anchor, alias or tag, and adds a fault if it has one: they give a text
// another meaning than a person reads.
func (r *Reader) Plain(n *yaml.Node, path string) bool {
	switch {
	case n.Kind == yaml.AliasNode, n.Anchor != "":
		r.Fail(n, path, "anchors and aliases are not allowed; write it out")
	case n.Style&yaml.TaggedStyle != 0:
		r.Fail(n, path, "tags are not allowed")
	default:
		return true
	}
	return false
}

// Mapping reads the keys of a mapping, each by its field.
func (r *Reader) Mapping(n *yaml.Node, path string, fields ...Field) {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.Name)
	}
	seen := map[string]bool{}
	ok := r.Entries(n, path, Unlimited, func(key string, at, value *yaml.Node) {
		seen[key] = true
		here := Join(path, key)
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == key })
		switch {
		case i < 0 && suggest.Nearest(key, names) != "":
			r.Fail(at, here, "is not known here; did you mean %s?", suggest.Nearest(key, names))
		case i < 0:
			r.Fail(at, here, "is not known here; known are %s", strings.Join(names, ", "))
		default:
			fields[i].Read(value, here)
		}
	})
	for _, f := range fields {
		if ok && f.Required != "" && !seen[f.Name] {
			r.Fail(n, Join(path, f.Name), "%s", f.Required)
		}
	}
}

// Unlimited is the limit of a mapping that only the size of the document bounds.
const Unlimited = math.MaxInt

// Entries calls visit once for every key of a mapping of at most limit entries. at is the node of the key. It
// returns false if n is not a mapping, or has more entries.
func (r *Reader) Entries(n *yaml.Node, path string, limit int, visit func(key string, at, value *yaml.Node)) bool {
	if n.Kind == yaml.MappingNode && len(n.Content)/2 > limit {
		r.Fail(n, path, "has more than %d entries", limit)
		return false
	}
	if !r.Plain(n, path) {
		return false
	}
	if n.Kind != yaml.MappingNode {
		r.Fail(n, path, "must be a mapping")
		return false
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		at := n.Content[i]
		if !r.Plain(at, path) {
			continue
		}
		switch key := at.Value; {
		case at.ShortTag() == "!!merge":
			r.Fail(at, path, "merge keys are not allowed; write it out")
		case at.Kind != yaml.ScalarNode || at.ShortTag() != "!!str":
			r.Fail(at, path, "a key must be text; quote one that looks like something else")
		case seen[key]:
			r.Fail(at, Join(path, key), "is there twice")
		default:
			seen[key] = true
			visit(key, at, n.Content[i+1])
		}
	}
	return true
}

// List calls visit for every entry of a list of at most limit entries.
func (r *Reader) List(n *yaml.Node, path string, limit int, visit func(n *yaml.Node, path string)) {
	switch {
	case !r.Plain(n, path):
	case n.Kind != yaml.SequenceNode:
		r.Fail(n, path, "must be a list")
	case len(n.Content) > limit:
		r.Fail(n, path, "has more than %d entries", limit)
	default:
		for i, entry := range n.Content {
			visit(entry, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// NotEmpty refuses an empty list. The error ends with instead, which says what to write.
func (r *Reader) NotEmpty(n *yaml.Node, path, instead string) {
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		r.Fail(n, path, "is empty; %s", instead)
	}
}

// Scalar returns the text of a scalar. tag is the type that the scalar must have, such as !!str, and want says in
// the fault what to write.
func (r *Reader) Scalar(n *yaml.Node, path, tag, want string) (string, bool) {
	if !r.Plain(n, path) {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != tag {
		r.Fail(n, path, "must be %s", want)
		return "", false
	}
	return n.Value, true
}

// Flag reads true or false.
func (r *Reader) Flag(n *yaml.Node, path string) bool {
	v, _ := r.Scalar(n, path, "!!bool", "true or false")
	return strings.EqualFold(v, "true")
}

// Number reads a whole number from 1 to limit. It accepts only decimal digits without a leading
// zero, because 010 is eight to some readers and ten to others.
func (r *Reader) Number(n *yaml.Node, path string, limit int64) int64 {
	want := fmt.Sprintf("a whole number from 1 to %d", limit)
	v, ok := r.Scalar(n, path, "!!int", want)
	if !ok {
		return 0
	}
	number, err := strconv.ParseInt(v, 10, 64)
	if err != nil || number < 1 || number > limit || strconv.FormatInt(number, 10) != v {
		r.Fail(n, path, "must be %s", want)
		return 0
	}
	return number
}

// Text reads one line of printable characters. Its length must be from 1 to limit characters.
func (r *Reader) Text(n *yaml.Node, path string, limit int) (string, bool) {
	v, ok := r.Scalar(n, path, "!!str", "text; quote what looks like something else")
	if !ok {
		return "", false
	}
	switch runes := []rune(v); {
	case len(runes) == 0:
		r.Fail(n, path, "is empty")
	case len(runes) > limit:
		r.Fail(n, path, "is longer than %d characters", limit)
	case slices.ContainsFunc(runes, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.Fail(n, path, "may hold only printable characters, in one line")
	default:
		return v, true
	}
	return "", false
}

// OneOf reads one of the given values.
func OneOf[T ~string](r *Reader, n *yaml.Node, path string, values ...T) T {
	v, ok := r.Scalar(n, path, "!!str", alternatives(values))
	if ok && !slices.Contains(values, T(v)) {
		r.Fail(n, path, "must be %s", alternatives(values))
		return ""
	}
	return T(v)
}

// alternatives returns `yolo, auto or ask`.
func alternatives[T ~string](values []T) string {
	var out strings.Builder
	for i, v := range values {
		switch {
		case i > 0 && i == len(values)-1:
			out.WriteString(" or ")
		case i > 0:
			out.WriteString(", ")
		}
		out.WriteString(string(v))
	}
	return out.String()
}

// Join appends a key to a path. The author of the document chooses the key, so Join shortens it
// and escapes unprintable characters.
func Join(path, key string) string {
	const limit = 64
	if runes := []rune(key); len(runes) > limit {
		key = string(runes[:limit]) + "…"
	}
	if quoted := strconv.Quote(key); quoted != `"`+key+`"` {
		key = quoted
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
