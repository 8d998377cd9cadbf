package anthropic

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Decode reads a message.
func (Codec) Decode(response []byte) (wire.Response, error) {
	if len(response) > wire.MaxResponse {
		return wire.Response{}, fmt.Errorf("anthropic: %w", wire.ErrTooLarge)
	}
	v, err := frame.Parse(bytes.Clone(response))
	if err != nil {
		return wire.Response{}, fmt.Errorf("anthropic: the response is %w", err)
	}
	var top [5]frame.Value
	if err := v.Pick(top[:], "type", "content", "stop_reason", "error", "usage"); err != nil {
		return wire.Response{}, fmt.Errorf("anthropic: the response: %w", err)
	}
	if !top[3].Null() {
		return wire.Response{}, providerError(top[3])
	}
	if top[0].Loose() != "message" || top[1].Kind() != '[' {
		return wire.Response{}, errors.New("anthropic: the response is no message with content")
	}
	d := draft{reason: top[2].Loose(), model: v.TextOf("model")}
	d.count(top[4])
	for content := range top[1].Elements() {
		b, err := begin(content)
		if err != nil {
			return wire.Response{}, fmt.Errorf("anthropic: content: %w", err)
		}
		b.closed = true
		if err := d.add(b); err != nil {
			return wire.Response{}, fmt.Errorf("anthropic: %w", err)
		}
	}
	return d.response(d.reason == ""), nil
}

// providerError reads {"type","message"}.
func providerError(v frame.Value) *wire.ProviderError {
	e := &wire.ProviderError{Raw: bytes.Clone(v)}
	var got [2]frame.Value
	if v.Pick(got[:], "type", "message") == nil {
		e.Kind, e.Message = got[0].Loose(), got[1].Loose()
	}
	return e
}

// kind returns the text of a type. It copies the text only if the text has an escape.
func kind(v frame.Value) []byte {
	if e := v.Escaped(); bytes.IndexByte(e, '\\') < 0 {
		return e
	}
	return []byte(v.Loose())
}

// word is the text of a string, and empty for anything else.
