package wire

import "encoding/json"

// Answer is the result of one call on its way to the model.
type Answer struct {
	// CallID and Name are those of the Call, as the provider gave them. For a call
	// without an id the codec leaves it out, or writes what the format demands.
	CallID, Name string
	// Content is the value, or for a failure what the model may know of it: JSON.
	// A codec of a format that takes text writes a JSON string as its text and
	// anything else as JSON.
	Content json.RawMessage
	IsError bool
	// Parts follow the content, such as images; a format that cannot carry one of
	// them says so in text instead, and drops nothing silently.
	Parts []Part
	// OutputRef names the stored value where Content is only a part of it (WF-16).
	OutputRef string
}

// Part is a piece of a result that is no JSON.
type Part struct {
	// MediaType is such as image/png; text/plain for text.
	MediaType string
	// Data is base64 (RFC 4648, padded), or the text itself for text/*.
	Data string
}
