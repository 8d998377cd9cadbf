package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/pawl-run/pawl/broker/redact"
	"github.com/pawl-run/pawl/toolspec"
)

// shutdownTimeout bounds a clean stop, the longest step included.
const shutdownTimeout = stopTimeout + 5*time.Second

// errFatal is why a worker ended that nobody told to.
var errFatal = errors.New("the Temporal worker stopped with an error that does not pass; see the messages before this one")

// Run runs a worker until ctx ends, and then stops it cleanly. It waits for a
// database or a Temporal server that is not there yet. A worker that cannot go
// on, say because its namespace is gone, ends with an error.
func Run(ctx context.Context, c Config, options ...Option) error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	a := added(options)
	live, err := secrets(c, a)
	if err != nil {
		return err
	}
	c.Log = slog.New(redact.Handler(c.Log.Handler(), live))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	o := &opened{}
	defer o.close()
	app := fx.New(
		fx.NopLogger,
		fx.StartTimeout(time.Minute), fx.StopTimeout(shutdownTimeout),
		fx.Supply(c, a, o, live),
		fx.Provide(
			func() context.Context { return ctx },
			func() context.CancelCauseFunc { return fail },
			func() *slog.Logger { return c.Log },
			readPolicy, newConnections, storage, newPolicyWatch, newPublished, newPresence, newLeaver, providers, server, source, authorizer, policyEngines, idTokens, notifiers, hooksOf, steps, sweeper, verifier, resealer, newMaker,
		),
		fx.Invoke(publish, needSchedules, serve),
	)
	if err := app.Err(); err != nil {
		return dig.RootCause(err)
	}
	// Not with ctx: a start that is broken off stops nothing of what it started.
	if err := app.Start(context.WithoutCancel(ctx)); err != nil {
		return dig.RootCause(err)
	}
	if c.dev != "" {
		c.Log.Info("the servers are those of the pawl dev of this directory", "dir", c.dev)
	}
	c.Log.Info("worker runs", "taskQueue", toolspec.TaskQueue, "workspace", c.Workspace)
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err = app.Stop(stopping)
	if errors.Is(context.Cause(ctx), errFatal) {
		return errFatal
	}
	return err
}
