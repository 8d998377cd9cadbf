package toolspec

import (
	"errors"
	"fmt"
	"io"
)

// Stream says what a tool writes to Call.Output.
type Stream string

// The kinds of streams. The zero value is no stream.
const (
	// TextStream is text, in lines. Pawl masks it as Redaction.MaskStream says, and takes the
	// credentials that it knows out of it.
	TextStream Stream = "text"
	// BinaryStream is stored byte by byte as the tool wrote it. An attempt whose stream has a credential
	// that Pawl knows ends with redaction_failed.
	BinaryStream Stream = "binary"
)

// MediaType returns the media type of a stream of a tool that sets none.
func (s Stream) MediaType() string {
	if s == TextStream {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// OutputStream is where a tool writes what is too large for its value, without a bound on the size. It
// is safe for concurrent use; the bytes of one Write stay together.
type OutputStream interface {
	// Write stores bytes in parts. It blocks while the database is slow. After an error the attempt
	// fails, whatever the tool returns, so the tool should return soon. Write returns an error if the
	// attempt has ended, if the outputs of the tenant use up its quota, or if the tool declares no
	// Stream.
	io.Writer
	// SetMediaType says what the stream is, such as "image/png". It returns an error if mediaType is no
	// media type of at most 200 bytes. The last media type counts.
	SetMediaType(mediaType string) error
}

// Output returns the stream of this attempt. Pawl finishes it when the tool returns without an error,
// and Result.OutputRef names it then. A failed attempt leaves no stream, and neither does a tool that
// writes nothing.
func (c Call) Output() OutputStream {
	if c.output == nil {
		return noStream{}
	}
	return c.output
}

// WithOutput returns the call with the stream of an attempt.
func (c Call) WithOutput(s OutputStream) Call {
	c.output = s
	return c
}

var errNoStream = errors.New("the tool declares no stream: set Definition.Stream")

type noStream struct{}

func (noStream) Write([]byte) (int, error) { return 0, errNoStream }

func (noStream) SetMediaType(string) error { return errNoStream }

func (d Definition) checkStream() error {
	switch {
	case d.Stream == "" && len(d.Redaction.MaskStream) == 0:
		return nil
	case d.Stream == "":
		return fmt.Errorf("redaction.maskStream needs a stream")
	case d.Stream != TextStream && d.Stream != BinaryStream:
		return fmt.Errorf("stream %q is none of text, binary", d.Stream)
	case d.Stream == BinaryStream && len(d.Redaction.MaskStream) > 0:
		return fmt.Errorf("redaction.maskStream goes with a text stream only")
	case d.Fast:
		return fmt.Errorf("stream does not go with fast: a stream may take longer than a workflow task")
	case d.MaxResultBytes > MaxInline:
		return fmt.Errorf("maxResultBytes must be at most %d for a tool with a stream", MaxInline)
	case d.CacheFor > 0:
		return fmt.Errorf("cacheFor does not go with a stream: a kept value has no stream")
	}
	return nil
}
