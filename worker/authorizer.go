package worker

import (
	"errors"
	"log/slog"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy/authz"
)

// authorizer is the engine that every call is put to. There is always one: the
// user's, else the built-in one.
func authorizer(store *postgres.Store, a additions, log *slog.Logger) (authz.Port, error) {
	switch {
	case len(a.authorizers) > 1:
		return nil, errors.New("worker.Authorizer was given twice: there is one engine")
	case len(a.authorizers) == 0:
		return store.Authorizer(), nil
	case a.authorizers[0] == nil:
		return nil, errors.New("worker.Authorizer was given nil: leave it out for the built-in engine")
	}
	log.Info("an engine of its own authorizes calls")
	return a.authorizers[0], nil
}
