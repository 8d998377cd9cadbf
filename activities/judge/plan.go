package judge

import (
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// IsNewerPlan reports whether a recorded plan is of a version that this worker cannot
// follow.
func IsNewerPlan(version int) bool { return version > hook.PlanVersion }

// PlanName returns the name of a plan version for messages.
func PlanName(version int) string { return fmt.Sprintf("plan version %d", version) }

// FaultFailure returns the failure of a call whose input has a fault.
func FaultFailure(fault *hydrate.Fault) *hook.Failure {
	return &hook.Failure{Code: fault.Code, SafeMessage: fault.Error(), Details: &toolspec.Details{
		Path: fault.Problem.Path, Kind: fault.Problem.Kind, Problems: []toolspec.Problem{fault.Problem},
	}}
}
