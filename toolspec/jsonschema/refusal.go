package jsonschema

import (
	"fmt"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Refusal is the reason for which a schema document is refused, with its place.
type Refusal struct {
	Pointer string // JSON pointer into the schema document, "" is the root
	Reason  string // what to change, in one clause
}

// Error returns the place and the reason. The place comes first, because authors look for it first.
func (r *Refusal) Error() string {
	at := r.Pointer
	if at == "" {
		at = "(root)"
	}
	return fmt.Sprintf("schema refused at %s: %s", at, r.Reason)
}

// Refuse returns a [*Refusal] for a place of a document.
func Refuse(at strictjson.Path, format string, args ...any) error {
	return &Refusal{Pointer: strictjson.Printable(at.Short()), Reason: fmt.Sprintf(format, args...)}
}
