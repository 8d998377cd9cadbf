package toolspec

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// String returns the result as JSON without its value, and the size of the value. Format and LogValue
// do the same, so that no log line shows an output by accident. Read Value for the output.
func (r Result) String() string {
	size := len(r.Value)
	r.Value = nil
	return describe(r, "value", size)
}

// Format writes String, for every verb.
func (r Result) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, r.String()) }

// LogValue returns String.
func (r Result) LogValue() slog.Value { return slog.StringValue(r.String()) }

// String returns the invocation as JSON without its arguments, its provider data and its proof, and the
// size of the arguments. Format and LogValue do the same.
func (inv Invocation) String() string {
	size := len(inv.Args)
	inv.Args, inv.Provider, inv.SubmitterProof = nil, nil, ""
	return describe(inv, "args", size)
}

// Format writes String, for every verb.
func (inv Invocation) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, inv.String()) }

// LogValue returns String.
func (inv Invocation) LogValue() slog.Value { return slog.StringValue(inv.String()) }

// describe returns v as JSON, and the size of what v leaves out.
func describe(v any, left string, size int) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v) // for example a number in Details that JSON does not have
	}
	return fmt.Sprintf("%s and %d bytes of %s", text, size, left)
}
