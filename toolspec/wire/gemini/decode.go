package gemini

import (
	"bytes"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Decode reads a GenerateContentResponse. It returns the first candidate. Response.Others is the number
// of the other candidates.
func (Codec) Decode(response []byte) (wire.Response, error) {
	if len(response) > wire.MaxResponse {
		return wire.Response{}, fmt.Errorf("gemini: %w", wire.ErrTooLarge)
	}
	var d draft
	if err := d.take(response); err != nil {
		return wire.Response{}, fmt.Errorf("gemini: %w", err)
	}
	if d.sent != nil {
		return wire.Response{}, d.sent
	}
	if !d.begun {
		return wire.Response{}, errNoCandidate
	}
	return d.response(false), nil
}

// providerError reads {"code","message","status"}.
func providerError(v frame.Value) *wire.ProviderError {
	e := &wire.ProviderError{Raw: bytes.Clone(v)}
	var got [2]frame.Value
	if v.Pick(got[:], "status", "message") == nil {
		e.Kind, e.Message = got[0].Loose(), got[1].Loose()
	}
	return e
}

// word is the text of a string, and empty for anything else.
