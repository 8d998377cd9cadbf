package hydrate

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// check returns the first fault of arguments, or nil.
func check(raw []byte) *Fault {
	t, f := read(raw)
	if f == nil {
		t.Release()
	}
	return f
}

// read reads arguments once and checks their JSON: syntax, repeated keys, depth, numbers that lose
// their value, characters that some parsers drop, and credentials. It returns the first fault in
// the order of the text. Without a fault, the caller must release the tape.
func read(raw []byte) (*strictjson.Tape, *Fault) {
	if bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")) {
		return nil, named(KindByteOrderMark, "")
	}
	t, fault := strictjson.Read(raw)
	f := checkItems(t, toolspec.MayHoldSecret(raw)) // items before the fault come first in the text
	if f == nil && fault != nil {
		f = syntaxFault(raw, fault)
	}
	if f != nil {
		t.Release()
		return nil, f
	}
	return t, nil
}

func checkItems(t *strictjson.Tape, secrets bool) *Fault {
	for i, item := range t.Items {
		switch item.Kind {
		case '0':
			if !strictjson.ExactNumber(string(t.Bytes(i))) {
				at := Clip(t.Path(i).Pointer())
				return fault(at, string(jsonschema.KindInexactNumber), "Number is not exact, send a string instead%s", of(at))
			}
		case '"', 'k':
			if item.Escaped && holdsNUL(t.Bytes(i)) {
				return named(KindNUL, Clip(t.Path(i).Pointer()))
			}
			if secrets && toolspec.SecretValue(t.Text(i)) {
				return fault(Clip(t.Path(i).Pointer()), KindSecretShaped, "the value has the shape of a credential; send a connectionId instead")
			}
		}
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
		i++ // skip the escaped character
	}
	return false
}

// syntaxFault returns the fault for the reason at which the reader stopped.
func syntaxFault(raw []byte, f *strictjson.Fault) *Fault {
	path := Clip(f.Path.Pointer())
	switch f.Reason {
	case strictjson.TooDeep:
		return fault("", f.Kind(), "%s", f.Error())
	case strictjson.RepeatedName:
		return named(KindRepeatedKey, path)
	case strictjson.TrailingText:
		return named(KindTrailingText, "")
	default:
	}
	rest := raw[f.Offset:]
	switch {
	case len(rest) > 0 && rest[0] == 0:
		f := named(KindNUL, path)
		f.Code = toolspec.CodeInvalidJSON
		return f
	case surrogate(rest):
		return named(KindLoneSurrogate, path)
	case notFinite(raw, f.Offset):
		return named(KindNotFinite, path)
	case len(rest) > 0 && invalidRune(rest):
		return named(KindInvalidUTF8, path)
	}
	return unparsed()
}

func invalidRune(rest []byte) bool {
	r, size := utf8.DecodeRune(rest)
	return r == utf8.RuneError && size == 1
}

// surrogate reports whether rest starts with an escape of half a surrogate pair.
func surrogate(rest []byte) bool {
	return len(rest) >= 4 && rest[0] == '\\' && rest[1] == 'u' && (rest[2]|0x20) == 'd' && rest[3] >= '8'
}

// notFinite reports whether NaN or Infinity stands at or around the offset.
func notFinite(raw []byte, offset int) bool {
	start := offset
	for start > 0 && offset-start < 9 && (raw[start-1] == '-' || raw[start-1] == '+' || raw[start-1]|0x20 >= 'a' && raw[start-1]|0x20 <= 'z') {
		start--
	}
	word := strings.ToLower(string(raw[start:min(start+10, len(raw))]))
	word = strings.TrimLeft(word, "+-")
	return strings.HasPrefix(word, "nan") || strings.HasPrefix(word, "infinity") || strings.HasPrefix(word, "inf") && !strings.HasPrefix(word, "info")
}

// named returns a fault of a kind that has an entry in sentences.
func named(kind, path string) *Fault {
	return &Fault{Code: codeOf(kind), Problem: toolspec.Problem{Path: path, Kind: kind, Message: sentences[kind]}}
}

// of returns the end of a sentence about the field at a path.
func of(path string) string {
	if path == "" {
		return ""
	}
	return ": " + strings.TrimPrefix(path, "/")
}
