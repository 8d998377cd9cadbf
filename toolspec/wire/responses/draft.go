package responses

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// ending says how a response ended.
type ending struct {
	status string // completed, incomplete, failed …
	detail string // incomplete_details.reason
	cut    bool
}

// draft gathers the items of a response in their order.
type draft struct {
	ending
	response wire.Response
	message  []byte // the items so far, without brackets
	refusal  []byte
	text     []byte
}

// finish closes the response over its items.
func (d *draft) finish() wire.Response {
	r := d.response
	r.Text = frame.Loose(d.text)
	if len(d.text) == 0 {
		r.Text = frame.Loose(d.refusal)
	}
	if r.Native = d.status; d.detail != "" {
		r.Native = d.detail
	}
	switch {
	case d.cut:
		r.Finish = wire.FinishCut
	case len(r.Calls) > 0:
		r.Finish = wire.FinishCalls
	case d.detail == "max_output_tokens":
		r.Finish = wire.FinishLength
	case d.detail == "content_filter" || len(d.refusal) > 0:
		r.Finish = wire.FinishRefused
	case d.status == "completed":
		r.Finish = wire.FinishStop
	default:
		r.Finish = wire.FinishOther
	}
	r.Message = append(append([]byte{'['}, d.message...), ']')
	return r
}

var (
	errRole      = errors.New("output: a message of another role than assistant")
	errReference = errors.New("output: a reference to another item")
)

// take takes one item as the provider gave it. Whole says that the provider said
// so, of the item or of the response.
func (d *draft) take(item frame.Value, whole bool) error {
	var got [2]frame.Value
	if err := item.Pick(got[:], "type", "role"); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	switch kind := string(got[0].Escaped()); kind {
	case "item_reference":
		return errReference
	case "function_call":
		return d.call(item, whole)
	case "message", "": // of an item without a type, what can be read
		// Items are repeated: a message of another role would speak for the user or the
		// developer, and what has neither role nor type is read as a reference.
		if role := string(got[1].Escaped()); role != "assistant" && (kind == "" || !got[1].Null()) {
			return errRole
		}
		if err := d.say(item); err != nil {
			return err
		}
	case "reasoning", "compaction":
	default:
		d.response.Passed = append(d.response.Passed, json.RawMessage(bytes.Clone(item)))
	}
	d.repeat(item)
	return nil
}

// repeat keeps an item for the next request.
func (d *draft) repeat(item []byte) {
	if len(d.message) > 0 {
		d.message = append(d.message, ',')
	}
	d.message = append(d.message, item...)
}

func (d *draft) say(item frame.Value) error {
	var got [1]frame.Value
	if err := item.Pick(got[:], "content"); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	for part := range got[0].Elements() {
		var texts [2]frame.Value
		if err := part.Pick(texts[:], "text", "refusal"); err != nil {
			return fmt.Errorf("message: content: %w", err)
		}
		d.text = append(d.text, texts[0].Escaped()...)
		d.refusal = append(d.refusal, texts[1].Escaped()...)
	}
	return nil
}

// call takes a function_call. It is repeated as it came where a provider takes it
// so.
func (d *draft) call(item frame.Value, whole bool) error {
	if len(d.response.Calls) == wire.MaxCalls {
		return wire.ErrTooLarge
	}
	var got [5]frame.Value
	if err := item.Pick(got[:], "call_id", "name", "arguments", "status", "namespace"); err != nil {
		return fmt.Errorf("function_call: %w", err)
	}
	c := wire.Call{Index: len(d.response.Calls), Raw: json.RawMessage(bytes.Clone(item))}
	var named, identified bool
	c.ID, identified = got[0].Text()
	c.Name, named = got[1].Text()
	args, textual := got[2].Text()
	switch {
	case textual:
		c.Args = []byte(args)
	case got[2].Kind() == '"':
		c.Args = []byte(got[2].Loose())
	case !got[2].Null(): // an object, as other servers send it
		c.Args = bytes.Clone(got[2])
	}
	if len(c.Args) == 0 {
		c.Args = nil
	}
	namespace := got[4].Loose()
	switch status := string(got[3].Escaped()); {
	case d.cut || d.detail == "content_filter" || status == "incomplete":
		c.Fault = toolspec.CodeIncomplete
	case status == "in_progress" && !(whole && complete(c.Args)):
		// Some servers leave the status of an item as it began in a completed response.
		c.Fault = toolspec.CodeIncomplete
	case !whole && status != "completed" && !complete(c.Args):
		c.Fault = toolspec.CodeIncomplete
	case !named || c.Name == "" || got[2].Kind() == '"' && !textual:
		c.Fault = toolspec.CodeInvalidJSON
	case namespace != "" && namespace != c.Name:
		// The provider gives a function that it loaded by tool search its own name as
		// namespace. Another namespace has functions that were not offered.
		c.Fault = toolspec.CodeInvalidJSON
	}
	if identified && c.ID != "" && wire.SafeName(c.Name) && textual {
		d.repeat(item)
	} else {
		d.repeat(rebuilt(c, namespace))
	}
	d.response.Calls = append(d.response.Calls, c)
	return nil
}

// rebuilt returns a call in the form that a request may have. The provider refuses a
// request in which a call has lost its namespace.
func rebuilt(c wire.Call, namespace string) []byte {
	m := frame.Quote([]byte(`{"type":"function_call","call_id":`), frame.CallID(c.ID, c.Index))
	m = frame.Quote(append(m, `,"name":`...), wire.Repeatable(c.Name))
	if namespace != "" {
		m = frame.Quote(append(m, `,"namespace":`...), wire.Repeatable(namespace))
	}
	return append(frame.Quote(append(m, `,"arguments":`...), c.Args), '}')
}

// complete reports whether arguments are an object from brace to brace.
func complete(args []byte) bool {
	v, err := frame.Parse(args)
	return err == nil && v.Kind() == '{'
}
