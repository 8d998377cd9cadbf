package worker

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.uber.org/fx"

	"github.com/pawl-run/pawl/internal/health"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/internal/sources"
	"github.com/pawl-run/pawl/internal/telemetry"
)

const (
	// temporalTime is how long a check waits for an answer of Temporal. After it, the check has time to find out why
	// there is none.
	temporalTime = 500 * time.Millisecond
	// keyRingEvery is how long the result of the check of the key ring is used again, because this check counts all
	// credentials in the database.
	keyRingEvery = time.Minute
	// deploymentEvery is how long the result of the check of the deployment is used again, because a workflow of
	// Temporal has to answer this check.
	deploymentEvery = 10 * time.Second
	// shownSources bounds the sources that a message names.
	shownSources = 5
)

// startHealth starts the listener for probes if HealthListen is set. It returns the board from which the listener answers,
// and the function that stops the listener. Without a listener the board is nil.
func startHealth(ctx context.Context, c Config) (board *health.Board, stop func(), err error) {
	if c.HealthListen == "" {
		return nil, func() {}, nil
	}
	board = health.NewBoard()
	c.telemetry.ServeChecks(func(ctx context.Context) iter.Seq2[string, int] { return checkValues(board.Report(ctx)) })
	context.AfterFunc(ctx, board.Stopping) // the worker may be stopped while it starts
	at, stop, err := health.Listen(context.WithoutCancel(ctx), c.HealthListen, board, c.telemetry.Handler())
	if err != nil {
		return nil, nil, fmt.Errorf("config: PAWL_HEALTH_LISTEN: %w", err)
	}
	c.Log.InfoContext(ctx, "the worker answers probes", "address", at.String())
	return board, stop, nil
}

// checkValues returns the name and the metric of each check of a report. A check that waits for another part, as the
// check of the policy waits for the database, has no metric: the metric of the other part shows the fault.
func checkValues(r health.Report) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, check := range r.Checks {
			value := telemetry.CheckOK
			switch check.State {
			case health.OK:
			case health.Degraded:
				value = telemetry.CheckDegraded
			case health.Failed:
				value = telemetry.CheckFailed
			case health.Waiting:
				if check.Name != health.Worker { // the check of the worker itself waits while the worker starts
					continue
				}
				value = telemetry.CheckFailed
			}
			if !yield(check.Name, value) {
				return
			}
		}
	}
}

// reportHealth gives the board the checks of the worker when the worker has started.
func reportHealth(lc fx.Lifecycle, c Config, store *postgres.Store, from *sources.Set, n connections, temporal client.Client) {
	h := &checks{c: c, store: store, from: from, ring: n, temporal: temporal}
	lc.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, loadTimeout)
		defer cancel()
		if found := h.keyRing(ctx); found.State == health.Degraded {
			c.Log.WarnContext(ctx, "calls with connections fail", "reason", found.Message)
		}
		c.board.Started(h.run)
		return nil
	}})
}

// checks are the checks of a running worker.
type checks struct {
	c        Config
	store    *postgres.Store
	from     *sources.Set
	ring     connections
	temporal client.Client
	// ringFound is the result of the last check of the key ring. This field and the fields after it need no lock, because
	// the board runs one set of checks at a time.
	ringFound health.Check
	// ringAt is the time of the last check of the key ring.
	ringAt time.Time
	// deploymentFound is the result of the last check of the deployment.
	deploymentFound health.Check
	// deploymentAt is the time of the last check of the deployment.
	deploymentAt time.Time
}

func (h *checks) run(ctx context.Context) []health.Check {
	var found []health.Check
	var database sync.WaitGroup
	database.Go(func() { found = h.database(ctx) })
	temporal := h.server(ctx)
	var versions []health.Check
	if h.c.Deployment.Name != "" && temporal.State == health.OK {
		versions = append(versions, h.deployment(ctx))
	}
	database.Wait()
	return append(append(found, temporal, h.sources()), versions...)
}

func (h *checks) database(ctx context.Context) []health.Check {
	if err := h.store.CheckSchema(ctx); err != nil {
		const later = "not checked, because the database is not usable"
		return []health.Check{
			{Name: health.Database, State: health.Failed, Message: health.DatabaseFault(err)},
			{Name: health.Policy, State: health.Waiting, Message: later}, {Name: health.KeyRing, State: health.Waiting, Message: later},
		}
	}
	policy := health.Check{Name: health.Policy, State: health.OK, Message: "a policy is active"}
	switch _, ok, err := h.store.ActivePolicy(ctx); {
	case err != nil:
		policy.State, policy.Message = health.Failed, health.DatabaseFault(err)
	case !ok:
		policy.State, policy.Message = health.Failed, "no policy is active, so every call is denied: run `pawl policy apply FILE`"
	}
	return []health.Check{{Name: health.Database, State: health.OK, Message: "the database answers, and its schema is up to date"}, policy, h.keyRing(ctx)}
}

// keyRing checks that the key ring has the keys of all stored credentials. Without a key the worker is degraded
// only, because calls without connections run.
func (h *checks) keyRing(ctx context.Context) health.Check {
	if time.Since(h.ringAt) < keyRingEvery {
		return h.ringFound
	}
	uses, err := h.store.SecretsByKey(ctx)
	if err != nil {
		return health.Check{Name: health.KeyRing, State: health.Degraded, Message: health.DatabaseFault(err)}
	}
	h.ringFound, h.ringAt = keyRingCheck(h.ring, uses), time.Now()
	return h.ringFound
}

// keyRingCheck checks that the ring has each key with which a stored credential is sealed.
func keyRingCheck(ring connections, uses []postgres.KeyUse) health.Check {
	found := health.Check{Name: health.KeyRing, State: health.OK, Message: "the key ring has the keys of all credentials"}
	keyed, ok := ring.sealer.(interface{ Keys() []seal.Key })
	switch {
	case ring.sealer == nil && len(uses) == 0:
		found.Message = "there is no key ring, and no connection needs one"
	case ring.sealer == nil:
		found.State, found.Message = health.Degraded, "there are connections, and this worker has no key ring: set PAWL_KEYRING_FILE"
	case ok:
		has := map[int64]bool{}
		for _, key := range keyed.Keys() {
			has[key.ID] = true
		}
		for _, use := range uses {
			if !has[use.KeyID] {
				found.State = health.Degraded
				found.Message = "the key ring of this worker lacks a key that has sealed credentials: give it the file that `pawl connections` uses (PAWL_KEYRING_FILE)"
			}
		}
	}
	return found
}

// deployment checks that the build of this worker gets calls. A worker whose build gets no calls yet is degraded and
// still ready: an orchestrator must be able to start it before an operator makes the build current.
func (h *checks) deployment(ctx context.Context) health.Check {
	if time.Since(h.deploymentAt) < deploymentEvery {
		return h.deploymentFound
	}
	found := health.Check{Name: health.Deployment, State: health.OK}
	var err error
	if found.Message, err = CheckDeployment(ctx, h.temporal, h.c.Deployment); err != nil {
		found.State, found.Message = health.Degraded, err.Error()
	}
	h.deploymentFound, h.deploymentAt = found, time.Now()
	return found
}

func (h *checks) server(ctx context.Context) health.Check {
	asking, cancel := context.WithTimeout(ctx, temporalTime)
	defer cancel()
	_, err := h.temporal.WorkflowService().DescribeNamespace(asking, &workflowservice.DescribeNamespaceRequest{Namespace: namespaceOf(h.c)})
	if err != nil {
		return health.Check{Name: health.Temporal, State: health.Failed, Message: health.TemporalFault(ctx, h.c.Temporal, err)}
	}
	return health.Check{Name: health.Temporal, State: health.OK, Message: "Temporal answers, and has the namespace"}
}

// sources returns a check that names the sources with a fault. The text of a fault may come from a server, so
// it is not in the message.
func (h *checks) sources() health.Check {
	states := h.from.States()
	var faulty []string
	for _, s := range states {
		if s.Fault != "" {
			faulty = append(faulty, strings.TrimSpace(s.Kind+" "+s.Name))
		}
	}
	if len(faulty) == 0 {
		return health.Check{Name: health.Sources, State: health.OK, Message: "all sources of tools work"}
	}
	named := strings.Join(faulty[:min(len(faulty), shownSources)], ", ")
	return health.Check{
		Name: health.Sources, State: health.Degraded,
		Message: fmt.Sprintf("%d of %d sources of tools have a fault (%s): `pawl doctor` says which", len(faulty), len(states), named),
	}
}
