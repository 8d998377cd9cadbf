package httptool

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a part of a segment: a literal, or the argument of a parameter.
type piece struct {
	literal string
	name    string
}

// template is a path in its segments.
type template [][]piece

// literals are the characters of a segment (pchar of RFC 3986), percent signs apart.
var literals = regexp.MustCompile(`^[A-Za-z0-9\-._~!$&'()*+,;=:@]*$`)

// readTemplate reads the path of a document. It refuses empty segments, and segments that a server
// can read as . or ..
func readTemplate(path string) (template, error) {
	switch {
	case !strings.HasPrefix(path, "/"):
		return nil, errors.New("must begin with /")
	case len(path) > 2048:
		return nil, errors.New("is longer than 2048 bytes")
	}
	var t template
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		if segment == "" && i < len(segments)-1 {
			return nil, errors.New("has an empty segment: //")
		}
		pieces, err := readSegment(segment)
		if err != nil {
			return nil, err
		}
		t = append(t, pieces)
	}
	return t, nil
}

func readSegment(segment string) (pieces []piece, err error) {
	rest := segment
	for rest != "" {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			if !literals.MatchString(before) {
				return nil, fmt.Errorf("has a segment %q with characters that a path cannot have", segment)
			}
			pieces = append(pieces, piece{literal: before})
		}
		if !found {
			break
		}
		name, next, closed := strings.Cut(after, "}")
		if !closed || name == "" {
			return nil, fmt.Errorf("has a segment %q without the end of a {name}", segment)
		}
		pieces, rest = append(pieces, piece{name: name}), next
	}
	if isDots(segment) {
		return nil, errors.New("has . or .. as a segment")
	}
	return pieces, nil
}

// isDots reports whether a server can read a segment as . or ..; some servers cut off a ; and what
// follows before they read the segment.
func isDots(segment string) bool {
	name, _, _ := strings.Cut(segment, ";")
	return name == "." || name == ".."
}

// names returns the names in the path.
func (t template) names() (names []string) {
	for _, segment := range t {
		for _, p := range segment {
			if p.name != "" {
				names = append(names, p.name)
			}
		}
	}
	return names
}

// Errors of arguments in paths. They hold nothing of the argument.
var (
	errEmptySegment = errors.New("is empty, and a part of the path cannot be")
	errDots         = errors.New("would make . or .. of a part of the path")
	errSlash        = errors.New("holds a slash, a backslash or an encoded form of one, which a part of the path cannot")
	errControl      = errors.New("holds a control character, or is not UTF-8")
)

var encodedSeparator = regexp.MustCompile(`(?i)%(25)*(2f|5c|2e)`)

// checkPathText refuses a text that a server could read as more than one segment. A server that
// decodes twice sees the separators in %252F too.
func checkPathText(text string, encodedSlash bool) error {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errControl
	case strings.Contains(text, `\`), encodedSeparator.MatchString(text), !encodedSlash && strings.Contains(text, "/"):
		return errSlash
	}
	for part := range strings.SplitSeq(text, "/") {
		if encodedSlash && (part == "" || isDots(part)) {
			return errDots
		}
	}
	return nil
}

// fill returns the encoded path with the texts of write in place of the names.
func (t template) fill(write func(name string) (string, error)) (string, error) {
	var path strings.Builder
	for _, segment := range t {
		var b strings.Builder
		last := ""
		for _, p := range segment {
			if p.name == "" {
				b.WriteString(p.literal)
				continue
			}
			text, err := write(p.name)
			if err != nil {
				return "", err
			}
			last = p.name
			b.WriteString(text)
		}
		decoded, err := url.PathUnescape(b.String())
		if err != nil || isDots(decoded) {
			return "", fmt.Errorf("argument %q %w", last, errDots)
		}
		path.WriteString("/" + b.String())
	}
	return path.String(), nil
}
