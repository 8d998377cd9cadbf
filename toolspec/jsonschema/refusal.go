package jsonschema

import (
	"fmt"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Refusal says why a schema document is not accepted and where.
type Refusal struct {
	Pointer string // JSON pointer into the schema document, "" is the root
	Reason  string // what to change, in one clause
}

// Error names the place first: authors look for it first.
func (r *Refusal) Error() string {
	at := r.Pointer
	if at == "" {
		at = "(root)"
	}
	return fmt.Sprintf("schema refused at %s: %s", at, r.Reason)
}

// Refuse is a [*Refusal] of what stands at a place of a document.
func Refuse(at strictjson.Path, format string, args ...any) error {
	return &Refusal{Pointer: strictjson.Printable(at.Short()), Reason: fmt.Sprintf(format, args...)}
}
