package strictjson

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNameBytes bounds a name of the instance inside a path or a message.
const maxNameBytes = 64

// Path is the unescaped tokens from the root of a document to a place in it.
type Path []string

// With returns a longer path and never shares its tail.
func (p Path) With(token string) Path {
	return append(p[:len(p):len(p)], token)
}

// Short is the path as an RFC 6901 JSON pointer, each token cut.
func (p Path) Short() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(escapeToken(Cut(token)))
	}
	return b.String()
}

// Pointer identifies a place without cutting names.
func (p Path) Pointer() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(escapeToken(token))
	}
	return b.String()
}

// Field is the path as people read it: no leading slash, control characters
// escaped, the root spelled out.
func (p Path) Field() string {
	if len(p) == 0 {
		return "(root)"
	}
	return Printable(p.Short()[1:])
}

func escapeToken(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func unescapeToken(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// SplitPointer splits a JSON pointer. "" and "/" both name the whole document,
// as in redaction allowlists. ok is false for anything without a leading slash.
func SplitPointer(pointer string) (tokens Path, ok bool) {
	if pointer == "" || pointer == "/" {
		return nil, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		tokens = append(tokens, unescapeToken(part))
	}
	return tokens, true
}

// Cut shortens a name to maxNameBytes at a rune border.
func Cut(name string) string {
	if len(name) <= maxNameBytes {
		return name
	}
	end := maxNameBytes
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

// Printable escapes what could forge or break a line of a log or a prompt.
func Printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
