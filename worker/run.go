package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/pawl-run/pawl/broker/redact"
	"github.com/pawl-run/pawl/internal/telemetry"
	"github.com/pawl-run/pawl/toolspec"
)

// shutdownTimeout is the time limit of a clean stop. It is longer than the longest step.
const shutdownTimeout = stopTimeout + 5*time.Second

// telemetryTime bounds the sending of the last metrics and traces.
const telemetryTime = 3 * time.Second

// errFatal is the error of a worker that stopped before its context ended.
var errFatal = errors.New("the Temporal worker stopped with an error that does not pass; see the messages before this one")

// Run runs a worker until ctx ends, and then stops it cleanly. It waits for a database or a
// Temporal server that does not answer yet. It returns an error if the worker cannot continue, for
// example because its namespace was deleted. No error holds a secret of the configuration or of the
// options.
func Run(ctx context.Context, c Config, options ...Option) error {
	a := added(options)
	err := run(ctx, c, &a)
	if err == nil {
		return nil
	}
	live, _ := secrets(c, a) // after an error, live has the secrets that could be read
	return redact.Error(err, live)
}

func run(ctx context.Context, c Config, a *additions) error {
	if len(a.sources) == 0 { // a source may bring a tool that needs any capability
		c = c.withoutUnused(a.tools)
	}
	if err := c.Shell.check(c.Workspace); err != nil {
		return err
	}
	c, err := c.complete()
	if err != nil {
		return err
	}
	if a.mcpServers, err = readMCPServers(c.MCPServersFile); err != nil {
		return err
	}
	if a.remoteKeys, err = readRemoteKeys(c); err != nil {
		return err
	}
	live, err := secrets(c, *a)
	if err != nil {
		return err
	}
	c.Log = slog.New(telemetry.Logs(redact.Handler(c.Log.Handler(), live)))
	if c.telemetry, err = startTelemetry(ctx, c); err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetryTime)
		defer cancel()
		c.telemetry.Close(closing)
	}()
	var stopHealth func()
	if c.board, stopHealth, err = startHealth(ctx, c); err != nil {
		return err
	}
	defer stopHealth() // the worker answers probes until all its parts have stopped
	reviews := newMCPReviews()
	servers, err := mcpSources(c, a.mcpServers, reviews)
	if err != nil {
		return err
	}
	leases, stopLeases, err := serveLeases(c, a.remoteKeys)
	if err != nil {
		return err
	}
	defer stopLeases() // after the worker has stopped
	a.configured = slices.Concat(servers, httpSources(c), remoteSources(c, a.remoteKeys, leases))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	o := &opened{}
	defer o.close()
	app := fx.New(
		fx.NopLogger,
		fx.StartTimeout(time.Minute), fx.StopTimeout(shutdownTimeout),
		fx.Supply(c, *a, o, live, reviews, make(registrationsMoved, 1)),
		fx.Provide(
			func() context.Context { return ctx },
			func() context.CancelCauseFunc { return fail },
			func() *slog.Logger { return c.Log },
			newStored, readPolicy, newConnections, prepareStore, newPolicyWatch, startSources, newPresence, newStickyResetter, providers, connectTemporal, bindTools, authorizer, policyEngines, idTokens, notifiers, hooksOf, steps, sweeper, verifier, resealer, joiner, newBroker, readPrices, agents, newMaker,
		),
		fx.Invoke(publish, needSchedules, sealAudit, serve, reportHealth, watch),
	)
	if err := app.Err(); err != nil {
		return dig.RootCause(err)
	}
	// The start does not use ctx: if it ended in the middle of the start, the container would not
	// stop the parts that have started.
	if err := app.Start(context.WithoutCancel(ctx)); err != nil {
		return dig.RootCause(err)
	}
	if c.dev != "" {
		c.Log.Info("the servers are those of the pawl dev of this directory", "dir", c.dev)
	}
	if d := c.Deployment; d.Name != "" {
		c.Log.Info("the worker gets calls when its version is the current or the ramping one of its deployment", "deployment", d.Name, "buildId", d.BuildID)
	}
	c.Log.Info("worker runs", "taskQueue", toolspec.PoolQueue(c.Pool), "workspace", c.Workspace)
	<-ctx.Done()
	c.board.Stopping()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err = app.Stop(stopping)
	if errors.Is(context.Cause(ctx), errFatal) {
		return errFatal
	}
	return err
}
