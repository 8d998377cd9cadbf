package wire

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Codec translates to and from one published format. Its methods are pure and
// safe for concurrent use, keep nothing of what they were given and change
// nothing of it.
type Codec interface {
	// Format names it: openai, responses, anthropic, ollama, gemini.
	Format() string
	// Tools is the request's array of tools (`tools`); nothing for no tools, for
	// providers refuse an empty array.
	Tools(tools []Tool) (json.RawMessage, error)
	// Choice are the request's members that say whether to call tools; none where
	// the format says it by their absence. An error means that the format cannot
	// say it, and the model would do something else than what was asked for.
	Choice(choice Choice) ([]Member, error)
	// Decode reads a whole response. An error means that it is no response of this
	// format, or a [*ProviderError]; calls that cannot run are no error but have a
	// Fault.
	Decode(response []byte) (Response, error)
	// Stream begins one decoder for one streamed response.
	Stream() Stream
	// Answers are the messages (or items) that follow Response.Message in the next
	// request, in the order of the answers.
	Answers(answers []Answer) ([]json.RawMessage, error)
}

// Member is one member of a request's JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Stream is the only assembler of a streamed response
// (DECODER_ASSEMBLES_TOOLCALLS): one value for one stream, not safe for
// concurrent use. No call is to be had of it before the end (AG-03).
type Stream interface {
	// Write takes the next bytes of the body as they came, cut anywhere. It fails
	// only on bytes that no stream of the format has, and where the response
	// exceeds MaxResponse; then it has taken nothing more, and goes on failing. What
	// was assembled until then is lost to nobody: End gives it, with calls that were
	// cut marked.
	Write(p []byte) (n int, err error)
	// End assembles. It is called once; a stream without its own last event, or
	// whose Write failed, ends as Finish incomplete with every call as Fault
	// incomplete, those that were closed as well: nobody said that there are no more
	// (AG-03). An error that the provider sent inside the stream is returned beside
	// the Response, as a [*ProviderError].
	End() (Response, error)
}

// Bounds of what codecs take.
const (
	// MaxResponse bounds a response, whole or streamed, in bytes.
	MaxResponse = 16 << 20
	// MaxCalls bounds the calls of one response; more is an error.
	MaxCalls = 128
)

// ErrTooLarge says that a response exceeds MaxResponse or MaxCalls.
var ErrTooLarge = errors.New("the response is too large")

// ProviderError is an error that a provider sent in place of a response, or
// inside a stream.
type ProviderError struct {
	// Kind is the provider's own word, such as overloaded_error or
	// rate_limit_exceeded; empty where it gave none.
	Kind string
	// Message is the provider's text. It is foreign: for people and logs, not for
	// the model.
	Message string
	// Raw is the error object as it came.
	Raw json.RawMessage
}

func (e *ProviderError) Error() string {
	if e.Kind == "" {
		return "the provider answered with an error: " + e.Message
	}
	return fmt.Sprintf("the provider answered with the error %s: %s", e.Kind, e.Message)
}
