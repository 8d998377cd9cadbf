package worker

import (
	"context"
	"fmt"

	pawl "github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/devstate"
	"github.com/pawl-run/pawl/internal/postgres"
)

// Connect returns a client for a program that runs no worker, for example a program that talks to a model. With
// the configuration of a worker, the client offers the tools that workers have published and reads large
// results and the record of calls. Connect needs Temporal and the database; closed releases the connections to
// both. A program that links no worker uses client.New, with a Database of client/postgres.
func Connect(ctx context.Context, c Config) (connected *pawl.Client, closed func(), err error) {
	if c, err = c.complete(); err != nil {
		return nil, nil, err
	}
	store, err := postgres.Open(ctx, c.DatabaseURL, postgres.Options{MaxConns: 4, Application: "pawl-client", DirectURL: c.DatabaseDirectURL})
	if err != nil {
		return nil, nil, devstate.Explain(fmt.Errorf("database: %w", err))
	}
	store.UseNamespace(namespaceOf(c))
	if err := store.OpenBucket(ctx, c.OutputBucket); err != nil {
		store.Close()
		return nil, nil, fmt.Errorf("config: %w", err)
	}
	temporal, err := dial(ctx, c)
	if err != nil {
		store.Close()
		return nil, nil, devstate.Explain(fmt.Errorf("temporal: %w", err))
	}
	o := clientpg.Of(store).Options()
	o.DataConverter = c.Temporal.DataConverter
	return pawl.New(temporal, o), func() {
		temporal.Close()
		store.Close()
	}, nil
}
