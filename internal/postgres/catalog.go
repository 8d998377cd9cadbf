package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Catalog returns what a caller may see now of the tools that workers have published: those that the active policy hides, and those that a
// kill switch stops, are left out. Seeing a tool does not mean that it may run; the gate decides again.
func (s *Store) Catalog(ctx context.Context, by catalog.Viewer) (catalog.Catalog, error) {
	specs, err := s.Specs(ctx)
	if err != nil {
		return catalog.Catalog{}, err
	}
	active, _, err := s.ActivePolicy(ctx)
	if err != nil {
		return catalog.Catalog{}, err
	}
	p, err := s.Policy(ctx, active.Digest)
	if err != nil {
		return catalog.Catalog{}, err
	}
	switches, err := s.KillSwitches(ctx, by.TenantID, false)
	if err != nil {
		return catalog.Catalog{}, err
	}
	return catalog.New(specs, func(tool toolspec.Spec) catalog.Visibility {
		if slices.ContainsFunc(switches, func(k KillSwitch) bool { return k.Covers(by.TenantID, tool) }) {
			return catalog.Hidden
		}
		return p.Visible(by, tool)
	}), nil
}

// Covers reports whether the switch stops calls of a tool by a tenant.
func (k KillScope) Covers(tenantID string, tool toolspec.Spec) bool {
	prefix, glob := strings.CutSuffix(k.Tool, "*")
	return (k.TenantID == "" || k.TenantID == tenantID) && (k.Effect == "" || k.Effect == tool.Effect) &&
		(tool.Name == k.Tool || glob && strings.HasPrefix(tool.Name, prefix))
}
