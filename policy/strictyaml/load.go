package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// MaxDocument is the maximum size of a document, in bytes, unless Reader.Limit changes it.
const MaxDocument = 1 << 20

// Load returns the root of the only YAML document in doc, or nil after a fault.
func (r *Reader) Load(doc []byte) *yaml.Node {
	if len(doc) > r.limit {
		r.FailAt(1, 1, "", "the document is larger than %d bytes", r.limit)
		return nil
	}
	if !r.readable(doc) {
		return nil
	}
	r.lines = bytes.Split(doc, []byte("\n"))
	loader, err := yaml.NewLoader(bytes.NewReader(doc), yaml.WithV4Defaults())
	if err != nil {
		r.FailAt(1, 1, "", "%v", err)
		return nil
	}
	var first, second yaml.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0:
		r.FailAt(1, 1, "", "the document is empty")
		return nil
	case err != nil:
		r.failYAML(doc, err)
		return nil
	}
	switch err := loader.Load(&second); {
	case err == nil:
		r.FailAt(second.Line, second.Column, "", "a second document follows; the file must hold one document")
		return nil
	case !errors.Is(err, io.EOF):
		r.failYAML(doc, err)
		return nil
	}
	return first.Content[0]
}

// readable checks the characters of the document, because the YAML library gives no position for faults in
// characters, and guesses at other encodings. It also refuses a carriage return without a line feed: in YAML it
// ends a line, and so ends a comment, but many editors do not show it as the end of a line.
func (r *Reader) readable(doc []byte) bool {
	line, column := 1, 1
	for len(doc) > 0 {
		c, size := utf8.DecodeRune(doc)
		if c == utf8.RuneError && size == 1 {
			r.FailAt(line, column, "", "must be UTF-8")
			return false
		}
		if !printable(c) {
			r.FailAt(line, column, "", "holds the character %U, which is not allowed", c)
			return false
		}
		if c == '\r' && !bytes.HasPrefix(doc, []byte("\r\n")) {
			r.FailAt(line, column, "", "holds a carriage return without a line feed")
			return false
		}
		doc = doc[size:]
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return true
}

// printable reports whether c is in c-printable of YAML 1.2. It refuses the line breaks that
// editors do not show as line breaks (U+0085, U+2028, U+2029), and characters that change the
// direction of text.
func printable(c rune) bool {
	switch {
	case c == 0x2028, c == 0x2029, unicode.Is(unicode.Bidi_Control, c):
		return false
	case c == '\t', c == '\n', c == '\r', c >= 0x20 && c <= 0x7e, c >= 0xa0 && c <= 0xfffd, c >= 0x10000:
		return true
	}
	return false
}

// failYAML reports an error of the YAML library, with its position.
func (r *Reader) failYAML(doc []byte, err error) {
	var one *yaml.LoadError
	if list := (*yaml.LoadErrors)(nil); errors.As(err, &list) && len(list.Errors) > 0 {
		one = list.Errors[0]
	} else if !errors.As(err, &one) {
		r.FailAt(1, 1, "", "%v", err)
		return
	}
	line, column := max(one.Mark.Line, 1), max(one.Mark.Column, 1)
	reason := one.Message
	if one.ContextMsg != "" {
		reason = fmt.Sprintf("%s: %s", one.ContextMsg, one.Message)
	}
	if at := characterAt(doc, line, column); at == '\t' {
		reason = "a tab cannot indent YAML; use spaces"
	}
	r.FailAt(line, column, "", "%s", reason)
}

func characterAt(doc []byte, line, column int) rune {
	lines := bytes.Split(doc, []byte("\n"))
	if line > len(lines) {
		return 0
	}
	text := []rune(string(lines[line-1]))
	if column > len(text) {
		return 0
	}
	return text[column-1]
}
