package policies

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/recheck"
	"github.com/pawl-run/pawl/toolspec"
)

// KillScope is the set of calls that a kill switch stops.
type KillScope struct {
	// TenantID is the tenant whose calls the switch stops. Empty means all tenants.
	TenantID string `json:"tenant"`
	// Tool is a tool id, or a prefix followed by *.
	Tool string `json:"tool"`
	// Effect is the effect whose calls the switch stops. Empty means calls of any effect.
	Effect toolspec.Effect `json:"effect"`
}

// KillSwitch stops calls, regardless of policy and approvals.
type KillSwitch struct {
	ID int64 `json:"id"`
	KillScope
	// Reason is shown to callers.
	Reason string     `json:"reason"`
	OnBy   string     `json:"onBy"`
	OnAt   time.Time  `json:"onAt"`
	OffBy  string     `json:"offBy,omitempty"`
	OffAt  *time.Time `json:"offAt,omitempty"`
	// Changed says that the method that returned the switch turned it on or off.
	Changed bool `json:"-"`
}

// KillOn turns a switch on and sends a recheck to the open calls in its scope. After it returns, no
// call in the scope gets a claim, so its tool does not begin, except in the local lane. If a switch
// for the same scope is on already, KillOn does not change it.
func (s *Store) KillOn(ctx context.Context, scope KillScope, reason, by string) (KillSwitch, error) {
	named := db.Values{"tenant_id": db.Text(scope.TenantID), "tool": db.Text(scope.Tool), "effect": db.Text(scope.Effect)}
	made, _, err := db.Batched[KillSwitch](ctx, s.db, "kill switch on",
		db.Query("KillOn", named.And("reason", db.Text(reason)).And("by", db.Text(by))),
		recheck.Step(recheck.Filter{TenantID: scope.TenantID, Tool: scope.Tool, Effect: scope.Effect}),
		db.Query("KillSwitchOf", named),
	)
	return made, err
}

// KillOff turns a switch off. id selects the switch; if id is 0, scope selects the switch with
// exactly this scope. Calls that the switch has stopped stay stopped. found is false if no such
// switch is on.
func (s *Store) KillOff(ctx context.Context, id int64, scope KillScope, by string) (lifted KillSwitch, found bool, err error) {
	return db.First[KillSwitch](ctx, s.db, "kill switch off", db.Query("KillOff", db.Values{
		"id": id, "tenant_id": db.Text(scope.TenantID), "tool": db.Text(scope.Tool), "effect": db.Text(scope.Effect), "by": db.Text(by),
	}))
}

// KillSwitches returns the switches that are on and, if off is true, the switches that were turned
// off, newest first, at most 500. If tenantID is not empty, it leaves out the switches of other
// tenants.
func (s *Store) KillSwitches(ctx context.Context, tenantID string, off bool) ([]KillSwitch, error) {
	return db.All[KillSwitch](ctx, s.db, "kill switches", db.Query("ListKillSwitches", db.Values{"tenant_id": db.Text(tenantID), "off": off, "max": db.MaxList}))
}

// Covers reports whether the switch stops a tenant's calls of a tool.
func (k KillScope) Covers(tenantID string, tool toolspec.Spec) bool {
	prefix, glob := strings.CutSuffix(k.Tool, "*")
	return (k.TenantID == "" || k.TenantID == tenantID) && (k.Effect == "" || k.Effect == tool.Effect) &&
		(tool.Name == k.Tool || glob && strings.HasPrefix(tool.Name, prefix))
}

// Stopped returns a function that reports whether a kill switch stops a tool for a tenant.
func (s *Store) Stopped(ctx context.Context, tenantID string) (func(toolspec.Spec) bool, error) {
	switches, err := s.KillSwitches(ctx, tenantID, false)
	return func(tool toolspec.Spec) bool {
		return slices.ContainsFunc(switches, func(k KillSwitch) bool { return k.Covers(tenantID, tool) })
	}, err
}
