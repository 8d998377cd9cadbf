package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// reader walks a YAML tree and collects every fault with its position. It knows only YAML. The
// files read_*.go define the contents of a policy.
type reader struct {
	file string
	// lines are the lines of the document, for positions within a text.
	lines  [][]byte
	faults Errors
	// named are the roles that the entry of the current tenant mentions.
	named []namedRole
	// quorums are the approvals of the tenant's rules and overrides that name only a quorum.
	quorums []bareQuorum
	// mentions are the patterns of tools so far.
	mentions []mention
	// recorded says that an earlier Parse has accepted the document.
	recorded bool
}

// field is a key that a mapping may have.
type field struct {
	name     string
	read     func(n *yaml.Node, path string)
	required string // the fault if the key is missing; empty means optional
}

func (r *reader) failAt(line, column int, path, format string, args ...any) {
	r.faults = append(r.faults, &Error{
		File: r.file, Line: line, Column: column, Path: path, Reason: fmt.Sprintf(format, args...),
	})
}

func (r *reader) fail(n *yaml.Node, path, format string, args ...any) {
	r.failAt(n.Line, n.Column, path, format, args...)
}

// plain refuses YAML features that give a text another meaning than a reader sees.
func (r *reader) plain(n *yaml.Node, path string) bool {
	switch {
	case n.Kind == yaml.AliasNode, n.Anchor != "":
		r.fail(n, path, "anchors and aliases are not allowed; write it out")
	case n.Style&yaml.TaggedStyle != 0:
		r.fail(n, path, "tags are not allowed")
	default:
		return true
	}
	return false
}

// mapping reads the keys of a mapping, each by its field.
func (r *reader) mapping(n *yaml.Node, path string, fields ...field) {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.name)
	}
	seen := map[string]bool{}
	ok := r.entries(n, path, func(key string, at, value *yaml.Node) {
		seen[key] = true
		here := join(path, key)
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		switch {
		case i < 0 && nearest(key, names) != "":
			r.fail(at, here, "is not known here; did you mean %s?", nearest(key, names))
		case i < 0:
			r.fail(at, here, "is not known here; known are %s", strings.Join(names, ", "))
		default:
			fields[i].read(value, here)
		}
	})
	for _, f := range fields {
		if ok && f.required != "" && !seen[f.name] {
			r.fail(n, join(path, f.name), "%s", f.required)
		}
	}
}

// entries calls each once for every key of a mapping. It returns false if n is not a mapping.
func (r *reader) entries(n *yaml.Node, path string, each func(key string, at, value *yaml.Node)) bool {
	if !r.plain(n, path) {
		return false
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, path, "must be a mapping")
		return false
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		at := n.Content[i]
		if !r.plain(at, path) {
			continue
		}
		switch key := at.Value; {
		case at.ShortTag() == "!!merge":
			r.fail(at, path, "merge keys are not allowed; write it out")
		case at.Kind != yaml.ScalarNode || at.ShortTag() != "!!str":
			r.fail(at, path, "a key must be text; quote one that looks like something else")
		case seen[key]:
			r.fail(at, join(path, key), "is there twice")
		default:
			seen[key] = true
			each(key, at, n.Content[i+1])
		}
	}
	return true
}

// list calls each for every entry of a list of at most limit entries.
func (r *reader) list(n *yaml.Node, path string, limit int, each func(n *yaml.Node, path string)) {
	switch {
	case !r.plain(n, path):
	case n.Kind != yaml.SequenceNode:
		r.fail(n, path, "must be a list")
	case len(n.Content) > limit:
		r.fail(n, path, "has more than %d entries", limit)
	default:
		for i, entry := range n.Content {
			each(entry, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// scalar returns the text of a scalar with the given resolved tag.
func (r *reader) scalar(n *yaml.Node, path, tag, want string) (string, bool) {
	if !r.plain(n, path) {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != tag {
		r.fail(n, path, "must be %s", want)
		return "", false
	}
	return n.Value, true
}

func (r *reader) flag(n *yaml.Node, path string) bool {
	v, _ := r.scalar(n, path, "!!bool", "true or false")
	return strings.EqualFold(v, "true")
}

// number reads a whole number from 1 to limit. It accepts only decimal digits without a leading
// zero, because 010 is eight to some readers and ten to others.
func (r *reader) number(n *yaml.Node, path string, limit int64) int64 {
	want := fmt.Sprintf("a whole number from 1 to %d", limit)
	v, ok := r.scalar(n, path, "!!int", want)
	if !ok {
		return 0
	}
	number, err := strconv.ParseInt(v, 10, 64)
	if err != nil || number < 1 || number > limit || strconv.FormatInt(number, 10) != v {
		r.fail(n, path, "must be %s", want)
		return 0
	}
	return number
}

// text reads one line of 1 to limit printable characters.
func (r *reader) text(n *yaml.Node, path string, limit int) (string, bool) {
	v, ok := r.scalar(n, path, "!!str", "text; quote what looks like something else")
	if !ok {
		return "", false
	}
	switch runes := []rune(v); {
	case len(runes) == 0:
		r.fail(n, path, "is empty")
	case len(runes) > limit:
		r.fail(n, path, "is longer than %d characters", limit)
	case slices.ContainsFunc(runes, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.fail(n, path, "may hold only printable characters, in one line")
	default:
		return v, true
	}
	return "", false
}

// oneOf reads one of the given values.
func oneOf[T ~string](r *reader, n *yaml.Node, path string, values ...T) T {
	v, ok := r.scalar(n, path, "!!str", alternatives(values))
	if ok && !slices.Contains(values, T(v)) {
		r.fail(n, path, "must be %s", alternatives(values))
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

// join appends a key to a path. The author of the document chooses the key, so join shortens it
// and escapes unprintable characters.
func join(path, key string) string {
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
