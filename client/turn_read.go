package client

import (
	"errors"
	"fmt"
	"io"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// read decodes a response. A body that fails to arrive is an error, and no call of it
// is heard of; one that ends too early, without an error, is a response that was cut.
func (t Turn) read(response io.Reader) (wire.Response, error) {
	// One byte more than a codec takes shows that there is too much.
	limited := io.LimitReader(response, wire.MaxResponse+1)
	if !t.Streamed {
		body, err := io.ReadAll(limited)
		if err != nil {
			return wire.Response{}, fmt.Errorf("client: the response did not arrive: %w", err)
		}
		return t.decoded(t.Codec.Decode(body))
	}
	stream := t.Codec.Stream()
	if _, err := io.Copy(writer{stream}, limited); err != nil {
		return wire.Response{}, fmt.Errorf("client: the response did not arrive, or is none of the format %s: %w", t.Codec.Format(), err)
	}
	return t.decoded(stream.End())
}

// writer hides everything but Write from io.Copy.
type writer struct{ io.Writer }

func (t Turn) decoded(r wire.Response, err error) (wire.Response, error) {
	switch {
	case err != nil:
		return wire.Response{}, fmt.Errorf("client: no response of the format %s: %w", t.Codec.Format(), err)
	case len(r.Message) == 0 && len(r.Calls) > 0:
		return wire.Response{}, errors.New("client: the response has calls and no message to stand before their answers")
	case len(r.Calls) > wire.MaxCalls:
		return wire.Response{}, fmt.Errorf("client: the response has more than %d calls", wire.MaxCalls)
	}
	return r, nil
}
