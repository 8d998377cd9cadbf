package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.uber.org/fx"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/cache"
	"github.com/pawl-run/pawl/activities/capacity"
	"github.com/pawl-run/pawl/activities/connection"
	"github.com/pawl-run/pawl/activities/gate"
	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/broker/fingerprint"
	pawl "github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/clock"
	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
	"github.com/pawl-run/pawl/internal/presence"
	"github.com/pawl-run/pawl/internal/sources"
	"github.com/pawl-run/pawl/internal/submitter"
	"github.com/pawl-run/pawl/internal/workerkey"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/toolspec/source"
)

// These types implement the interfaces that the activities need.
var (
	_ activities.Records = (*postgres.Store)(nil)
	_ judge.Policies     = (*postgres.Store)(nil)
	_ judge.Source       = (*catalog.Registry)(nil)
	_ capacity.Store     = (*postgres.Store)(nil)
)

// partitionsAhead is the number of months for which the partitions of the record are made in
// advance.
const partitionsAhead = 3

// prepareStore opens the database and gives it to late. It checks that the schema is the schema of this program, and
// that the database is not a restored copy. Then it makes the partitions and applies the policy of the file. It
// repeats each step while the database does not answer.
func prepareStore(ctx context.Context, o *opened, c Config, a additions, p *policy.Policy, source *catalog.Registry, late *stored) (store *postgres.Store, err error) {
	err = withDatabase(ctx, c, func(ctx context.Context) (err error) {
		store, err = postgres.Open(ctx, c.DatabaseURL, storeOptions(c, a))
		return err
	})
	if err != nil {
		return nil, err
	}
	o.add(store.Close)
	store.UseNamespace(namespaceOf(c))
	if err := store.OpenBucket(ctx, c.OutputBucket); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	late.setStore(store)
	store.LimitOutputs(c.outputLimits())
	return store, withDatabase(ctx, c, func(ctx context.Context) error {
		if err := store.CheckSchema(ctx); err != nil {
			return err
		}
		if err := store.CheckOrigin(ctx); err != nil {
			return err
		}
		if err := store.EnsurePartitions(ctx, partitionsAhead); err != nil {
			return err
		}
		return applyPolicy(ctx, c, store, p, source.Specs())
	})
}

func storeOptions(c Config, a additions) postgres.Options {
	o := postgres.Options{MaxConns: c.Connections, OnRoundTrip: a.roundTrips, DirectURL: c.DatabaseDirectURL}
	if c.telemetry.Traces() {
		o.Trace = c.telemetry.Statement
	}
	return o
}

// connectTemporal connects to Temporal and registers the search attributes in the namespace. It repeats
// each step while Temporal does not answer.
func connectTemporal(ctx context.Context, o *opened, c Config) (temporal client.Client, err error) {
	err = withTemporal(ctx, c, func(ctx context.Context) (err error) {
		temporal, err = dial(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	o.add(temporal.Close)
	if err := withTemporal(ctx, c, func(ctx context.Context) error { return needNamespace(ctx, temporal, namespaceOf(c)) }); err != nil {
		return nil, err
	}
	if !c.SearchAttributes {
		return temporal, nil
	}
	return temporal, withTemporal(ctx, c, func(ctx context.Context) error { return needSearchAttributes(ctx, temporal, namespaceOf(c)) })
}

func namespaceOf(c Config) string {
	if c.Temporal.Namespace == "" {
		return client.DefaultNamespace
	}
	return c.Temporal.Namespace
}

// bindTools binds the built-in tools and the tools of the user to the capabilities. It leaves out the tools that are
// turned off, and built-in tools whose capabilities are not configured. It returns the registry of the bound tools,
// and the switch that knows which tools it has left out.
func bindTools(ctx context.Context, o *opened, c Config, a additions, n connections, late *stored) (*catalog.Registry, *toolSwitch, error) {
	workspaces, err := files.OpenAll(c.Workspace)
	if err != nil {
		return nil, nil, fmt.Errorf("workspace %s: %w", c.Workspace, err)
	}
	o.add(func() { _ = workspaces.Close() })
	own := append([]toolspec.Provided{
		capability.ClockKey.Provide(clock.System{}), capability.FilesKey.ProvideFor(workspaces.For), capability.ProgressKey.Provide(heartbeat.Progress{}),
	}, n.provided()...)
	web, builtin, err := provideWeb(o, c.Web)
	if err != nil {
		return nil, nil, err
	}
	commands, err := c.Shell.provided(ctx, c.Workspace)
	if err != nil {
		return nil, nil, err
	}
	provided, err := toolspec.NewCapabilities(slices.Concat(own, web, commands, late.provided(), a.capabilities)...)
	if err != nil {
		return nil, nil, err
	}
	registry := catalog.NewRegistry(provided)
	on, began := newSwitch(c.DisabledTools), time.Now()
	given := slices.Concat(builtin, a.tools)
	builtin, enabled := on.enabled(builtin), on.enabled(a.tools)
	if err := needKeyRing(slices.Concat(builtin, enabled), provided); err != nil {
		return nil, nil, err
	}
	runnable := on.runnable(builtin, provided, c.Log)
	if err := registry.Add(string(source.Builtin), runnable...); err != nil {
		return nil, nil, err
	}
	sources.LogKind(c.Log, source.Builtin, len(runnable), time.Since(began))
	began = time.Now()
	if err := registry.Add(string(source.Worker), enabled...); err != nil {
		return nil, nil, err
	}
	if len(enabled) > 0 {
		sources.LogKind(c.Log, source.Worker, len(enabled), time.Since(began))
	}
	on.report(c.Log, given, len(a.configured)+len(a.sources) > 0)
	return registry, on, nil
}

// providers returns the registry of the option Providers.
func providers(o *opened, a additions) (*provide.Registry, error) {
	r, err := provide.NewRegistry(a.providers...)
	if err != nil {
		return nil, fmt.Errorf("providers: %w", err)
	}
	o.add(r.Close)
	return r, nil
}

// hooksOf registers the hooks of the user.
func hooksOf(tools *catalog.Registry, from *sources.Set, a additions, log *slog.Logger) (*hook.Registry, error) {
	for toolID := range a.toolHooks {
		if _, ok := tools.Get(toolID); ok {
			continue
		}
		if from.MayGrow() {
			log.Info("hooks stand on a tool that this worker does not have yet; they run if a source offers it", "toolId", toolID)
		} else {
			log.Warn("hooks stand on a tool that this worker does not have", "toolId", toolID)
		}
	}
	return hook.NewRegistry(log, a.hooks, a.toolHooks)
}

// steps returns the activities of calls.
func steps(c Config, source *catalog.Registry, on *toolSwitch, store *postgres.Store, registry *hook.Registry, engine authz.Port, engines policy.Engines, provided *provide.Registry, tokens approval.IDTokens, watch *policyWatch, lends connection.Broker, a additions, live *fingerprint.Set, away *stickyResetter, log *slog.Logger) *activities.Activities {
	slotTimes := &capacity.SlotTimes{}
	return activities.New(source, a.records(store), store, registry, log, activities.Config{
		SlotTimes: slotTimes,
		Own: stage.Join(
			gate.Steps(gate.Parts{Policies: store, PolicyEngines: engines, Engine: engine, Tools: source, Shadow: watch.shadow.Load, Log: log}),
			capacity.Features(store), capacity.Limits(store, store, slotTimes), cache.Steps(store, source, store, log),
		),
		Workers: store, Leave: away.leave, IsOff: on.isOff, SearchAttributes: c.SearchAttributes, ConnectionKey: c.ConnectionKey, Providers: provided, Sessions: store, Submitters: submitter.New(store),
		Broker: c.telemetry.Leases(lends), Secrets: live, IDTokens: tokens, PolicyEngines: engines,
		Repairer: a.repairer, Validators: a.validators, Keys: workerkey.New(store), LocalTools: c.localTools(),
	})
}

// publish publishes the tools of this worker before the worker polls for tasks.
func publish(ctx context.Context, c Config, p *presence.Presence) error {
	return withDatabase(ctx, c, p.Publish)
}

// newPresence returns the presence of this worker.
func newPresence(c Config, a additions, store *postgres.Store, tools *catalog.Registry, from *sources.Set, log *slog.Logger) *presence.Presence {
	return presence.New(namespaceOf(c), c.Pool, store, tools, from, a.validators, log)
}

func resealer(n connections, store *postgres.Store, log *slog.Logger) *upkeep.Resealer {
	return upkeep.NewResealer(store, n.sealer, log)
}

func sweeper(c Config, store *postgres.Store, a *activities.Activities, runs *agent.Agents, temporal client.Client, log *slog.Logger) *upkeep.Sweeper {
	return upkeep.NewSweeper(namespaceOf(c), store, store, a.EndSwept, owners{temporal}, log, c.RetentionDays).WithAgentRuns(sweptRuns{store, runs})
}

// serve runs the worker, the outbox relay, the delivery of notices and the start of runs by events between start and stop. runCtx
// is the context of Run. When it ends, a start that waits for Temporal ends too.
func serve(
	runCtx context.Context, lc fx.Lifecycle, c Config, a additions, newWorker maker, store *postgres.Store, watch *policyWatch, seen *presence.Presence, moved registrationsMoved, away *stickyResetter, temporal client.Client,
	notified map[string]outbox.Notifier, runs *agent.Agents, log *slog.Logger,
) {
	ctx, cancel := context.WithCancel(context.Background())
	var w worker.Worker
	var background sync.WaitGroup
	others := newUnattended(c, newWorker, store, temporal)
	othersCtx, stopOthers := context.WithCancel(ctx)
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error {
			background.Go(func() { seen.Run(ctx) }) // the row must be renewed while the start waits for Temporal
			background.Go(func() { away.run(ctx) })
			if err := withTemporal(runCtx, c, func(context.Context) error {
				w = newWorker(toolspec.PoolQueue(c.Pool))
				return w.Start()
			}); err != nil {
				cancel()
				background.Wait()
				return fmt.Errorf("start the Temporal worker: %w", err)
			}
			for _, started := range a.started {
				o := clientpg.Of(store).Options()
				o.EagerStart, o.DataConverter = true, c.Temporal.DataConverter
				started(pawl.New(temporal, o))
			}
			background.Go(func() { others.run(othersCtx) })
			background.Go(func() {
				if err := postgres.NewRelay(store, namespaceOf(c), signals{temporal}, log).OnPolicy(watch.reportChange).OnTools(moved).Run(ctx); !errors.Is(err, context.Canceled) {
					log.Error("the outbox relay stopped", "reason", errs.Reason(err))
				}
			})
			background.Go(func() {
				if err := postgres.NewNotices(store, notified, log).Run(ctx); !errors.Is(err, context.Canceled) {
					log.Error("the delivery of notices stopped", "reason", errs.Reason(err))
				}
			})
			background.Go(func() {
				if err := postgres.NewTriggerEvents(store, namespaceOf(c), queuedEvents{runs}, log).Run(ctx); !errors.Is(err, context.Canceled) {
					log.Error("the start of runs by events stopped", "reason", errs.Reason(err))
				}
			})
			if c.TriggerDatabaseURL != "" {
				background.Go(func() { _ = store.NewNotifications(c.TriggerDatabaseURL, namespaceOf(c), log).Run(ctx) }) // it ends when ctx does
			}
			if c.TriggerFiles {
				background.Go(func() { watchFiles(ctx, c, store, log) })
			}
			return nil
		},
		OnStop: func(context.Context) error {
			stopOthers() // the workers of other pools stop while w stops
			w.Stop()
			cancel()
			background.Wait()
			return nil
		},
	})
}
