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
	KindWrongPart    = "wrong_part"      // a part that this role does not say
	KindResultCount  = "one_result"      // a tool message without exactly one result
	KindOrphan       = "orphan_result"   // a result of no call
	KindSecondResult = "second_result"   // a call with two results
	KindSecondCall   = "second_call"     // two calls with one id
	KindUnanswered   = "unanswered_call" // a call without a result
	KindOtherTool    = "result_of_other" // a result that names another tool than its call
	KindTooManyCalls = "too_many_calls"  // more than wire.MaxCalls in a message
)

// maxProblems is how many are told.
const maxProblems = 32

const (
	pathOfMessage     = "/messages/%d"
	pathOfMessagePart = "/messages/%d/content/%d"
)

// Error is what is wrong with a conversation: every problem with its path, the
// first ones first, at most 32. It repeats nothing of what was said but the names of
// members, and of these none that has the shape of a credential.
type Error struct{ Problems []toolspec.Problem }

// Error tells the first problem, and how many more there are.
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

// problems collects them.
type problems []toolspec.Problem

func (p *problems) add(path, kind, format string, args ...any) {
	if len(*p) < maxProblems {
		*p = append(*p, toolspec.Problem{Path: path, Kind: kind, Message: fmt.Sprintf(format, args...)})
	}
}

// unread adds why the value at a path is not strict JSON.
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
