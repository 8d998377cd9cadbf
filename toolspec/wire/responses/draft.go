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
	usage  wire.Usage
	model  string
}

// draft collects the items of a response in their order.
type draft struct {
	ending
	response wire.Response
	message  []byte // the items for the next request, without brackets
	refusal  []byte
	text     []byte
}

// finish returns the response with all items of the draft.
func (d *draft) finish() wire.Response {
	r := d.response
	r.Usage, r.Model = d.usage, d.model
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

// take adds one item of the response. completed says that the provider marked the response as
// completed, and, for an item that was assembled from deltas, that all its arguments came.
func (d *draft) take(item frame.Value, completed bool) error {
	var got [2]frame.Value
	if err := item.Pick(got[:], "type", "role"); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	switch kind := string(got[0].Escaped()); kind {
	case "item_reference":
		return errReference
	case "function_call":
		return d.addCall(item, completed)
	case "message", "": // an item without a type may be a message
		// The next request repeats the items. A message with another role would be text of the
		// user or the developer, and the provider reads an item without role and type as a
		// reference.
		if role := string(got[1].Escaped()); role != "assistant" && (kind == "" || !got[1].Null()) {
			return errRole
		}
		if err := d.addText(item); err != nil {
			return err
		}
	case "reasoning", "compaction":
	default:
		d.response.Passed = append(d.response.Passed, json.RawMessage(bytes.Clone(item)))
	}
	d.appendItem(item)
	return nil
}

// appendItem adds an item to the message that the next request repeats.
func (d *draft) appendItem(item []byte) {
	if len(d.message) > 0 {
		d.message = append(d.message, ',')
	}
	d.message = append(d.message, item...)
}

// addText adds the texts and the refusals of a message.
func (d *draft) addText(item frame.Value) error {
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

// addCall adds a function_call to the calls of the response and to the message of the next request.
// A call that must not run gets a Fault. The message has the item unchanged, or a rebuilt call if the
// provider would refuse the item in a request: without an id, with a name that cannot be offered, or
// with arguments that are not a valid string. completed is the parameter of take.
func (d *draft) addCall(item frame.Value, completed bool) error {
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
	args, argsAreText := got[2].Text()
	switch {
	case argsAreText:
		c.Args = []byte(args)
	case got[2].Kind() == '"': // invalid Unicode, see the Fault below
		c.Args = []byte(got[2].Loose())
	case !got[2].Null(): // an object, as some other servers send it
		c.Args = bytes.Clone(got[2])
	}
	if len(c.Args) == 0 {
		c.Args = nil
	}
	namespace := got[4].Loose()
	switch status := string(got[3].Escaped()); {
	case d.cut || d.detail == "content_filter" || status == "incomplete":
		// The response or the call is not complete.
		c.Fault = toolspec.CodeIncomplete
	case status == "in_progress" && !(completed && isObject(c.Args)):
		// In a completed response, some servers leave the status of an item at in_progress. There
		// the call is complete if its arguments are an object.
		c.Fault = toolspec.CodeIncomplete
	case !completed && status != "completed" && !isObject(c.Args):
		// The provider does not say that the call is complete, and the arguments are no object.
		c.Fault = toolspec.CodeIncomplete
	case !named || c.Name == "" || got[2].Kind() == '"' && !argsAreText:
		c.Fault = toolspec.CodeInvalidJSON
	case namespace != "" && namespace != c.Name:
		// A function that the provider loaded by tool search has its own name as namespace. A
		// function in another namespace was not offered.
		c.Fault = toolspec.CodeInvalidJSON
	}
	if identified && c.ID != "" && wire.SafeName(c.Name) && argsAreText {
		d.appendItem(item)
	} else {
		d.appendItem(rebuildCall(c, namespace))
	}
	d.response.Calls = append(d.response.Calls, c)
	return nil
}

// rebuildCall returns a call in a form that a request may have. It keeps the namespace, because the
// provider refuses a request in which a call has lost its namespace.
func rebuildCall(c wire.Call, namespace string) []byte {
	m := frame.Quote([]byte(`{"type":"function_call","call_id":`), frame.CallID(c.ID, c.Index))
	m = frame.Quote(append(m, `,"name":`...), wire.Repeatable(c.Name))
	if namespace != "" {
		m = frame.Quote(append(m, `,"namespace":`...), wire.Repeatable(namespace))
	}
	return append(frame.Quote(append(m, `,"arguments":`...), c.Args), '}')
}

// isObject reports whether the arguments are one complete JSON object.
func isObject(args []byte) bool {
	v, err := frame.Parse(args)
	return err == nil && v.Kind() == '{'
}
