package worker

import (
	"context"
	"fmt"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
)

// Connect makes a client for a program that runs no worker, such as one that talks
// to a model: with the same configuration as a worker, it knows the tools that
// workers have published and reads large results. It needs both servers to be
// there; close releases them.
func Connect(ctx context.Context, c Config) (connected *pawl.Client, closed func(), err error) {
	if c, err = c.complete(); err != nil {
		return nil, nil, err
	}
	store, err := postgres.Open(ctx, c.DatabaseURL, postgres.Options{MaxConns: 4, Application: "pawl-client"})
	if err != nil {
		return nil, nil, fmt.Errorf("database: %w", err)
	}
	temporal, err := dial(ctx, c)
	if err != nil {
		store.Close()
		return nil, nil, fmt.Errorf("temporal: %w", err)
	}
	return pawl.New(temporal, pawl.Options{Outputs: store, Catalogs: store, DataConverter: c.Temporal.DataConverter}), func() {
		temporal.Close()
		store.Close()
	}, nil
}
