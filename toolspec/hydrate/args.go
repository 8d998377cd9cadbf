package hydrate

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/schema"
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
	f := check(text)
	if f != nil && f.Problem.Kind == string(schema.KindInvalidJSON) && wrapped {
		text, f = tolerant(text, f, &p)
	}
	if f != nil {
		return parsed{tolerances: p.tolerances}, f
	}
	canonical, f := canonical(text)
	if f != nil {
		return parsed{tolerances: p.tolerances}, f
	}
	p.args, p.text = canonical, text
	return p, nil
}

// tolerant reads once more a text that is no JSON as it stands. Only a string can
// hold one: what stands as JSON in an invocation is JSON.
func tolerant(text []byte, strict *Fault, p *parsed) ([]byte, *Fault) {
	trimmed := trim(text)
	var used []string
	if len(bytes.Trim(text, " \t\r\n")) != len(trimmed) {
		used = append(used, ToleratedSpace)
		if f := check(trimmed); f == nil || f.Problem.Kind != string(schema.KindInvalidJSON) {
			p.tolerances = append(p.tolerances, used...)
			return trimmed, f
		}
	}
	if bytes.IndexByte(trimmed, '\'') < 0 {
		return text, strict
	}
	again, ok := requoted(trimmed)
	if !ok {
		return text, strict
	}
	f := check(again)
	if f != nil && f.Problem.Kind == string(schema.KindInvalidJSON) {
		return text, strict
	}
	p.tolerances = append(append(p.tolerances, used...), ToleratedQuotes)
	return again, f
}

// canonical is the RFC 8785 form of a document that passed check: an object.
func canonical(text []byte) (json.RawMessage, *Fault) {
	value := jsontext.Value(bytes.Clone(text))
	if err := value.Canonicalize(); err != nil {
		return nil, unparsed()
	}
	if value[0] != '{' {
		return nil, fault("", string(schema.KindTypeMismatch), "the arguments must be a JSON object")
	}
	return json.RawMessage(value), nil
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
		Kind: string(schema.KindInvalidJSON), Message: toolspec.InfoOf(toolspec.CodeInvalidJSON).Message,
	}}
}

// unwrapped is the text that a JSON string holds, or raw itself where it is none.
// Nothing in it is replaced: a string that holds half a character is none.
func unwrapped(raw []byte) (text []byte, wrapped bool) {
	if raw[0] != '"' {
		return raw, false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return raw, false
	}
	return text, true
}

// OfText is what a provider gave for the arguments of a call, byte for byte, as
// the args of an invocation: JSON stands as it is, any other text as a JSON string
// that holds it, for hydration to judge. Nothing is repaired. Bytes that are no
// UTF-8 cannot stand in an invocation: ok is false.
func OfText(text []byte) (args json.RawMessage, ok bool) {
	if len(trim(text)) == 0 {
		return nil, true
	}
	if schema.CheckJSON(text) == nil {
		return bytes.Clone(text), true
	}
	quoted, err := jsontext.AppendQuote(nil, text)
	return quoted, err == nil
}
