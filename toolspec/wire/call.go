package wire

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// Call is one call that a model asked for, fully assembled (LlmToolCall of the
// specification).
type Call struct {
	// Index counts the calls of a response from 0, in the order in which the
	// provider gave them.
	Index int
	// ID is the provider's; empty where it gave none.
	ID string
	// Name is the tool's name as the model wrote it.
	Name string
	// Args is what stands for the arguments, byte for byte: JSON of any kind where
	// the format has an object, the text itself where it has a string. Empty means
	// that there were none. Nothing was parsed or repaired: see toolspec/hydrate.
	Args []byte
	// Fault is why the call must not run: incomplete where the stream or the
	// response ended inside it, invalid_json where the format's own frame around it
	// was broken, empty for a whole call.
	Fault toolspec.Code
	// Raw is the provider's own piece, for records only.
	Raw json.RawMessage
}

// Finish is why a model stopped, in the words of the specification (AG-05).
type Finish string

// The reasons to stop.
const (
	FinishCalls   Finish = "tool_calls" // exactly where there are calls to answer and the response was not cut
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length"
	FinishRefused Finish = "content_filter"
	FinishOther   Finish = "other"      // the provider's word stands in Response.Native
	FinishCut     Finish = "incomplete" // the response ended without a reason
)

// Response is what a model answered.
type Response struct {
	// Calls are in their order; a call with a fault is among them, for it needs an
	// answer too.
	Calls []Call
	// Message is the assistant's message as the next request repeats it, ahead of
	// the results (WF-17). For formats of several items it is an array of them.
	Message json.RawMessage
	// Text is the model's own text, for people and logs.
	Text   string
	Finish Finish
	// Native is the provider's own word for Finish.
	Native string
	// Passed are pieces of tools that are none of the offer: those that the provider
	// itself ran, and where a request had such, those that only the caller's own code
	// can answer. They are kept in Message.
	Passed []json.RawMessage
	// Others counts further answers beside the first (choices, candidates), which
	// were not looked at.
	Others int
}
