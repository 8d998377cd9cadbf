package wire

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// Call is a complete call that a model asked for (LlmToolCall of the specification).
type Call struct {
	// Index numbers the calls of a response from 0, in the provider's order.
	Index int
	// ID is the provider's id of the call. It is empty if the provider sent none.
	ID string
	// Name is the tool's name as the model wrote it.
	Name string
	// Args is the arguments as the provider sent them, byte for byte: JSON of any kind if the
	// format has an object, the text itself if it has a string. Empty means that there were none.
	// Nothing is parsed or repaired: see toolspec/hydrate.
	Args []byte
	// Fault is the reason why the call must not run: incomplete if the stream or the response ended
	// inside the call, invalid_json if the format's own JSON around it was invalid. It is empty for
	// a complete call.
	Fault toolspec.Code
	// Raw is the provider's own form of the call, for records only.
	Raw json.RawMessage
}

// Finish is the reason why a model stopped (AG-05).
type Finish string

// The reasons why a model stops.
const (
	FinishCalls   Finish = "tool_calls" // exactly if there are calls to answer and the response was not cut
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length"
	FinishRefused Finish = "content_filter"
	FinishOther   Finish = "other"      // Response.Native has the provider's reason
	FinishCut     Finish = "incomplete" // the response ended without a reason
)

// Response is the response of a model.
type Response struct {
	// Calls are the calls in order. A call with a Fault is included, because it needs an answer
	// too.
	Calls []Call
	// Message is the assistant's message as the next request repeats it, before the results
	// (WF-17). It is an array for formats with several items.
	Message json.RawMessage
	// Text is the model's own text, for people and logs.
	Text   string
	Finish Finish
	// Model is the model that has answered, as the provider names it, or "" if the provider does not say. It is
	// a text of the provider, of any length and with any characters.
	Model string
	// Native is the provider's own value for Finish.
	Native string
	// Passed are calls and results of tools that are not in the offer: tools that the provider ran
	// itself, and tools that only the caller's own code can answer. Message contains them too.
	Passed []json.RawMessage
	// Others is the number of further answers (choices, candidates) after the first. They are
	// ignored.
	Others int
	// Usage is what the response cost.
	Usage Usage
}

// Usage is what a response cost, in tokens, as the provider counted them. No token of the request is in two
// of Input, CacheRead and CacheWrite.
type Usage struct {
	// Reported says that the provider sent a usage. Without one, all counts are 0.
	Reported bool
	// Input are the tokens of the request that the provider read, and did not take from its cache.
	Input int64
	// CacheRead are the tokens of the request that the provider had in its cache.
	CacheRead int64
	// CacheWrite are the tokens of the request that the provider wrote into its cache, if it says so.
	CacheWrite int64
	// Output are the tokens of the response, with those of the reasoning.
	Output int64
	// Reasoning are the tokens of the reasoning, if the provider says so.
	Reasoning int64
}
