package policy

import (
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Visible returns what a caller may see of a tool before there is a call: what follows from the verdict of Decide
// on a call without arguments. A tool is Hidden if its calls would be denied for all arguments, and while its
// review is Pending.
func (p *Policy) Visible(by catalog.Viewer, tool toolspec.Spec) catalog.Visibility {
	if tool.NoSchema && tool.NoSchemaMode == toolspec.NoSchemaDeny {
		return catalog.Hidden
	}
	if p.ReviewOf(tool.Name, tool.Discovered) == Pending {
		return catalog.Hidden
	}
	d := p.Decide(Facts{TenantID: by.TenantID, ActorID: by.ActorID, ToolIDs: by.ToolIDs}.Of(tool))
	switch {
	case d.Undetermined:
		return catalog.VisibleDepending
	case d.Verb == Allow:
		return catalog.Visible
	case d.Verb == RequireApproval:
		return catalog.VisibleWithApproval
	default:
		return catalog.Hidden
	}
}
