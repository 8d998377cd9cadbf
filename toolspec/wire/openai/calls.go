package openai

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// calls assembles tool_calls from their pieces. In the format of OpenAI, the index of a piece names its
// call. Other servers give no index, or one index to several calls: see find and begins.
type calls struct {
	all  []*call
	last *call
	// pieces counts the pieces that were added.
	pieces int
	// looked counts the bytes that begins has parsed; see maxLooked.
	looked int
}

// maxLooked bounds the bytes that begins parses for one response, because begins may parse the same
// arguments again for every piece. Beyond this bound, all pieces with one index and one name are one
// call. If they were two calls, the arguments are not valid JSON.
const maxLooked = 4 * wire.MaxResponse

type call struct {
	place  int // the index by which pieces find the call
	order  int // the index, or, without an index, the number of earlier calls
	id     []byte
	name   []byte
	args   []byte      // arguments that came as strings, with their escapes
	object frame.Value // arguments that are an object, as some servers send them
	broken bool        // not a function call, or it is not clear which pieces belong to it
	closed bool        // doubt found its arguments complete
	custom frame.Value // a call of a custom tool, which the next request repeats unchanged
	extra  []byte      // further members, ,"name":value…, which the next request repeats

	repeated []byte // the call as the next request has it
}

// piece is one element of tool_calls.
type piece struct {
	index          int
	indexed        bool
	id, name, args frame.Value
	custom         frame.Value
	extra          []byte
}

// readPiece reads an element of tool_calls: a whole call, or a delta of a call. It returns an error if
// the element does not have the format at all.
func readPiece(v frame.Value) (piece, error) {
	var p piece
	var got [4]frame.Value
	if err := v.Pick(got[:], "index", "id", "type", "function"); err != nil {
		return p, err
	}
	// Some servers send the index -1 if they have no index; the client of OpenAI handles this too.
	p.index, p.indexed = got[0].Int()
	p.indexed = p.indexed && p.index >= 0
	p.id = got[1]
	frameOf, argsOf := got[3], "arguments"
	// Custom tools take free text. Pawl never offers them, so such a call must not run.
	if string(got[2].Escaped()) == "custom" {
		var custom [1]frame.Value
		if err := v.Pick(custom[:], "custom"); err != nil {
			return p, err
		}
		p.custom, frameOf, argsOf = v, custom[0], "input"
	}
	if !frameOf.Null() {
		var function [2]frame.Value
		if err := frameOf.Pick(function[:], "name", argsOf); err != nil {
			return p, fmt.Errorf("function: %w", err)
		}
		p.name, p.args = function[0], function[1]
	}
	for name, member := range v.Members() {
		switch string(name) {
		case "index", "id", "type", "function":
		default:
			p.extra = append(append(frame.Quote(append(p.extra, ','), name), ':'), member...)
		}
	}
	return p, nil
}

// add adds a piece to its call, and begins the call if the piece is its first. of is the number of pieces in
// the same delta, and position the index of this piece among them.
func (cs *calls) add(p piece, position, of int) error {
	hasIndex := p.indexed
	if !hasIndex && of > 1 {
		// Pieces of one delta without an index count as pieces of different calls. The position takes the
		// place of the index.
		p.index, p.indexed = position, true
	}
	c, lost := cs.find(p)
	if c == nil || cs.begins(c, p) {
		if len(cs.all) == wire.MaxCalls {
			return wire.ErrTooLarge
		}
		c = &call{place: len(cs.all), order: len(cs.all)}
		if p.indexed {
			c.place = p.index
		}
		if hasIndex { // a position orders only the calls of one delta
			c.order = p.index
		}
		cs.all = append(cs.all, c)
	}
	if cs.pieces++; lost && len(cs.all) > 1 {
		cs.doubt(c)
	}
	cs.last = c
	c.take(p)
	return nil
}

// find returns the call to which a piece belongs, or nil if the piece begins a call. It searches by the
// index, or, without an index, by the id. A piece without an index whose id no call has begins a call if
// it has a name too. Every other such piece goes to the last call; lost says that it has no name, so
// that it may belong to another call.
func (cs *calls) find(p piece) (c *call, lost bool) {
	id, name := p.id.Escaped(), p.name.Escaped()
	for _, c := range slices.Backward(cs.all) { // if an index was used twice, the newer call
		if p.indexed && c.place == p.index || !p.indexed && len(id) > 0 && bytes.Equal(c.id, id) {
			return c, false
		}
	}
	if p.indexed || len(id) > 0 && len(name) > 0 {
		return nil, false
	}
	return cs.last, len(name) == 0
}

// doubt handles a lost piece that goes to c. The piece may belong to any call that is not complete. If
// there is another such call, doubt marks it and c as broken.
func (cs *calls) doubt(c *call) {
	for _, other := range cs.all {
		if other == c || other.closed || other.broken {
			continue
		}
		if other.closed = other.complete(); !other.closed {
			other.broken, c.broken = true, true
		}
	}
}

// begins reports whether a piece that find assigned to c begins another call. Some servers use one index
// for all calls. Other servers repeat the name of a call with every piece, with a new id each time. A
// piece begins another call if it has a name, and either a new id or neither id nor index, and if its
// name differs from the name of c or the arguments of c are complete.
func (cs *calls) begins(c *call, p piece) bool {
	id, name := p.id.Escaped(), p.name.Escaped()
	renamed := len(id) > 0 && len(c.id) > 0 && !bytes.Equal(c.id, id)
	if len(name) == 0 || !renamed && p.indexed {
		return false
	}
	if !renamed && len(id) > 0 { // find used the id
		return false
	}
	if len(c.name) > 0 && !bytes.Equal(c.name, name) {
		return true
	}
	// White space may follow the closing brace, as a space or as an escape such as \n.
	if c.object == nil && !bytes.HasSuffix(bytes.TrimRight(c.args, ` \nrt`), []byte{'}'}) {
		return false
	}
	cs.looked += len(c.args) + len(c.object)
	return cs.looked <= maxLooked && c.complete()
}

func (c *call) take(p piece) {
	if p.custom != nil && c.custom == nil {
		c.custom, c.broken = bytes.Clone(p.custom), true
	}
	if len(c.id) == 0 {
		c.id = append(c.id, p.id.Escaped()...)
	}
	// The same name again is a repeated start, not the second half of a name.
	if name := p.name.Escaped(); !bytes.Equal(name, c.name) {
		c.name = append(c.name, name...)
	}
	if len(p.extra) > 0 {
		c.extra = bytes.Clone(p.extra)
	}
	switch p.args.Kind() {
	case '"':
		c.args = append(c.args, p.args.Escaped()...)
	case 0, 'n':
	default:
		c.broken = c.broken || c.object != nil
		c.object = bytes.Clone(p.args)
	}
	c.broken = c.broken || c.object != nil && len(c.args) > 0
}

// complete reports whether the arguments are one complete JSON object. Nothing of such arguments can be
// missing.
func (c *call) complete() bool {
	text := []byte(c.object)
	if c.object == nil {
		var err error
		if text, err = frame.Unescape(c.args); err != nil {
			return false
		}
	}
	v, err := frame.Parse(text)
	return err == nil && v.Kind() == '{'
}

// finish returns the calls in the order of their indexes. If the response was cut, or if a filter
// removed parts of it, every call gets the Fault incomplete. If the model was stopped for a reason that
// may occur inside a call, such as a limit, only calls without complete arguments get this Fault.
func (cs *calls) finish(cut bool, reason string) []wire.Call {
	slices.SortStableFunc(cs.all, func(a, b *call) int { return a.order - b.order })
	cut = cut || reason == "content_filter"
	closed := reason == "tool_calls" || reason == "stop" || reason == "function_call"
	calls := make([]wire.Call, 0, len(cs.all))
	for i, c := range cs.all {
		w := c.wire(i)
		if cut || !closed && !c.complete() {
			w.Fault = toolspec.CodeIncomplete
		}
		calls = append(calls, w)
	}
	return calls
}

func (c *call) wire(i int) wire.Call {
	w := wire.Call{Index: i, ID: frame.Loose(c.id), Name: frame.Loose(c.name)}
	var err error
	if w.Args = []byte(c.object); c.object == nil {
		w.Args, err = frame.Unescape(c.args)
	}
	if err != nil || c.broken || w.Name == "" {
		w.Fault = toolspec.CodeInvalidJSON
	}
	if len(w.Args) == 0 {
		w.Args = nil
	}
	if c.custom != nil {
		w.Raw, c.repeated = []byte(c.custom), c.custom
		return w
	}
	w.Raw = c.element(w.ID, w.Name, w.Args)
	c.repeated = w.Raw
	if id, name := frame.CallID(w.ID, i), wire.Repeatable(w.Name); id != w.ID || name != w.Name {
		c.repeated = c.element(id, name, w.Args)
	}
	return w
}

// element returns the call as an element of tool_calls.
func (c *call) element(id, name string, args []byte) []byte {
	e := frame.Quote([]byte(`{"id":`), id)
	e = frame.Quote(append(e, `,"type":"function","function":{"name":`...), name)
	e = append(frame.Quote(append(e, `,"arguments":`...), args), '}')
	return append(append(e, c.extra...), '}')
}
