package policy

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

func TestVisible(t *testing.T) {
	ann := catalog.Viewer{TenantID: "acme", ActorID: "user:ann"}
	read := toolspec.Spec{Name: "core__read", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk}
	write := toolspec.Spec{Name: "core__write", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk}
	unchecked, never := read, read
	unchecked.NoSchema, unchecked.NoSchemaMode = true, toolspec.NoSchemaAsk
	never.NoSchema, never.NoSchemaMode = true, toolspec.NoSchemaDeny
	for name, c := range map[string]struct {
		p    *Policy
		by   catalog.Viewer
		tool toolspec.Spec
		want catalog.Visibility
	}{
		"allowed":               {conditional(t, auto), ann, read, catalog.Visible},
		"asked":                 {conditional(t, auto), ann, write, catalog.VisibleWithApproval},
		"nobody may be asked":   {conditional(t, auto+"    approvals: {enabled: false}\n"), ann, write, catalog.Hidden},
		"denied":                {conditional(t, auto+denyRule), ann, read, catalog.Hidden},
		"by the arguments":      {conditional(t, auto+denyRule, on(yes)), ann, read, catalog.VisibleDepending},
		"no policy":             {nil, ann, read, catalog.Hidden},
		"another tenant":        {conditional(t, auto), catalog.Viewer{TenantID: "beta"}, read, catalog.Hidden},
		"a tool of the run":     {conditional(t, auto), catalog.Viewer{TenantID: "acme", ToolIDs: []string{"core__read"}}, read, catalog.Visible},
		"not a tool of the run": {conditional(t, auto), catalog.Viewer{TenantID: "acme", ToolIDs: []string{"core__write"}}, read, catalog.Hidden},
		"not an allowed tool":   {conditional(t, auto), ann, toolspec.Spec{Name: "other__read", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk}, catalog.Hidden},
		"a tool without effect": {conditional(t, auto), ann, toolspec.Spec{Name: "core__read"}, catalog.Hidden},
		"without a schema":      {conditional(t, auto+"    noSchemaMode: ask\n"), ann, unchecked, catalog.VisibleWithApproval},
		"denied without one":    {conditional(t, auto), ann, unchecked, catalog.Hidden},
		"never without one":     {conditional(t, auto+"    noSchemaMode: ask\n"), ann, never, catalog.Hidden},
		"a rule of the actor":   {conditional(t, auto+denyRule, when(func(f Facts) bool { return f.ActorID == "user:ann" })), ann, read, catalog.Hidden},
	} {
		if got := c.p.Visible(c.by, c.tool); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
