package worker

import (
	"context"
	"errors"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// central is an engine that denies core__ls and requires approvals for every other tool.
type central struct{}

func (central) Decide(_ context.Context, f policy.Facts) (policy.Decision, error) {
	if f.ToolID == "core__ls" {
		return policy.Decision{Verb: policy.Deny, Rule: "central 1", Message: "not today"}, nil
	}
	return policy.Decision{
		Verb: policy.RequireApproval, Rule: "central 2", Approval: policy.ApprovalRule{Enabled: true, ExpiresAfterMs: 1000},
	}, nil
}

func engineOfAll(*policy.Policy) policy.Engine { return central{} }

// TestPolicyEngine: the engine of the option decides at the gate and for approval requests. The policy file,
// which allows every call and has no approvals, does not.
func TestPolicyEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile = w.file("policy.yaml", "version: 1\ntenants: {acme: {allowedTools: [core__*], mode: yolo, approvals: {enabled: false}}}\n")
	w.start(PolicyEngine(engineOfAll)).waitForLog(runs)
	denied, err := w.invoke("core__ls", "ls", `{}`)
	if !errors.Is(err, pawl.Coded(toolspec.CodePolicyDenied)) || denied.Details == nil || denied.Details.Rule != "central 1" {
		t.Errorf("core__ls: %+v, %v", denied, err)
	}
	if _, err := w.invoke("core__get_current_time", "time", `{}`); !errors.Is(err, pawl.Coded(toolspec.CodeApprovalExpired)) {
		t.Errorf("core__get_current_time: %v", err)
	}
}

// TestOnePolicyEngine: the option PolicyEngine needs exactly one engine.
func TestOnePolicyEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(PolicyEngine(nil)).expectError("worker.PolicyEngine wants one function")
	w.start(PolicyEngine(engineOfAll), PolicyEngine(func(*policy.Policy) policy.Engine { return nil })).expectError("worker.PolicyEngine wants one function")
}
