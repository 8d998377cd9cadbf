package openai

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// calls assembles tool_calls from their pieces. The format addresses a piece by
// its index alone; what other servers make of that is sorted out in place.
type calls struct {
	all  []*call
	last *call
	// pieces counts what was taken.
	pieces int
	// looked is how many bytes begins has looked at; see maxLooked.
	looked int
}

// maxLooked bounds what begins looks at in all, for it may look at the same
// arguments with every piece. Behind it all pieces of an index are one call,
// whose arguments then are not JSON if they were two.
const maxLooked = 4 * wire.MaxResponse

type call struct {
	place  int // the index that pieces find it by
	order  int // the index, or where there was none the number of calls before it
	id     []byte
	name   []byte
	args   []byte      // of strings, with their escapes
	object frame.Value // arguments that are an object, as some servers send them
	broken bool        // no function call, or nobody knows what belongs to it
	closed bool        // found complete
	custom frame.Value // a call of a custom tool, to be repeated as it is
	extra  []byte      // further members, ,"name":value…, to be repeated

	repeated []byte // how the next request writes it
}

// piece is one element of tool_calls.
type piece struct {
	index          int
	indexed        bool
	id, name, args frame.Value
	custom         frame.Value
	extra          []byte
}

// readPiece reads an element of tool_calls, whole or a delta of one. An error
// means that it is not of the format at all.
func readPiece(v frame.Value) (piece, error) {
	var p piece
	var got [4]frame.Value
	if err := v.Pick(got[:], "index", "id", "type", "function"); err != nil {
		return p, err
	}
	// The client of OpenAI knows servers that send -1 for want of an index.
	p.index, p.indexed = got[0].Int()
	p.indexed = p.indexed && p.index >= 0
	p.id = got[1]
	frameOf, argsOf := got[3], "arguments"
	// Custom tools take free text and are never offered: one is no call to run.
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

// add takes one piece of several in the same delta, at position of them.
func (cs *calls) add(p piece, position, of int) error {
	own := p.indexed
	if !own && of > 1 {
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
		if own {
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

// find looks for the call that a piece belongs to; nil where there is none yet.
// Without any address it is the last one, and lost.
func (cs *calls) find(p piece) (c *call, lost bool) {
	id, name := p.id.Escaped(), p.name.Escaped()
	for _, c := range slices.Backward(cs.all) { // the youngest of an index that was used twice
		if p.indexed && c.place == p.index || !p.indexed && len(id) > 0 && bytes.Equal(c.id, id) {
			return c, false
		}
	}
	if p.indexed || len(id) > 0 && len(name) > 0 {
		return nil, false
	}
	return cs.last, len(name) == 0
}

// doubt breaks the call that a lost piece went to, and those that it could have
// been for: all that are not complete.
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

// begins reports whether a piece that is addressed to c begins another call.
// Some servers give all calls one index; others give one call a new id, and even
// its name again, with every piece. It is another call where the name is another,
// or where c is complete, and there is a new id or no address at all.
func (cs *calls) begins(c *call, p piece) bool {
	id, name := p.id.Escaped(), p.name.Escaped()
	renamed := len(id) > 0 && len(c.id) > 0 && !bytes.Equal(c.id, id)
	if len(name) == 0 || !renamed && p.indexed {
		return false
	}
	if !renamed && len(id) > 0 { // found by its id
		return false
	}
	if len(c.name) > 0 && !bytes.Equal(c.name, name) {
		return true
	}
	// White space may follow the brace, as it is or as an escape.
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
	// A name that comes again as it was is a repeated start, not a second half.
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

// complete reports whether the arguments are an object from brace to brace. Their
// end is where the model ended them, so nothing of them can be missing.
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

// finish gives the calls in the order of their indexes. Where the response was
// cut, or a filter took parts of it away, none counts as closed; where the model
// was stopped for a reason that may strike inside a call, those that are complete
// do.
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

// element writes the call as one of tool_calls.
func (c *call) element(id, name string, args []byte) []byte {
	e := frame.Quote([]byte(`{"id":`), id)
	e = frame.Quote(append(e, `,"type":"function","function":{"name":`...), name)
	e = append(frame.Quote(append(e, `,"arguments":`...), args), '}')
	return append(append(e, c.extra...), '}')
}
