package contract

import (
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Interruption returns the failure with which a call ends after an attempt that began and
// gave no answer, if no other attempt follows. why says how the attempt was stopped. If the tool
// is not repeatable, the outcome of the call is unknown.
func Interruption(why *hook.Failure, repeatable bool) *hook.Failure {
	if repeatable {
		return &hook.Failure{Code: toolspec.CodeTimeout, SafeMessage: why.SafeMessage}
	}
	return &hook.Failure{
		Code: toolspec.CodeOutcomeUnknown, SafeMessage: why.SafeMessage, Details: &toolspec.Details{Cause: string(why.Code)},
	}
}
