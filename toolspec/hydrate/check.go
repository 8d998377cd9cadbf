package hydrate

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// checker reads one document once and finds everything that is asked of JSON
// before anybody looks at what it says: syntax, repeated keys, depth, numbers
// that lose their value, characters that some reader drops, and credentials.
type checker struct {
	dec jsontext.Decoder
	buf bytes.Buffer
}

// checkers keeps decoders: their tables are most of what a check costs.
var checkers = sync.Pool{New: func() any { return new(checker) }}

// check returns the first fault of arguments, or nil. It holds what it needs for
// the depth and the names of one object, beside the document.
func check(raw []byte) *Fault {
	if len(raw) >= 3 && raw[0] == 0xEF && raw[1] == 0xBB && raw[2] == 0xBF {
		return named(KindByteOrderMark, "")
	}
	c, _ := checkers.Get().(*checker)
	defer checkers.Put(c)
	c.buf = *bytes.NewBuffer(raw) // read in place, never written
	c.dec.Reset(&c.buf)
	f := c.run(raw, toolspec.MayHoldSecret(raw))
	c.buf = bytes.Buffer{} // the pool holds nobody's arguments
	c.dec.Reset(&c.buf)
	return f
}

func (c *checker) run(raw []byte, secrets bool) *Fault {
	dec := &c.dec
	for {
		var err error
		var value jsontext.Value
		kind := dec.PeekKind()
		switch kind {
		case '"', '0':
			value, err = dec.ReadValue()
		default:
			_, err = dec.ReadToken()
		}
		switch {
		case err != nil:
			return syntaxFault(raw, err)
		case dec.StackDepth() > schema.MaxDepth:
			return &Fault{Code: toolspec.CodeValidation, Problem: toolspec.Problem{Kind: string(schema.KindTooComplex), Message: "JSON is nested too deeply"}}
		case kind == '0' && !schema.ExactNumber(string(value)):
			at := Clip(string(dec.StackPointer()))
			return fault(at, string(schema.KindInexactNumber), "Number is not exact, send a string instead%s", of(at))
		case kind == '"':
			if f := c.text(value, secrets); f != nil {
				return f
			}
		}
		if dec.StackDepth() == 0 {
			break // the value has ended
		}
	}
	switch _, err := dec.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	default:
		return named(KindTrailingText, "")
	}
}

// text looks at a string as it is written, be it a value or a name.
func (c *checker) text(quoted []byte, secrets bool) *Fault {
	if i := bytes.IndexByte(quoted, '\\'); i >= 0 && holdsNUL(quoted[i:]) {
		return named(KindNUL, Clip(string(c.dec.StackPointer())))
	}
	if !secrets {
		return nil
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	if err == nil && toolspec.SecretValue(string(plain)) {
		return fault(Clip(string(c.dec.StackPointer())), KindSecretShaped, "the value has the shape of a credential; send a connectionId instead")
	}
	return nil
}

// holdsNUL looks for \u0000 in a valid JSON string.
func holdsNUL(quoted []byte) bool {
	for i := 0; i+1 < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(quoted[i+1:], []byte("u0000")) {
			return true
		}
		i++ // what is escaped begins no escape
	}
	return false
}

// syntaxFault names what the decoder stumbled over. The offset is of the byte
// that cannot stand where it does.
func syntaxFault(raw []byte, err error) *Fault {
	var at *jsontext.SyntacticError
	if !errors.As(err, &at) {
		return unparsed()
	}
	path := Clip(string(at.JSONPointer))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return named(KindRepeatedKey, path)
	}
	rest := raw[min(max(int(at.ByteOffset), 0), len(raw)):]
	switch {
	case len(rest) > 0 && rest[0] == 0:
		f := named(KindNUL, path)
		f.Code = toolspec.CodeInvalidJSON
		return f
	case surrogate(rest):
		return named(KindLoneSurrogate, path)
	case notFinite(raw, len(raw)-len(rest)):
		return named(KindNotFinite, path)
	case len(rest) > 0 && !utf8.FullRune(rest[:min(len(rest), utf8.UTFMax)]), invalidRune(rest):
		return named(KindInvalidUTF8, path)
	}
	return unparsed()
}

func invalidRune(rest []byte) bool {
	r, size := utf8.DecodeRune(rest)
	return r == utf8.RuneError && size == 1
}

// surrogate reports whether an escape of half a pair stands there.
func surrogate(rest []byte) bool {
	return len(rest) >= 4 && rest[0] == '\\' && rest[1] == 'u' && (rest[2]|0x20) == 'd' && rest[3] >= '8'
}

// notFinite reports whether one of the words for what is no number stands at or
// around the offset.
func notFinite(raw []byte, offset int) bool {
	start := offset
	for start > 0 && offset-start < 9 && (raw[start-1] == '-' || raw[start-1] == '+' || raw[start-1]|0x20 >= 'a' && raw[start-1]|0x20 <= 'z') {
		start--
	}
	word := strings.ToLower(string(raw[start:min(start+10, len(raw))]))
	word = strings.TrimLeft(word, "+-")
	return strings.HasPrefix(word, "nan") || strings.HasPrefix(word, "infinity") || strings.HasPrefix(word, "inf") && !strings.HasPrefix(word, "info")
}

// named is a fault of a kind that has a sentence.
func named(kind, path string) *Fault {
	return &Fault{Code: codeOf(kind), Problem: toolspec.Problem{Path: path, Kind: kind, Message: sentences[kind]}}
}

// of is the end of a sentence about the field at a path.
func of(path string) string {
	if path == "" {
		return ""
	}
	return ": " + strings.TrimPrefix(path, "/")
}
