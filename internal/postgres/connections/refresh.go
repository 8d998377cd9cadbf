package connections

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// refreshRow is a row of the statement BeginRefresh.
type refreshRow struct{ Answer broker.RefreshAnswer }

// BeginRefresh lets one worker at a time refresh the token whose version it has read. The claim
// lasts for c.Lasts, by the database clock.
func (s *Store) BeginRefresh(ctx context.Context, c broker.RefreshClaim) (broker.RefreshAnswer, error) {
	row, _, err := db.First[refreshRow](ctx, s.db, "begin refresh", db.Query("BeginRefresh", db.Values{
		"tenant_id": db.Text(c.Binding.TenantID), "connection_id": db.Text(c.Binding.ConnectionID), "version": c.Binding.Version,
		"refresher": db.Text(c.Refresher), "lasts": c.Lasts, "forced": c.Forced, "apart": c.Apart,
	}))
	return row.Answer, err
}

// StoreRefreshed stores a refreshed secret in place of the secret that the worker has refreshed, and
// returns TokenStored. It stores nothing and returns TokenSuperseded if the connection needs a new
// sign-in or has another secret by now, and TokenUnwanted if the connection was revoked.
func (s *Store) StoreRefreshed(ctx context.Context, r broker.Refreshed) (broker.StoreAnswer, error) {
	row, _, err := db.First[changedRow](ctx, s.db, "refresh connection", replacing(r, false))
	switch {
	case err != nil:
		return "", err
	case row.Changed:
		return broker.TokenStored, nil
	}
	// This check is a separate statement: the first statement may have waited for a revocation that
	// its snapshot does not show.
	_, _, err = s.ConnectionSecret(ctx, r.Sealed.TenantID, r.Sealed.ConnectionID)
	if errors.Is(err, db.ErrNotFound) {
		return broker.TokenUnwanted, nil
	}
	return broker.TokenSuperseded, err
}

// FailRefresh ends the claim that BeginRefresh gave to a refresher, which got no token, unless
// another refresher has taken the claim over.
func (s *Store) FailRefresh(ctx context.Context, f broker.FailedRefresh) error {
	_, _, err := db.First[changedRow](ctx, s.db, "fail refresh", db.Query("FailRefresh", db.Values{
		"tenant_id": db.Text(f.Binding.TenantID), "connection_id": db.Text(f.Binding.ConnectionID), "version": f.Binding.Version,
		"refresher": db.Text(f.Refresher), "lost": f.Lost, "code": db.Text(f.Code), "after": f.After, "first": f.First, "most": f.Most,
	}))
	return err
}
