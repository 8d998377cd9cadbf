package judgetest

import (
	"context"
	"errors"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// Away is the digest for which Policies returns a transient error with the text Canary.
const Away = "away"

// Canary is a text that must not leave the process.
const Canary = "canary-4711"

// Policies holds policy versions by digest.
type Policies map[string]*policy.Policy

// Policy implements judge.Policies.
func (p Policies) Policy(_ context.Context, digest string) (*policy.Policy, error) {
	if digest == Away {
		return nil, errs.Transient(errors.New(Canary))
	}
	return p[digest], nil
}

// Parse reads a policy for tenant acme, which may use the tools core__* in mode auto. The
// argument is the rest of the tenant's policy.
func Parse(t *testing.T, tenant string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("test.yaml", []byte("version: 1\ntenants:\n  acme:\n    allowedTools: [\"core__*\"]\n    mode: auto\n"+tenant))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
