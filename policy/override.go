package policy

import "cmp"

// override is what is different for some tools. What it leaves out is as it is
// for the others.
type override struct {
	tool      Pattern
	mode      Mode
	budgets   Budgets
	approvers approvers
}

// modeOf is the mode of a tool: that of the first override for it that names
// one, else the tenant's.
func (t *tenant) modeOf(toolID string) Mode {
	for _, o := range t.overrides {
		if o.mode != "" && o.tool.Matches(toolID) {
			return o.mode
		}
	}
	return t.mode
}

// budgetsOf are the budgets of a tool: each is that of the first override for it
// that names one, else the tenant's.
func (t *tenant) budgetsOf(toolID string) Budgets {
	var b Budgets
	for _, o := range t.overrides {
		if o.tool.Matches(toolID) {
			b = b.or(o.budgets)
		}
	}
	return b.or(t.budgets)
}

// approvalOf returns who approves calls of a tool: the tenant's approvals, changed by the first
// override for the tool that has some, and then by the rules. If there are several rules, the
// people of all of them approve.
func (t *tenant) approvalOf(toolID string, rules ...approvers) ApprovalRule {
	base := t.approval.clone()
	for _, o := range t.overrides {
		if !o.approvers.isZero() && o.tool.Matches(toolID) {
			base = base.with(o.approvers)
			break
		}
	}
	if len(rules) == 0 {
		return base
	}
	approval := base.with(rules[0])
	for _, r := range rules[1:] {
		approval = approval.and(base.with(r))
	}
	return approval
}

// or fills in what b does not bound.
func (b Budgets) or(other Budgets) Budgets {
	return Budgets{
		MaxRuntimeMs: cmp.Or(b.MaxRuntimeMs, other.MaxRuntimeMs), MaxResultBytes: cmp.Or(b.MaxResultBytes, other.MaxResultBytes),
		DeadlineMs: cmp.Or(b.DeadlineMs, other.DeadlineMs), MaxAttempts: cmp.Or(b.MaxAttempts, other.MaxAttempts),
		RetryDelayMs: cmp.Or(b.RetryDelayMs, other.RetryDelayMs), RetryDelayMaxMs: cmp.Or(b.RetryDelayMaxMs, other.RetryDelayMaxMs),
	}
}
