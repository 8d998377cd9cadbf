package anthropic

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// block is one content block. The text that deltas add is kept with its escapes until the end: see
// [frame.Value.Escaped].
type block struct {
	kind string
	// start is the block as it began. Without deltas, it is the whole block.
	start frame.Value
	// body is the text that deltas added to the member text, thinking or input.
	body      []byte
	signature []byte
	citations []byte // ,value,value
	// content and encrypted replace members of the block. They come from a compaction_delta.
	content, encrypted frame.Value
	touched            bool // a delta came
	closed             bool // nothing more comes
	broken             bool // a delta came that could not be read
}

var (
	errNoBlock = errors.New("a content block without a type")
	errDelta   = errors.New("a delta without a block that takes it")
)

// begin returns a block that begins with v. The caller must not change v afterwards.
func begin(v frame.Value) (*block, error) {
	var got [1]frame.Value
	if err := v.Pick(got[:], "type"); err != nil {
		return nil, err
	}
	b := &block{kind: got[0].Loose(), start: v}
	if b.kind == "" {
		return nil, errNoBlock
	}
	return b, nil
}

// isCall reports whether the block is a call that needs an answer.
func (b *block) isCall() bool { return b.kind == "tool_use" }

// text returns the text with which a text block began, with its escapes. It returns nil for any other
// block.
func (b *block) text() []byte {
	if b.kind != "text" {
		return nil
	}
	return said(b.start)
}

// isPassed reports whether the block is a piece of a tool that the provider ran:
// server_tool_use, web_search_tool_result, mcp_tool_use and their like.
func (b *block) isPassed() bool {
	return !b.isCall() && (strings.HasSuffix(b.kind, "_tool_use") || strings.HasSuffix(b.kind, "_tool_result") ||
		b.kind == "container_upload")
}

// add adds a delta to the block. It ignores a delta of an unknown kind. In a call, such a delta makes
// the block broken, because it may have contained arguments.
func (b *block) add(delta frame.Value) error {
	var got [5]frame.Value
	if err := delta.Pick(got[:], "type", "partial_json", "text", "thinking", "signature"); err != nil {
		return err
	}
	switch string(kind(got[0])) {
	case "input_json_delta":
		return b.prolong(&b.body, got[1], b.isCall() || b.isPassed())
	case "text_delta":
		return b.prolong(&b.body, got[2], b.kind == "text")
	case "thinking_delta":
		return b.prolong(&b.body, got[3], b.kind == "thinking")
	case "signature_delta":
		return b.prolong(&b.signature, got[4], b.kind == "thinking")
	case "citations_delta":
		var citation [1]frame.Value
		err := delta.Pick(citation[:], "citation")
		if !citation[0].Null() {
			b.citations = append(append(b.citations, ','), citation[0]...)
			b.touched = true
		}
		return err
	case "compaction_delta":
		if b.kind != "compaction" {
			return errDelta
		}
		var given [2]frame.Value
		err := delta.Pick(given[:], "content", "encrypted_content")
		b.content, b.encrypted = bytes.Clone(given[0]), bytes.Clone(given[1])
		b.touched = true
		return err
	default:
		b.broken = b.broken || b.isCall()
		return nil
	}
}

// prolong appends a piece of text. mine says that the delta is of a kind that the block takes; otherwise
// prolong returns errDelta. A piece that is neither a string nor null
// makes the block broken.
func (b *block) prolong(to *[]byte, piece frame.Value, mine bool) error {
	switch {
	case !mine:
		return errDelta
	case piece.Kind() != '"':
		b.broken = b.broken || !piece.Null()
		return nil
	}
	*to = append(*to, piece.Escaped()...)
	b.touched = true
	return nil
}

// input returns the arguments of a call, byte for byte. ok is false if the JSON around the arguments is
// invalid, or if both the start of the block and its deltas have arguments.
func (b *block) input() (args []byte, ok bool) {
	var got [1]frame.Value
	if err := b.start.Pick(got[:], "input"); err != nil {
		return nil, false
	}
	if len(b.body) == 0 {
		return got[0], true
	}
	// The start of a streamed call has the placeholder {} as its input. With other arguments there, it
	// is not clear which arguments are meant.
	if !got[0].Null() && !emptyObject(got[0]) {
		return nil, false
	}
	args, err := frame.Unescape(b.body)
	return args, err == nil
}

// whole returns the block with the additions of its deltas, as the next request repeats it.
func (b *block) whole() frame.Value {
	if !b.touched {
		return b.start
	}
	v := b.start
	switch {
	case b.kind == "text", b.kind == "thinking":
		v = lengthen(v, b.kind, b.body)
	case len(b.body) > 0:
		// A request can only repeat an input that is an object.
		if args, ok := b.input(); ok {
			if p, err := frame.Parse(args); err == nil && p.Kind() == '{' {
				v = set(v, "input", p)
			}
		}
	}
	if len(b.signature) > 0 {
		v = lengthen(v, "signature", b.signature)
	}
	if len(b.citations) > 0 {
		v = set(v, "citations", list(v, b.citations))
	}
	if b.content != nil {
		v = set(v, "content", b.content)
	}
	if b.encrypted != nil {
		v = set(v, "encrypted_content", b.encrypted)
	}
	return v
}

// lengthen returns the object v with more text at the end of a string member.
func lengthen(v frame.Value, name string, escaped []byte) frame.Value {
	text := []byte{'"'}
	var got [1]frame.Value
	if v.Pick(got[:], name) == nil {
		text = append(text, got[0].Escaped()...)
	}
	return set(v, name, append(append(text, escaped...), '"'))
}

// list returns the array citations of v with further elements. Each element in more follows a comma.
func list(v frame.Value, more []byte) []byte {
	out := []byte{'['}
	var got [1]frame.Value
	if v.Pick(got[:], "citations") == nil {
		for element := range got[0].Elements() {
			out = append(append(out, element...), ',')
		}
	}
	return append(append(out, more[1:]...), ']')
}

// set returns the object v with a new value for one member. A member that v lacks is added at the end.
// The values of the other members stay the same, byte for byte.
func set(v frame.Value, name string, value []byte) frame.Value {
	out := make([]byte, 0, len(v)+len(name)+len(value)+8)
	out = append(out, '{')
	found := false
	for n, member := range v.Members() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(frame.Quote(out, n), ':')
		if string(n) == name && !found {
			found = true
			out = append(out, value...)
			continue
		}
		out = append(out, member...)
	}
	if !found {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(frame.Quote(out, name), ':'), value...)
	}
	return append(out, '}')
}

func emptyObject(v frame.Value) bool {
	return v.Kind() == '{' && len(bytes.TrimSpace(v[1:len(v)-1])) == 0
}
