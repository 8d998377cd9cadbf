package connections

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// refreshRow is the row of BeginRefresh.
type refreshRow struct{ Answer broker.RefreshAnswer }

// BeginRefresh lets one worker at a time refresh the token of the version that it has seen, for as long as the claim lasts by the clock of
// the database.
func (s *Store) BeginRefresh(ctx context.Context, c broker.RefreshClaim) (broker.RefreshAnswer, error) {
	row, _, err := db.First[refreshRow](ctx, s.db, "begin refresh", db.Query("BeginRefresh", db.Values{
		"tenant_id": db.Text(c.Binding.TenantID), "connection_id": db.Text(c.Binding.ConnectionID), "version": c.Binding.Version,
		"refresher": db.Text(c.Refresher), "lasts": c.Lasts, "forced": c.Forced, "apart": c.Apart,
	}))
	return row.Answer, err
}

// StoreRefreshed puts a refreshed secret in the place of the version before it. Who had to sign in anew still has to: then, and where another
// version is there, nothing happens and the answer is another.
func (s *Store) StoreRefreshed(ctx context.Context, r broker.Refreshed) (broker.StoreAnswer, error) {
	row, _, err := db.First[changedRow](ctx, s.db, "refresh connection", replacing(r, false))
	switch {
	case err != nil:
		return "", err
	case row.Changed:
		return broker.TokenStored, nil
	}
	// Another statement, for the one before may have waited for a revocation that it did not see.
	_, _, err = s.ConnectionSecret(ctx, r.Sealed.TenantID, r.Sealed.ConnectionID)
	if errors.Is(err, db.ErrNotFound) {
		return broker.TokenUnwanted, nil
	}
	return broker.TokenSuperseded, err
}

// FailRefresh ends the claim of a refresher that got no token, unless another has taken it over.
func (s *Store) FailRefresh(ctx context.Context, f broker.FailedRefresh) error {
	_, _, err := db.First[changedRow](ctx, s.db, "fail refresh", db.Query("FailRefresh", db.Values{
		"tenant_id": db.Text(f.Binding.TenantID), "connection_id": db.Text(f.Binding.ConnectionID), "version": f.Binding.Version,
		"refresher": db.Text(f.Refresher), "lost": f.Lost, "code": db.Text(f.Code), "after": f.After, "first": f.First, "most": f.Most,
	}))
	return err
}
