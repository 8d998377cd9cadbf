package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/pawl-run/pawl/internal/openfga"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy/authz"
)

// OpenFGA configures an OpenFGA server that authorizes calls.
type OpenFGA struct {
	// URL is the address of the HTTP API of the server: PAWL_OPENFGA_URL. Empty means no server.
	URL string
	// StoreID is the id of the store: PAWL_OPENFGA_STORE.
	StoreID string
	// ModelID is the id of the authorization model: PAWL_OPENFGA_MODEL. Empty means the latest model.
	ModelID string
	// Token is a bearer token or a preshared key: PAWL_OPENFGA_TOKEN. It is a secret.
	Token string
}

func loadOpenFGA() OpenFGA {
	return OpenFGA{
		URL: os.Getenv("PAWL_OPENFGA_URL"), StoreID: os.Getenv("PAWL_OPENFGA_STORE"), ModelID: os.Getenv("PAWL_OPENFGA_MODEL"),
		Token: os.Getenv("PAWL_OPENFGA_TOKEN"),
	}
}

// authorizer returns the engine that authorizes every call: the engine of the option Authorizer,
// or an OpenFGA server, or the built-in engine. Two configured engines are an error.
func authorizer(o *opened, c Config, store *postgres.Store, a additions, log *slog.Logger) (authz.Port, error) {
	named := len(a.authorizers)
	if c.OpenFGA != (OpenFGA{}) {
		named++
	}
	switch {
	case named > 1:
		return nil, errors.New("there are two authorization engines, worker.Authorizer and PAWL_OPENFGA_URL: remove one")
	case named == 0:
		return store.Authorizer(), nil
	case len(a.authorizers) == 0:
		engine, err := openfga.New(openfga.Options{URL: c.OpenFGA.URL, StoreID: c.OpenFGA.StoreID, ModelID: c.OpenFGA.ModelID, Token: c.OpenFGA.Token})
		if err != nil {
			return nil, fmt.Errorf("config: PAWL_OPENFGA_*: %w", err)
		}
		o.add(engine.Close)
		log.Info("an OpenFGA server authorizes calls", "store", c.OpenFGA.StoreID)
		return store.Trusting(engine), nil
	case a.authorizers[0] == nil:
		return nil, errors.New("worker.Authorizer was given nil: leave it out for the built-in engine")
	}
	log.Info("an engine of its own authorizes calls")
	return store.Trusting(a.authorizers[0]), nil
}
