package policy

import "cmp"

// override is what is different for some tools. What it leaves out is as it is
// for the others.
type override overrideDoc

// modeOf is the mode of a tool: that of the first override for it that names
// one, else the tenant's.
func (t *tenant) modeOf(toolID string) Mode {
	for _, o := range t.overrides {
		if o.Mode != "" && o.Tool.Matches(toolID) {
			return o.Mode
		}
	}
	return t.mode
}

// budgetsOf are the budgets of a tool: each is that of the first override for it
// that names one, else the tenant's.
func (t *tenant) budgetsOf(toolID string) Budgets {
	var b Budgets
	for _, o := range t.overrides {
		if o.Tool.Matches(toolID) {
			b = b.or(o.Budgets)
		}
	}
	return b.or(t.budgets)
}

// or fills in what b does not bound.
func (b Budgets) or(other Budgets) Budgets {
	return Budgets{
		MaxRuntimeMs: cmp.Or(b.MaxRuntimeMs, other.MaxRuntimeMs), MaxResultBytes: cmp.Or(b.MaxResultBytes, other.MaxResultBytes),
		DeadlineMs: cmp.Or(b.DeadlineMs, other.DeadlineMs), MaxAttempts: cmp.Or(b.MaxAttempts, other.MaxAttempts),
		RetryDelayMs: cmp.Or(b.RetryDelayMs, other.RetryDelayMs), RetryDelayMaxMs: cmp.Or(b.RetryDelayMaxMs, other.RetryDelayMaxMs),
	}
}
