package gemini

import (
	"bytes"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// part is one part of a content. Plain texts that follow each other are joined to one part. Its text is
// kept with its escapes.
type part struct {
	raw     frame.Value // the unchanged part; empty for a plain text
	text    []byte
	thought bool
	call    bool
	passed  bool // the provider has run a tool of its own; see wire.Response.Passed
	// pieces says that the arguments of a call come in pieces. open says that another piece follows.
	pieces, open bool
}

// readPart reads a part. A part that is not a plain text has v as its raw, without a copy.
func readPart(v frame.Value) (part, error) {
	p := part{}
	var got [3]frame.Value
	if err := v.Pick(got[:], "text", "thought", "functionCall"); err != nil {
		return p, err
	}
	p.text, p.thought = got[0].Escaped(), got[1].Kind() == 't'
	plain := got[0].Kind() == '"'
	for name := range v.Members() {
		switch string(name) {
		case "text", "thought":
		case "executableCode", "codeExecutionResult", "toolCall", "toolResponse":
			p.passed, plain = true, false
		default:
			plain = false
		}
	}
	if plain {
		return p, nil
	}
	p.raw = v
	if got[2].Null() {
		return p, nil
	}
	p.call = true
	var call [2]frame.Value
	if err := got[2].Pick(call[:], "partialArgs", "willContinue"); err != nil {
		return p, err
	}
	p.open = call[1].Kind() == 't'
	p.pieces = p.open || !call[0].Null()
	return p, nil
}

// isMore reports whether the part v continues the call of p, the part before it.
func (p part) isMore(v frame.Value) bool {
	var got, call [1]frame.Value
	return p.open && v.Pick(got[:], "functionCall") == nil && got[0].Kind() == '{' &&
		got[0].Pick(call[:], "name") == nil && call[0].Null()
}

// wire returns the call of a part.
func (p part) wire(index int) wire.Call {
	c := wire.Call{Index: index, Raw: []byte(p.raw)}
	var got [1]frame.Value
	var call [3]frame.Value
	err := p.raw.Pick(got[:], "functionCall")
	if err == nil {
		err = got[0].Pick(call[:], "id", "name", "args")
	}
	c.ID, c.Name, c.Args = call[0].Loose(), call[1].Loose(), bytes.Clone(call[2])
	switch {
	case err != nil || c.Name == "":
		c.Fault = toolspec.CodeInvalidJSON
	case p.pieces:
		c.Fault = toolspec.CodeIncomplete
	}
	return c
}

// appendTo appends the part to dst, as the next request repeats it.
func (p part) appendTo(dst []byte) []byte {
	if p.raw != nil {
		return append(dst, p.raw...)
	}
	dst = append(append(append(dst, `{"text":"`...), p.text...), '"')
	if p.thought {
		dst = append(dst, `,"thought":true`...)
	}
	return append(dst, '}')
}
