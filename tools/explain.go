package tools

import (
	"errors"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// busyDelay is when to ask again while others write the same file. A write takes
// milliseconds.
const busyDelay = 200 * time.Millisecond

// explain turns an error of a capability into a message for the caller, if the request of the
// caller caused it. It returns other errors, such as those of the disk or of the context,
// unchanged: another attempt may succeed, and their texts must not be shown.
func explain(err error) error {
	for _, known := range []error{
		capability.ErrOutside, capability.ErrBadPath, capability.ErrNotExist, capability.ErrIsDir,
		capability.ErrNotDir, capability.ErrNotRegular, capability.ErrPermission, capability.ErrTooLarge,
		capability.ErrNoSpace, capability.ErrNotEmpty, capability.ErrBadPattern, capability.ErrIgnoreRules, capability.ErrNoZone,
	} {
		if errors.Is(err, known) {
			return toolspec.Safef("%w", known)
		}
	}
	if errors.Is(err, capability.ErrBusy) {
		return toolspec.RetryAfter(busyDelay, capability.ErrBusy.Error())
	}
	return err
}
