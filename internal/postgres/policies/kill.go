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

// KillScope is what a kill switch covers.
type KillScope struct {
	// TenantID is empty for every tenant.
	TenantID string `json:"tenant"`
	// Tool is an id, or a prefix and one *.
	Tool string `json:"tool"`
	// Effect is empty for every effect.
	Effect toolspec.Effect `json:"effect"`
}

// KillSwitch stops calls whatever policy and approvals say.
type KillSwitch struct {
	ID int64 `json:"id"`
	KillScope
	// Reason is shown to callers.
	Reason string     `json:"reason"`
	OnBy   string     `json:"onBy"`
	OnAt   time.Time  `json:"onAt"`
	OffBy  string     `json:"offBy,omitempty"`
	OffAt  *time.Time `json:"offAt,omitempty"`
	// Changed says that this very call turned it on or off.
	Changed bool `json:"-"`
}

// KillOn turns a switch on, and tells the calls under way that it covers to look again. From when it returns, no call that it covers is
// dispatched to a tool of the regular lane. One that was on for the same stays as it is.
func (s *Store) KillOn(ctx context.Context, scope KillScope, reason, by string) (KillSwitch, error) {
	named := db.Values{"tenant_id": db.Text(scope.TenantID), "tool": db.Text(scope.Tool), "effect": db.Text(scope.Effect)}
	made, _, err := db.Batched[KillSwitch](ctx, s.db, "kill switch on",
		db.Query("KillOn", named.And("reason", db.Text(reason)).And("by", db.Text(by))),
		recheck.Step(recheck.Filter{TenantID: scope.TenantID, Tool: scope.Tool, Effect: scope.Effect}),
		db.Query("KillSwitchOf", named),
	)
	return made, err
}

// KillOff turns a switch off: by its number or, where that is 0, the one that covers exactly the scope. What it has stopped stays so.
// found is false where no such switch is on.
func (s *Store) KillOff(ctx context.Context, id int64, scope KillScope, by string) (lifted KillSwitch, found bool, err error) {
	return db.First[KillSwitch](ctx, s.db, "kill switch off", db.Query("KillOff", db.Values{
		"id": id, "tenant_id": db.Text(scope.TenantID), "tool": db.Text(scope.Tool), "effect": db.Text(scope.Effect), "by": db.Text(by),
	}))
}

// KillSwitches returns those that are on, and those that were with off, the newest first and at most 500. With a tenant, those of others
// are left out.
func (s *Store) KillSwitches(ctx context.Context, tenantID string, off bool) ([]KillSwitch, error) {
	return db.All[KillSwitch](ctx, s.db, "kill switches", db.Query("ListKillSwitches", db.Values{"tenant_id": db.Text(tenantID), "off": off, "max": db.MaxList}))
}

// Covers reports whether the switch stops calls of a tool by a tenant.
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
