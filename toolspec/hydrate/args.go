package hydrate

import (
	"bytes"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// parsed are arguments that are one JSON object, and that may have a digest.
type parsed struct {
	// args is the RFC 8785 form, and text what was written.
	args json.RawMessage
	text []byte
	// tolerances names what was overlooked, in the order in which it was.
	tolerances []string
}

// Args parses arguments: an object, or a string that holds the JSON of one.
// Absent arguments are {}. Numbers that float64 cannot hold exactly are
// refused, so that no two arguments share a digest.
func Args(raw json.RawMessage) (json.RawMessage, *Fault) {
	p, f := parse(raw)
	return p.args, f
}

// parse parses arguments and says what it overlooked. It does not bound their
// size: its caller does, before.
func parse(raw json.RawMessage) (parsed, *Fault) {
	raw = given(raw)
	var p parsed
	text, wrapped := unwrapped(raw)
	if wrapped {
		p.tolerances = []string{ToleratedString}
	}
	t, f := read(text)
	if f != nil && f.Problem.Kind == string(jsonschema.KindInvalidJSON) && wrapped {
		text, t, f = readTolerant(text, f, &p)
	}
	if f != nil {
		return parsed{tolerances: p.tolerances}, f
	}
	defer t.Release()
	if t.Items[0].Kind != '{' {
		return parsed{tolerances: p.tolerances}, fault("", string(jsonschema.KindTypeMismatch), "the arguments must be a JSON object")
	}
	p.args, p.text = t.AppendCanonical(make([]byte, 0, len(text))), text
	return p, nil
}

// readTolerant reads a text that is not JSON once more: first without white space that JSON does
// not allow, then with single quotes as double quotes. It returns the text that it could read, with
// its tape or with a fault other than invalid JSON, and adds to p what it tolerated. If neither
// helps, it returns text and the fault strict.
//
// The text is the content of a string: arguments that are not in a string are part of an
// invocation, which is valid JSON.
func readTolerant(text []byte, strict *Fault, p *parsed) ([]byte, *strictjson.Tape, *Fault) {
	trimmed := trim(text)
	var used []string
	if len(bytes.Trim(text, " \t\r\n")) != len(trimmed) {
		used = append(used, ToleratedSpace)
		if t, f := read(trimmed); f == nil || f.Problem.Kind != string(jsonschema.KindInvalidJSON) {
			p.tolerances = append(p.tolerances, used...)
			return trimmed, t, f
		}
	}
	if bytes.IndexByte(trimmed, '\'') < 0 {
		return text, nil, strict
	}
	again, ok := requoted(trimmed)
	if !ok {
		return text, nil, strict
	}
	t, f := read(again)
	if f != nil && f.Problem.Kind == string(jsonschema.KindInvalidJSON) {
		return text, nil, strict
	}
	p.tolerances = append(append(p.tolerances, used...), ToleratedQuotes)
	return again, t, f
}

// given are the arguments as they count: absent and null mean {}, and the white
// space around JSON, which does not travel, is none of them.
func given(raw json.RawMessage) json.RawMessage {
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{}`)
	}
	return raw
}

func unparsed() *Fault {
	return &Fault{Code: toolspec.CodeInvalidJSON, Problem: toolspec.Problem{
		Kind: string(jsonschema.KindInvalidJSON), Message: toolspec.InfoOf(toolspec.CodeInvalidJSON).Message,
	}}
}

// unwrapped is the text that a JSON string holds, or raw itself where it is none.
// Nothing in it is replaced: a string that holds half a character is none.
func unwrapped(raw []byte) (text []byte, wrapped bool) {
	if raw[0] != '"' {
		return raw, false
	}
	t, fault := strictjson.Read(raw)
	defer t.Release()
	if fault != nil {
		return raw, false
	}
	return []byte(t.Text(0)), true
}

// OfText is what a provider gave for the arguments of a call, byte for byte, as
// the args of an invocation: JSON stands as it is, any other text as a JSON string
// that holds it, for hydration to judge. Nothing is repaired. Bytes that are no
// UTF-8 cannot stand in an invocation: ok is false.
func OfText(text []byte) (args json.RawMessage, ok bool) {
	if len(trim(text)) == 0 {
		return nil, true
	}
	if strictjson.Check(text) == nil {
		return bytes.Clone(text), true
	}
	quoted, err := strictjson.Quote(text)
	return quoted, err == nil
}
