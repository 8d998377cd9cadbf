package conversation

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Kinds of problems besides those of package schema.
const (
	KindTooLarge     = "too_large"
	KindUnknownField = "unknown_field"
	KindInvalidField = "invalid_field"
	KindMissing      = "missing_required"
	KindRole         = "invalid_role"
	KindWrongPart    = "wrong_part"      // a part that the role may not have
	KindResultCount  = "one_result"      // a tool message without exactly one result
	KindOrphan       = "orphan_result"   // a result without a call
	KindSecondResult = "second_result"   // a call with two results
	KindSecondCall   = "second_call"     // two calls with one id
	KindUnanswered   = "unanswered_call" // a call without a result
	KindOtherTool    = "result_of_other" // a result that names another tool than its call
	KindTooManyCalls = "too_many_calls"  // more than wire.MaxCalls in a message
)

// maxProblems bounds the problems of an Error.
const maxProblems = 32

const (
	pathOfMessage     = "/messages/%d"
	pathOfMessagePart = "/messages/%d/content/%d"
)

// Error lists the problems of a conversation with their paths: the first 32, in order. It contains
// no text of the conversation except names of members, and none that looks like a credential.
type Error struct{ Problems []toolspec.Problem }

// Error returns the first problem and the number of the others.
func (e *Error) Error() string {
	var b strings.Builder
	first := e.Problems[0]
	if first.Path != "" {
		b.WriteString(first.Path + ": ")
	}
	b.WriteString(first.Message)
	if more := len(e.Problems) - 1; more > 0 {
		fmt.Fprintf(&b, " (and %d more)", more)
	}
	return "conversation: " + b.String()
}

// problems collects the problems of a conversation.
type problems []toolspec.Problem

func (p *problems) add(path, kind, format string, args ...any) {
	if len(*p) < maxProblems {
		*p = append(*p, toolspec.Problem{Path: path, Kind: kind, Message: fmt.Sprintf(format, args...)})
	}
}

// unread adds the reason for which the value at a path is not strict JSON.
func (p *problems) unread(at string, found *strictjson.Fault) {
	safe := hydrate.FaultOf(found).Problem
	p.add(at+safe.Path, safe.Kind, "%s", safe.Message)
}

func (p *problems) err() error {
	if len(*p) == 0 {
		return nil
	}
	return &Error{Problems: *p}
}
