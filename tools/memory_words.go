package tools

import (
	"errors"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// explainMemory turns an error of Memory or Plans into a message for the caller, if the request of the caller
// caused it. It returns other errors, such as those of the database or of the context, unchanged.
func explainMemory(err error) error {
	var known *capability.MemoryError
	if errors.As(err, &known) {
		return toolspec.Safef("%w", known)
	}
	return err
}

// instant writes a time in RFC 3339 with milliseconds, in UTC.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// below returns the JSON pointers of members of an object.
func below(at string, names ...string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = at + "/" + name
	}
	return paths
}
