package catalog

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Catalog returns the tools of live workers that a caller may see now. It leaves out tools that the
// active policy hides and tools that a kill switch stops. If relations are the tenant's
// authorization, it also leaves out tools that no relation lets the actor run. A visible tool
// may still be refused: the gate decides again.
func (s *Store) Catalog(ctx context.Context, by catalog.Viewer) (catalog.Catalog, error) {
	specs, err := s.liveSpecs(ctx, by)
	if err != nil {
		return catalog.Catalog{}, err
	}
	p, err := s.rules.CurrentPolicy(ctx)
	if err != nil {
		return catalog.Catalog{}, err
	}
	stopped, err := s.rules.Stopped(ctx, by.TenantID)
	if err != nil {
		return catalog.Catalog{}, err
	}
	permitted, err := s.permitted(ctx, p, by)
	if err != nil {
		return catalog.Catalog{}, err
	}
	return catalog.New(specs, func(tool toolspec.Spec) catalog.Visibility {
		if stopped(tool) || !permitted(tool.Name) {
			return catalog.Hidden
		}
		return p.Visible(by, tool)
	}), nil
}

type toolsRow struct{ Tools string }

// permitted returns a function that reports whether relations let the viewer's actor run a tool: in the
// graph of the viewer or, if the viewer names none, in at least one graph. The function permits every
// tool if the viewer has no actor, or if the tenant uses policy alone for authorization.
func (s *Store) permitted(ctx context.Context, p *policy.Policy, by catalog.Viewer) (func(toolID string) bool, error) {
	if by.ActorID == "" || p.Permissions(by.TenantID) == authz.ByPolicy {
		return func(string) bool { return true }, nil
	}
	var patterns []document.Pattern
	if authz.Identity(by.ActorID) {
		rows, err := db.All[toolsRow](ctx, s.db, "permitted tools", db.Query("PermittedTools", db.Values{
			"tenant_id": db.Text(by.TenantID), "actor_id": db.Text(by.ActorID), "graph_id": db.Text(by.GraphID), "depth": authz.MaxNesting,
		}))
		if err != nil {
			return nil, err
		}
		patterns = db.Column(rows, func(r toolsRow) document.Pattern { return document.Pattern(r.Tools) })
	}
	return func(toolID string) bool {
		return slices.ContainsFunc(patterns, func(pattern document.Pattern) bool { return pattern.Matches(toolID) })
	}, nil
}
