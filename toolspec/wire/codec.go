package wire

import "encoding/json"

// Codec translates to and from one published format. Its methods are pure and
// safe for concurrent use, keep nothing of what they were given and change
// nothing of it.
type Codec interface {
	// Format names it: openai, responses, anthropic, ollama, gemini.
	Format() string
	// Tools is the request's array of tools (`tools`).
	Tools(tools []Tool) (json.RawMessage, error)
	// Choice is the request's member that says whether to call tools, by its name
	// and value; an empty name where the format cannot say that, with an error
	// where the model would then do something else than what was asked for.
	Choice(choice Choice) (member string, value json.RawMessage, err error)
	// Decode reads a whole response. An error means that it is no response of this
	// format; calls that cannot run are no error but have a Fault.
	Decode(response []byte) (Response, error)
	// Stream begins one decoder for one streamed response.
	Stream() Stream
	// Answers are the messages (or items) that follow Response.Message in the next
	// request, in the order of the answers.
	Answers(answers []Answer) ([]json.RawMessage, error)
}

// Stream is the only assembler of a streamed response
// (DECODER_ASSEMBLES_TOOLCALLS): one value for one stream, not safe for
// concurrent use. No call is to be had of it before the end (AG-03).
type Stream interface {
	// Write takes the next bytes of the body as they came, cut anywhere. It fails
	// only on bytes that no stream of the format has, and where the response
	// exceeds MaxResponse; what was assembled until then is lost to nobody: End
	// gives it, with calls that were cut marked.
	Write(p []byte) (n int, err error)
	// End assembles. It is called once; a stream without its own last event ends
	// as Finish incomplete, and every call that was not closed as Fault incomplete.
	End() (Response, error)
}

// Bounds of what codecs take.
const (
	// MaxResponse bounds a response, whole or streamed, in bytes.
	MaxResponse = 16 << 20
	// MaxCalls bounds the calls of one response; more is an error.
	MaxCalls = 128
)
