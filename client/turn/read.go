package turn

import (
	"errors"
	"fmt"
	"io"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// read decodes a response. A body that cannot be read is an error. A body that ends too early, without an error, is a response that was
// cut off. It calls arrived with each part of a streamed text. If read returns an error, the response has only the usage that the
// provider has reported.
func (t Turn) read(response io.Reader, arrived func(text string)) (wire.Response, error) {
	// The codec refuses a response that has one byte too many.
	limited := io.LimitReader(response, wire.MaxResponse+1)
	if !t.Streamed {
		body, err := io.ReadAll(limited)
		if err != nil {
			return wire.Response{}, fmt.Errorf("turn: the response did not arrive: %w", err)
		}
		return t.checkResponse(t.Codec.Decode(body))
	}
	stream := t.Codec.Stream()
	if _, err := io.Copy(writer{stream, arrived}, limited); err != nil {
		r, _ := stream.End()
		return wire.Response{Usage: r.Usage}, fmt.Errorf("turn: the response did not arrive, or is none of the format %s: %w", t.Codec.Format(), err)
	}
	return t.checkResponse(stream.End())
}

// writer writes a response into the decoder of a stream, and calls arrived with each part of the text that the
// decoder returns.
type writer struct {
	stream  wire.Stream
	arrived func(text string)
}

func (w writer) Write(p []byte) (int, error) {
	n, err := w.stream.Write(p)
	w.arrived(w.stream.Text())
	return n, err
}

// checkResponse returns an error for a response that cannot be answered.
func (t Turn) checkResponse(r wire.Response, err error) (wire.Response, error) {
	switch {
	case err != nil:
		err = fmt.Errorf("turn: no response of the format %s: %w", t.Codec.Format(), err)
	case len(r.Message) == 0 && len(r.Calls) > 0:
		err = errors.New("turn: the response has calls and no message to stand before their answers")
	case len(r.Calls) > wire.MaxCalls:
		err = fmt.Errorf("turn: the response has more than %d calls", wire.MaxCalls)
	}
	if err != nil {
		return wire.Response{Usage: r.Usage}, err
	}
	return r, nil
}
