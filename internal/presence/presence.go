package presence

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pawl-run/pawl/internal/postgres"
	postgrescatalog "github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/sources"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

const (
	// renewTime bounds one renewal.
	renewTime = 10 * time.Second
	// retryRenewal is the pause after a renewal that failed.
	retryRenewal = 2 * time.Second
	// publishPause is the least time between two publications, so that a source whose tools change all
	// the time does not write all the time.
	publishPause = 500 * time.Millisecond
	// deletePause is the time until the next deletion of old definitions, unless the last one found some.
	deletePause = 10 * time.Minute
	// deleteAgain is the time until the next deletion if the last one found old definitions: there may be more soon.
	deleteAgain = time.Minute
)

// Presence is the row of a worker in the database, with the tools that the worker publishes. Other programs see the
// tools as long as the row is renewed. It is not safe for concurrent use.
type Presence struct {
	worker postgrescatalog.Worker
	store  *postgres.Store
	tools  *published
	from   *sources.Set
	log    *slog.Logger
	// stale reports that the sources have changed since the last publication.
	stale bool
	// publishBeganAt is when the last publication began, also if it failed.
	publishBeganAt time.Time
	// deleteAfter is when old definitions are deleted next.
	deleteAfter time.Time
	// conflicts are the tools of which workers had different definitions after the last publication.
	conflicts []string
}

// New returns the presence of a worker of a namespace and a pool that has the tools of a registry and of sources.
// compile replaces the built-in validators of arguments, if it is not nil.
func New(
	namespace, pool string, store *postgres.Store, tools *catalog.Registry, from *sources.Set,
	compile func(toolspec.Spec) (hydrate.Validator, error), log *slog.Logger,
) *Presence {
	return &Presence{
		worker: postgrescatalog.Worker{ID: uuid.NewString(), Namespace: namespace, Pool: pool}, store: store,
		tools: &published{tools: tools, compile: compile, log: log}, from: from, log: log,
	}
}

// Publish writes the tools of this worker and the states of its sources into the database, and logs new conflicts.
func (p *Presence) Publish(ctx context.Context) error {
	select {
	case <-p.from.Changed(): // this publication has all changes until now
	default:
	}
	p.publishBeganAt, p.stale = time.Now(), true
	p.worker.Sources = p.from.States()
	if err := p.store.PublishSpecs(ctx, p.worker, p.tools.specs(ctx)); err != nil {
		return err
	}
	p.stale = false
	p.logConflicts(ctx)
	return nil
}

// deleteOld deletes old definitions of tools once deleteAfter has passed. Each renewal calls it, and not only each
// publication: the definitions of a worker that publishes nothing become old too.
func (p *Presence) deleteOld(ctx context.Context) {
	now := time.Now()
	if now.Before(p.deleteAfter) {
		return
	}
	p.deleteAfter = now.Add(deletePause)
	n, err := p.store.DeleteOldSpecs(ctx)
	switch {
	case err != nil: // a later renewal tries again
		p.log.DebugContext(ctx, "old definitions of tools were not deleted", "reason", errs.Reason(err))
	case n > 0: // there are more soon if a server renames its tools all the time
		p.deleteAfter = now.Add(deleteAgain)
	}
}

// logConflicts logs new tools of which this worker and another worker have different definitions.
func (p *Presence) logConflicts(ctx context.Context) {
	found, err := p.store.ToolConflicts(ctx, p.worker.Namespace)
	if err != nil {
		return // `pawl doctor` shows them too
	}
	found = slices.DeleteFunc(found, func(id string) bool {
		_, has := p.tools.tools.Get(id)
		return !has
	})
	newConflicts := slices.DeleteFunc(slices.Clone(found), func(id string) bool { return slices.Contains(p.conflicts, id) })
	p.conflicts = found
	if len(newConflicts) > 0 {
		p.log.WarnContext(ctx, "running workers have different definitions of tools, as during a deployment; lists show those of the worker that started last",
			"count", len(newConflicts), "toolIds", newConflicts[:min(len(newConflicts), maxLogged)])
	}
}

// Run renews the row until ctx ends, and publishes the tools again when they change. After a failure it
// tries again after retryRenewal.
func (p *Presence) Run(ctx context.Context) {
	away := false
	for {
		err, wait := p.renew(ctx), postgrescatalog.RenewEvery
		if err != nil {
			wait = retryRenewal
		}
		switch {
		case err != nil && !away && ctx.Err() == nil:
			p.log.WarnContext(ctx, "other programs may not see the tools of this worker: it could not renew its row of workers", "reason", errs.Reason(err))
		case err == nil && away:
			p.log.InfoContext(ctx, "other programs see the tools of this worker again")
		}
		away = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		case <-p.from.Changed():
			p.stale = true
			if db.Pause(ctx, publishPause-time.Since(p.publishBeganAt)); ctx.Err() != nil {
				return
			}
		}
	}
}

// renew renews the row of this worker. It publishes the tools if they have changed, or if the database does not have the
// row any more.
func (p *Presence) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	// Renew the row first: if the publication takes too long, other programs still see the worker and its tools.
	found, err := p.store.RenewWorker(ctx, p.worker.ID)
	if err == nil && (p.stale || !found) {
		err = p.Publish(ctx)
	}
	if err == nil {
		p.deleteOld(ctx)
	}
	return err
}
