package jsonschema

import (
	"cmp"
	"slices"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Kind is the class of a [Problem]. The set is closed (ER-12).
type Kind string

// The kinds.
const (
	KindInvalidJSON     Kind = strictjson.InvalidJSON   // not one strict JSON value
	KindTooComplex      Kind = strictjson.TooComplex    // deeper or more work than a bound allows
	KindMissingRequired Kind = "missing_required"       // a required field is absent
	KindTypeMismatch    Kind = "type_mismatch"          // a field has another JSON type
	KindInvalidValue    Kind = "invalid_value"          // right type, forbidden value
	KindInexactNumber   Kind = strictjson.InexactNumber // no float64 holds the number as written
	KindUnknownProperty Kind = "unknown_property"       // a field the schema does not know
)

// maxProblems bounds the list that one validation returns.
const maxProblems = 32

// Problem is one problem of an instance. It contains no value of the instance, because values may
// be secret. Names from the instance are escaped and cut.
type Problem struct {
	Path    string `json:"path"` // JSON pointer into the instance, "" is the root
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
}

// Error returns the message.
func (p Problem) Error() string { return p.Message }

// rank returns the order in which kinds decide (VA-01): invalid JSON, missing fields, types,
// values, unknown fields.
func (k Kind) rank() int {
	switch k {
	case KindInvalidJSON, KindTooComplex:
		return 0
	case KindMissingRequired:
		return 1
	case KindTypeMismatch:
		return 2
	case KindInvalidValue, KindInexactNumber:
		return 3
	default:
		return 4
	}
}

// settle sorts the problems. The first one decides.
func settle(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Kind.rank(), b.Kind.rank()),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return problems
}
