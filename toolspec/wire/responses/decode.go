package responses

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Decode reads a response object.
func (Codec) Decode(response []byte) (wire.Response, error) {
	r, err := decode(response)
	var sent *wire.ProviderError
	if err != nil && !errors.As(err, &sent) {
		return wire.Response{}, fmt.Errorf("not a response of the Responses API: %w", err)
	}
	return r, err
}

func decode(response []byte) (wire.Response, error) {
	if len(response) > wire.MaxResponse {
		return wire.Response{}, wire.ErrTooLarge
	}
	v, err := frame.Parse(response)
	if err != nil {
		return wire.Response{}, err
	}
	h, err := readHead(v, "completed") // a response object without a status counts as completed
	if err != nil {
		return wire.Response{}, err
	}
	if !h.failure.Null() {
		return wire.Response{}, providerError(h.failure)
	}
	if h.output.Kind() != '[' {
		return wire.Response{}, errors.New("there is no output")
	}
	d := draft{ending: h.ending}
	for item := range h.output.Elements() {
		if err := d.take(item, d.status == "completed"); err != nil {
			return wire.Response{}, err
		}
	}
	return d.finish(), nil
}

// head has the members of a response object that are needed. failure is its error.
type head struct {
	ending
	output, failure frame.Value
}

// readHead reads the response object of a whole response or of the last event of a stream. status is
// the status of an object that has none. A response with a status other than completed and incomplete,
// such as in_progress, queued or cancelled, was cut.
func readHead(v frame.Value, status string) (h head, err error) {
	var got, details [5]frame.Value
	if err := v.Pick(got[:], "output", "error", "status", "incomplete_details", "usage"); err != nil {
		return h, err
	}
	h.output, h.failure, h.model = got[0], got[1], v.TextOf("model")
	if h.status = got[2].Loose(); h.status == "" {
		h.status = status
	}
	if !got[3].Null() {
		if err := got[3].Pick(details[:1], "reason"); err != nil {
			return h, fmt.Errorf("incomplete_details: %w", err)
		}
		h.detail = details[0].Loose()
	}
	if u := got[4]; u.Kind() == '{' {
		read := u.Count("input_tokens_details", "cached_tokens")
		h.usage = wire.Usage{
			Reported: true, Input: max(u.Count("input_tokens")-read, 0), CacheRead: read,
			Output: u.Count("output_tokens"), Reasoning: u.Count("output_tokens_details", "reasoning_tokens"),
		}
	}
	h.cut = h.status != "completed" && h.status != "incomplete"
	return h, nil
}

// providerError reads an error object. It is the error of a response, or an error event.
func providerError(v frame.Value) *wire.ProviderError {
	e := &wire.ProviderError{Raw: bytes.Clone(v), Message: v.Loose()}
	var got [3]frame.Value
	if v.Pick(got[:], "message", "code", "type") != nil {
		return e
	}
	e.Message, e.Kind = got[0].Loose(), got[1].Loose()
	if e.Kind == "" {
		e.Kind = got[2].Loose()
	}
	return e
}
