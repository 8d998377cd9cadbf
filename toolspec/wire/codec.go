package wire

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Codec translates to and from one published format. Its methods are pure and safe for concurrent
// use. They neither keep nor change their arguments.
type Codec interface {
	// Format returns the name of the format: openai, responses, anthropic, ollama, gemini.
	Format() string
	// Tools returns the value of the request's member `tools`, and nil for no tools, because
	// providers refuse an empty array.
	Tools(tools []Tool) (json.RawMessage, error)
	// Choice returns the request's members for the tool choice. It returns none if the format
	// expresses the choice by their absence. It returns an error if the format cannot express the
	// choice.
	Choice(choice Choice) ([]Member, error)
	// Decode reads a whole response. The error is a [*ProviderError], or says that the data is not
	// a response of this format. A call that cannot run is not an error: it has a Fault.
	Decode(response []byte) (Response, error)
	// Stream returns a decoder for one streamed response.
	Stream() Stream
	// Answers returns the messages (or items) that follow Response.Message in the next request, in
	// the order of the answers.
	Answers(answers []Answer) ([]json.RawMessage, error)
}

// Member is one member of a request's JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Stream assembles one streamed response (DECODER_ASSEMBLES_TOOLCALLS). It is not safe for
// concurrent use. It returns no call before the end of the stream (AG-03).
type Stream interface {
	// Write takes the next bytes of the body, cut at any position. It returns an error for bytes
	// that no stream of the format has, and if the response exceeds MaxResponse; later calls return
	// the error too. End still returns what was assembled before, with incomplete calls marked.
	Write(p []byte) (n int, err error)
	// Text returns the part of the model's own text that has arrived since the last call of Text, for
	// people who watch. It may be empty. The parts are the beginning of Response.Text if the provider
	// repeats at the end what it streamed.
	Text() string
	// End returns the response. Call it once. If the stream has no last event, or if Write failed,
	// Finish is incomplete and every call has the Fault incomplete, also a call that was closed,
	// because more calls may be missing (AG-03). If the provider sent an error inside the stream,
	// End returns it as a [*ProviderError] beside the Response.
	End() (Response, error)
}

// Limits of responses.
const (
	// MaxResponse bounds a response, whole or streamed, in bytes.
	MaxResponse = 16 << 20
	// MaxCalls bounds the calls of one response.
	MaxCalls = 128
)

// ErrTooLarge is the error for a response that exceeds MaxResponse or MaxCalls.
var ErrTooLarge = errors.New("the response is too large")

// ProviderError is an error that a provider sent instead of a response, or inside a stream.
type ProviderError struct {
	// Kind is the provider's error type, such as overloaded_error or rate_limit_exceeded. It is
	// empty if the provider sent none.
	Kind string
	// Message is the provider's text. It is untrusted: show it to people and in logs, not to the
	// model.
	Message string
	// Raw is the error object as the provider sent it.
	Raw json.RawMessage
}

func (e *ProviderError) Error() string {
	if e.Kind == "" {
		return "the provider answered with an error: " + e.Message
	}
	return fmt.Sprintf("the provider answered with the error %s: %s", e.Kind, e.Message)
}
