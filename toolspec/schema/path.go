package schema

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNameBytes bounds a name of the instance inside a path or a message.
const maxNameBytes = 64

// path is the unescaped tokens from the root of a document to a place in it.
type path []string

// with returns a longer path and never shares its tail.
func (p path) with(token string) path {
	return append(p[:len(p):len(p)], token)
}

// pointer is the path as an RFC 6901 JSON pointer, each token cut.
func (p path) pointer() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(escapeToken(cut(token)))
	}
	return b.String()
}

// key identifies a place without cutting names.
func (p path) key() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(escapeToken(token))
	}
	return b.String()
}

// field is the path as people read it: no leading slash, control characters
// escaped, the root spelled out.
func (p path) field() string {
	if len(p) == 0 {
		return "(root)"
	}
	return printable(p.pointer()[1:])
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

// splitPointer splits a JSON pointer. "" and "/" both name the whole document,
// as in redaction allowlists. ok is false for anything without a leading slash.
func splitPointer(pointer string) (tokens path, ok bool) {
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

// cut shortens a name to maxNameBytes at a rune border.
func cut(name string) string {
	if len(name) <= maxNameBytes {
		return name
	}
	end := maxNameBytes
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

// printable escapes what could forge or break a line of a log or a prompt.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
