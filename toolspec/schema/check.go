package schema

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deeply arrays and objects may nest, in instances and in
// schema documents.
const MaxDepth = 64

// CheckJSON reports the first fault that keeps raw from being one strict JSON
// value, or nil: bad syntax, text behind the value, a repeated object key, bad
// UTF-8, nesting deeper than [MaxDepth], or a number that no float64 holds
// (1e400, 1e-400, more than 1100 characters). Two readers of JSON that passes
// see the same value. It does not bound the size: callers do.
func CheckJSON(raw []byte) *Problem {
	t := borrow()
	defer t.done()
	if t.read(raw) {
		return nil
	}
	if problem := scan(raw); problem != nil {
		return problem
	}
	return &Problem{Kind: KindInvalidJSON, Message: "Invalid JSON"}
}

// scan says in words what the tape only refuses.
func scan(raw []byte) *Problem {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := dec.ReadToken()
		switch {
		case err != nil:
			return syntaxProblem(err)
		case dec.StackDepth() > MaxDepth:
			return &Problem{Kind: KindTooComplex, Message: "JSON is nested too deeply"}
		}
		if token.Kind() == '0' && !finiteNumber(token.String()) {
			at, _ := splitPointer(string(dec.StackPointer()))
			return &Problem{
				Path:    at.pointer(),
				Kind:    KindInexactNumber,
				Message: "Number is not exact, send a string instead: " + at.field(),
			}
		}
		if dec.StackDepth() == 0 { // the value has ended
			return trailing(dec)
		}
	}
}

// trailing allows white space only behind the value.
func trailing(dec *jsontext.Decoder) *Problem {
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &Problem{Kind: KindInvalidJSON, Message: "Invalid JSON: text behind the value"}
	}
	return nil
}

func syntaxProblem(err error) *Problem {
	problem := &Problem{Kind: KindInvalidJSON, Message: "Invalid JSON"}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		problem.Message = "Invalid JSON: repeated object key"
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		if at, ok := splitPointer(string(syntactic.JSONPointer)); ok && len(at) > 0 {
			problem.Path = at.pointer()
			problem.Message += " at " + at.field()
		}
	}
	return problem
}
