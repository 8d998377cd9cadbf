package approval

import (
	"context"
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// newer has only versions that this worker cannot read.
type newer struct{}

func (newer) Policy(context.Context, string) (*policy.Policy, error) {
	return nil, fmt.Errorf("%w: line 3", judge.ErrPolicyUnreadable)
}

// TestRequestOnAnUnreadablePolicy: a worker that cannot read the policy leaves the request to another worker, also if the
// call is parked.
func TestRequestOnAnUnreadablePolicy(t *testing.T) {
	t.Parallel()
	for _, parked := range []string{"", "timeout"} {
		in := contract.RequestIn{Facts: hook.Facts{PolicyDigest: "of a newer release"}, Parked: parked}
		if _, err := New(Parts{Policies: newer{}}).Request(t.Context(), in); !errs.IsTransient(err) {
			t.Errorf("parked %q: %v", parked, err)
		}
	}
}
