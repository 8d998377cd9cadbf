package mcp

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// reason is why a tool is left out, or why its review does not count. The set is closed.
type reason string

const (
	reasonName        reason = "it has no name"
	reasonHiddenName  reason = "its name is too long or has characters that are not visible"
	reasonTwice       reason = "its name is there twice"
	reasonSameID      reason = "its id is that of another tool"
	reasonDescription reason = "its description, title or annotations are too long"
	reasonSchema      reason = "its schema is refused"
	reasonHidden      reason = "its schema has hidden characters or markers of chat formats"
	reasonReview      reason = "its review does not fit its schema"
	reasonChanged     reason = "its definition is not the one that was reviewed"
)

// fault says why a tool is left out, or why its review does not count.
type fault struct {
	reason reason
	// detail is safe to log.
	detail string
}

// why returns the reason of the fault, or "" if there is no fault.
func (f *fault) why() reason {
	if f == nil {
		return ""
	}
	return f.reason
}

// leavesOut reports whether the fault leaves the tool out. Otherwise it is offered without its review.
func (f *fault) leavesOut() bool {
	return f != nil && f.reason != reasonReview && f.reason != reasonChanged
}

// maxDetail bounds the detail of a fault, in bytes.
const maxDetail = 300

// newFault returns a fault. It keeps only the visible characters of err, because an error about a schema
// quotes the schema.
func newFault(why reason, err error) *fault {
	f := &fault{reason: why}
	if err == nil {
		return f
	}
	text := err.Error()
	if refusal := (*jsonschema.Refusal)(nil); errors.As(err, &refusal) {
		text = refusal.Error()
	}
	f.detail = toolspec.Printable(text, maxDetail)
	return f
}

func (f *fault) String() string {
	if f.detail == "" {
		return string(f.reason)
	}
	return fmt.Sprintf("%s: %s", f.reason, f.detail)
}
