package worker

import (
	"context"
	"log/slog"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/pawl-run/pawl/toolspec"
)

// shutdownTimeout bounds a clean stop, the longest step included.
const shutdownTimeout = stopTimeout + 5*time.Second

// Run runs a worker until ctx ends, and then stops it cleanly. It waits for a
// database or a Temporal server that is not there yet.
func Run(ctx context.Context, c Config, options ...Option) error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	var a additions
	for _, option := range options {
		option(&a)
	}
	app := fx.New(
		fx.NopLogger,
		fx.StartTimeout(time.Minute), fx.StopTimeout(shutdownTimeout),
		fx.Supply(c, a),
		fx.Provide(
			func() context.Context { return ctx },
			func() *slog.Logger { return c.Log },
			storage, server, source, seats, steps, newWorker,
		),
		fx.Invoke(publish, serve),
	)
	if err := app.Err(); err != nil {
		return dig.RootCause(err)
	}
	if err := app.Start(ctx); err != nil {
		return dig.RootCause(err)
	}
	c.Log.Info("worker runs", "taskQueue", toolspec.TaskQueue, "workspace", c.Workspace)
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	return app.Stop(stopping)
}
