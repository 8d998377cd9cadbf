package policy

import (
	"cmp"

	"github.com/pawl-run/pawl/policy/document"
)

// override holds the settings that differ for some tools. A setting that it leaves out does not
// differ.
type override struct {
	tool      document.Pattern
	mode      document.Mode
	budgets   Budgets
	approvers approvers
}

// modeOf returns the mode of a tool: from the first override for the tool that sets a mode, or
// else the tenant's mode.
func (t *tenant) modeOf(toolID string) document.Mode {
	for _, o := range t.overrides {
		if o.mode != "" && o.tool.Matches(toolID) {
			return o.mode
		}
	}
	return t.mode
}

// budgetsOf returns the budgets of a tool. Each budget is from the first override for the tool
// that sets it, or else the tenant's budget.
func (t *tenant) budgetsOf(toolID string) Budgets {
	var b Budgets
	for _, o := range t.overrides {
		if o.tool.Matches(toolID) {
			b = b.or(o.budgets)
		}
	}
	return b.or(t.budgets)
}

// approvalOf returns who approves calls of a tool: the tenant's approvals, changed by the first override for the
// tool that has approvals, and then by rules. If there are several rules, the people of each rule must approve.
func (t *tenant) approvalOf(toolID string, rules ...approvers) ApprovalRule {
	base := t.approval
	for _, o := range t.overrides {
		if !o.approvers.isZero() && o.tool.Matches(toolID) {
			base = base.with(o.approvers)
			break
		}
	}
	if len(rules) == 0 {
		return base.clone()
	}
	approval := base.with(rules[0])
	for _, r := range rules[1:] {
		approval = approval.and(base.with(r))
	}
	return approval
}

// or returns b, with the budgets of other where b has none.
func (b Budgets) or(other Budgets) Budgets {
	return Budgets{
		MaxRuntimeMs: cmp.Or(b.MaxRuntimeMs, other.MaxRuntimeMs), MaxResultBytes: cmp.Or(b.MaxResultBytes, other.MaxResultBytes),
		DeadlineMs: cmp.Or(b.DeadlineMs, other.DeadlineMs), MaxAttempts: cmp.Or(b.MaxAttempts, other.MaxAttempts),
		RetryDelayMs: cmp.Or(b.RetryDelayMs, other.RetryDelayMs), RetryDelayMaxMs: cmp.Or(b.RetryDelayMaxMs, other.RetryDelayMaxMs),
	}
}
