package attempt

import (
	"context"
	"errors"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// maxSafeText bounds the safe message of a tool's error, in bytes. The message is in payloads
// and in the record.
const maxSafeText = 2000

// staleMessage is the safe message of a call whose preview is not the one that was approved.
const staleMessage = "What the preview showed has changed since, so this attempt did nothing: make a new call"

// noConnection is the safe message of a tool that asked for a connection that its call does not have.
const noConnection = "it asked for a connection that the call does not have. Name the connection in context.connectionId. " +
	"A tool that cannot work without a connection sets RequiresConnection, and one that can checks the id first"

func clip(text string) string {
	if len(text) <= maxSafeText {
		return text
	}
	return strings.ToValidUTF8(text[:maxSafeText], "") + "…"
}

// cleaned returns a safe text of a tool without credentials and without what the tool and policy mask, in the bounds of clip. It cuts the
// text last, because no search finds a credential or a text to mask of which the end is cut off. It searches before the mask, because a mask
// may remove a part of a credential.
func (a *Attempts) cleaned(bound *catalog.Bound, text string) string {
	masked, err := bound.RedactText(a.Secrets.Redact(text))
	if err != nil {
		return ""
	}
	return clip(masked)
}

// classify returns the failure for an error of a tool. clean returns a text of the tool as it may leave the attempt. retryable says that
// another attempt may succeed. answered says that the tool knows whether the call took effect: its error has a code, or says that the
// call had no effect.
func classify(err error, clean func(text string) string) (f hook.Failure, retryable, answered bool) {
	var safe *toolspec.SafeError
	var busy *toolspec.BusyError
	var unanswered *toolspec.UnansweredError
	var args *toolspec.ArgsError
	var output *toolspec.OutputError
	switch {
	case errors.Is(err, toolspec.ErrStale):
		return hook.Failure{Code: toolspec.CodeApprovalStale, SafeMessage: staleMessage}, false, true
	case errors.As(err, &busy):
		return hook.Failure{Code: toolspec.CodeRateLimited, SafeMessage: toolspec.ErrorPrefix + clean(busy.Reason), RetryAfterMs: max(busy.After.Milliseconds(), 0)}, true, true
	case errors.As(err, &safe):
		return hook.Failure{Code: toolspec.CodeExecution, SafeMessage: toolspec.ErrorPrefix + clean(safe.Error())}, false, true
	case errors.As(err, &unanswered):
		return hook.Failure{Code: toolspec.CodeExecution, SafeMessage: toolspec.ErrorPrefix + clean(unanswered.Reason)}, true, false
	case errors.As(err, &args):
		return hook.Failure{Code: toolspec.CodeValidation, SafeMessage: args.Error()}, false, true
	case errors.Is(err, capability.ErrNoConnection):
		return hook.Failure{Code: toolspec.CodeExecution, SafeMessage: toolspec.ErrorPrefix + noConnection}, false, false
	case errors.As(err, &output):
		return hook.Failure{Code: toolspec.CodeOutputValidation, SafeMessage: output.Error()}, false, true
	case errors.Is(err, context.DeadlineExceeded):
		return hook.Failure{Code: toolspec.CodeTimeout}, true, false
	}
	return hook.Failure{Code: toolspec.CodeExecution}, true, false
}
