package operations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy/authz"
)

// shownTenants is the maximum number of tenants that a line names.
const shownTenants = 10

// permissions lists the tenants by the source of their permissions. For a tenant without
// relations, policy alone is the authorization: every actor may do everything that the policy
// does not deny. That is a choice, so the check does not fail.
func (d *diagnosis) permissions(ctx context.Context, store *postgres.Store, digest string) {
	if digest == "" {
		return // the check of the policy reports this
	}
	p, err := store.Policy(ctx, digest)
	if errors.Is(err, judge.ErrPolicyUnreadable) {
		err = errors.New("this release cannot read the active policy: use the release that applied it")
	}
	if err != nil {
		d.add("authz", err, "")
		return
	}
	var parts []string
	if ids := p.TenantsBy(authz.ByRelations); len(ids) > 0 {
		parts = append(parts, "by relations: "+names(ids))
	}
	if ids := p.TenantsBy(authz.ByPolicy); len(ids) > 0 {
		parts = append(parts, "by policy alone, so any actor may do what it does not deny: "+names(ids))
	}
	d.add("authz", nil, strings.Join(parts, "; "))
}

func names(ids []string) string {
	if len(ids) > shownTenants {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:shownTenants], ", "), len(ids)-shownTenants)
	}
	return strings.Join(ids, ", ")
}
