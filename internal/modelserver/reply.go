package modelserver

import (
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// NoID is the ID of a call that the provider sends without an id, as older servers do.
const NoID = "-"

// Call is a call of a tool.
type Call struct {
	// ID is the provider's id. The server makes one from the number of the answer if it is empty.
	ID   string
	Name string
	// Args are the arguments. In a Reply they can be text that is not JSON. The format ollama sends such a text as
	// a JSON string, and gemini sends MALFORMED_FUNCTION_CALL in place of the call, as the provider does.
	Args string
}

// Reply is what the server sends for one request.
type Reply struct {
	Text string
	// Reasoning precedes the text. The format openai has none.
	Reasoning string
	Calls     []Call
	// Usage is 10 tokens in and 5 out if it is zero. NoUsage sends none.
	Usage   wire.Usage
	NoUsage bool
	// Length says that the model stopped at the limit of its tokens.
	Length bool

	// Status is an HTTP status for an error. Text is the provider's text of it.
	Status int
	// InStream sends the error inside of a stream, behind half of the reply, with status 200.
	InStream bool
	// RetryAfter is the header of that name.
	RetryAfter string
	// Cut ends the connection behind this many bytes of the body.
	Cut int
	// Delay holds back the reply until it is closed, and Hang the second half of the body. Both end with the
	// request.
	Delay, Hang <-chan struct{}

	// Before are the replies to the first requests of the same conversation: two errors with status 429 before
	// a reply, for example.
	Before []Reply
}

// Script returns the replies to a conversation in their order. It picks a reply by the number of answers that the
// conversation has already, so that a repeated request gets the same reply. Behind its end it refuses the request.
func Script(replies ...Reply) func(Request) Reply {
	return func(r Request) Reply {
		if r.Answers >= len(replies) {
			return Reply{Status: 400, Text: fmt.Sprintf("the script has no reply %d", r.Answers+1)}
		}
		return replies[r.Answers]
	}
}

// usage returns what the reply reports.
func (r Reply) usage() wire.Usage {
	if r.Usage == (wire.Usage{}) {
		return wire.Usage{Input: 10, Output: 5}
	}
	return r.Usage
}

// halves returns the text in two pieces.
func halves(text string) []string {
	runes := []rune(text)
	if len(runes) < 2 {
		return []string{text}
	}
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}
