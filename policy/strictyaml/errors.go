package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one fault of a document.
type Error struct {
	File string
	// Line and Column count from 1. Column is in characters.
	Line, Column int
	// Path is the path of the faulty part: tenants.acme.rules[0].tool. It is empty for the whole
	// document.
	Path string
	// Reason says what is wrong and what is correct.
	Reason string
}

// Error returns `policy.yaml:12:7: tenants.acme.mode: must be yolo, auto or ask`.
func (e *Error) Error() string {
	where := fmt.Sprintf("%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Path != "" {
		where += e.Path + ": "
	}
	return where + e.Reason
}

// Errors are faults of a document. As an error it is sorted by position and never empty.
type Errors []*Error

// MaxErrors is the maximum number of faults of one document that are reported.
const MaxErrors = 50

// Error returns one line for each fault.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, fault := range e {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults, for errors.As.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, fault := range e {
		list[i] = fault
	}
	return list
}

// Sorted sorts the faults by position and returns the first MaxErrors of them.
func (e Errors) Sorted() Errors {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e[:min(len(e), MaxErrors)]
}
