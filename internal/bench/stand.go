package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/activity"
	temporal "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// stand is what the cases run on.
type stand struct {
	stack    *devstack.Stack
	temporal temporal.Client // shared with the worker of the bare cases
	pawl     *client.Client  // shares its connection with Pawl's worker
	// trips counts round trips to the database, of calls of Pawl and by hand.
	trips   atomic.Int64
	closers []func()
	// workspace is the directory that the file tools see. If it is empty, the stand makes one.
	workspace string
	// keyRing opens the credential of connectionID.
	keyRing worker.KeyRing
	// mcpServers is the file of the worker's MCP servers; empty for none.
	mcpServers string
	// modelURLs are where the worker asks models.
	modelURLs    []string
	connectionID string
	// telemetry says that the worker serves metrics, and sends metrics and traces by OTLP.
	telemetry bool
}

// setUp starts servers, unless the options name some, and the workers.
func setUp(ctx context.Context, o Options) (*stand, error) {
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Telemetry {
		err = s.receiveTelemetry(ctx)
	}
	if err == nil {
		err = s.servePawl(ctx)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// start is setUp without Pawl's worker.
func start(ctx context.Context, o Options) (s *stand, err error) {
	s = &stand{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.stack, err = devstack.Start(ctx, devstack.Options{
		Fsync: true, FileStore: o.Store == File, FullServer: o.FullServer, SearchAttributes: contract.SearchAttributeNames(),
		TemporalAddress: o.TemporalAddress, DatabaseURL: o.DatabaseURL, Progress: o.Progress,
	})
	if err != nil {
		return s, err
	}
	s.onClose(func() { _ = s.stack.Stop(context.WithoutCancel(ctx)) })
	if err := s.migrate(ctx); err != nil {
		return s, err
	}
	return s, s.serveBare(ctx)
}

func (s *stand) migrate(ctx context.Context) error {
	store, err := postgres.Open(ctx, s.stack.DatabaseURL(), postgres.Options{Application: "pawl-bench"})
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := store.Migrate(ctx); err != nil {
		return err
	}
	p, err := policy.Parse("bench.yaml", []byte(rules))
	if err != nil {
		return err
	}
	active, ok, err := store.ActivePolicy(ctx)
	if err != nil {
		return err
	}
	if ok && active.Digest != p.Digest() {
		return errors.New("the database has an active policy: give the benchmark a database of its own")
	}
	if _, err = store.ApplyPolicy(ctx, p, "pawl bench"); err != nil {
		return err
	}
	return s.connect(ctx, store)
}

func (s *stand) serveBare(ctx context.Context) (err error) {
	s.temporal, err = temporal.DialContext(ctx, temporal.Options{
		HostPort: s.stack.TemporalAddress(), Namespace: s.stack.Namespace(),
		Logger:            sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: temporal.ConnectionOptions{GetSystemInfoTimeout: time.Minute}, // the server has just started
	})
	if err != nil {
		return fmt.Errorf("bench: dial Temporal: %w", err)
	}
	s.onClose(s.temporal.Close)
	h := &handWritten{trip: func() { s.trips.Add(1) }}
	if h.pool, err = pgxpool.New(ctx, s.stack.DatabaseURL()); err != nil {
		return fmt.Errorf("bench: database: %w", err)
	}
	s.onClose(h.pool.Close)
	if err := h.prepare(ctx); err != nil {
		return err
	}
	s.onClose(func() { h.cleanUp(context.WithoutCancel(ctx)) })
	w := sdkworker.New(s.temporal, bareQueue, sdkworker.Options{
		WorkflowTaskPollerBehavior: sdkworker.NewPollerBehaviorAutoscaling(sdkworker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior: sdkworker.NewPollerBehaviorAutoscaling(sdkworker.PollerBehaviorAutoscalingOptions{}),
	})
	h.register(w)
	if err := w.Start(); err != nil {
		return fmt.Errorf("bench: worker of the bare cases: %w", err)
	}
	s.onClose(w.Stop)
	return nil
}

// servePawl runs Pawl's worker in this process and takes over its client.
func (s *stand) servePawl(ctx context.Context) error {
	if s.workspace == "" {
		made, err := os.MkdirTemp("", "pawl-bench-")
		if err != nil {
			return err
		}
		s.onClose(func() { _ = os.RemoveAll(made) })
		s.workspace = made
	}
	ready, ended := make(chan *client.Client, 1), make(chan struct{})
	var failed error
	var listen string
	if s.telemetry {
		listen = "127.0.0.1:0"
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(ended)
		failed = worker.Run(working, worker.Config{
			Temporal:    temporal.Options{HostPort: s.stack.TemporalAddress(), Namespace: s.stack.Namespace()},
			DatabaseURL: s.stack.DatabaseURL(), Workspace: s.workspace, SearchAttributes: true,
			KeyRing: s.keyRing, MCPServersFile: s.mcpServers, ModelURLs: s.modelURLs, HealthListen: listen, OTLP: worker.OTLP{Metrics: s.telemetry, Traces: s.telemetry}, Log: slog.New(slog.DiscardHandler),
		}, append(options(), worker.Tools(connected()), worker.Started(func(c *client.Client) { ready <- c }), worker.RoundTrips(s.trip))...)
	}()
	select {
	case s.pawl = <-ready:
		s.onClose(func() { stop(); <-ended })
		return nil
	case <-ended:
		stop()
		return fmt.Errorf("bench: Pawl's worker: %w", failed)
	case <-ctx.Done():
		stop()
		<-ended
		return ctx.Err()
	}
}

// trip counts a round trip to the database in an activity of a call. It does not count the
// periodic statements of the worker, which belong to no case.
func (s *stand) trip(ctx context.Context) {
	if activity.IsActivity(ctx) {
		s.trips.Add(1)
	}
}

func (s *stand) onClose(f func()) { s.closers = append(s.closers, f) }

func (s *stand) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}
