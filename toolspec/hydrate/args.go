package hydrate

import (
	"bytes"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// parsed are arguments that are one JSON object with a digest.
type parsed struct {
	// args is the RFC 8785 form. text is the text that was parsed.
	args json.RawMessage
	text []byte
	// tolerances lists what the parser overlooked, in order.
	tolerances []string
}

// Args parses arguments: an object, or a string that holds the JSON of one.
// Absent arguments are {}. Numbers that float64 cannot hold exactly are
// refused, so that no two arguments share a digest.
func Args(raw json.RawMessage) (json.RawMessage, *Fault) {
	p, f := parse(raw)
	return p.args, f
}

// parse parses arguments and records what it overlooked. The caller must bound their size before.
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

// given returns the arguments without the white space around them. Absent arguments and null become
// {}.
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

// unwrapped returns the text in a JSON string, or raw itself if raw is not a valid JSON string. It
// replaces nothing: a string with a lone surrogate is not valid.
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

// OfText converts the arguments text of a provider to the args of an invocation. JSON stays byte
// for byte; any other text becomes a JSON string that holds it, and hydration decides about it.
// OfText repairs nothing. ok is false if the text is not UTF-8, because an invocation cannot hold
// it.
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
