package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/pawl-run/pawl/internal/postgres"
	postgrescatalog "github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// renewTime bounds one renewal.
	renewTime = 10 * time.Second
	// retryRenewal is the pause after a renewal that failed.
	retryRenewal = 2 * time.Second
)

// presence publishes the tools of this worker and renews its row in the database. Other programs
// see the tools as long as the row is renewed.
type presence struct {
	worker postgrescatalog.Worker
	store  *postgres.Store
	specs  published
	log    *slog.Logger
}

func newPresence(c Config, store *postgres.Store, specs published, log *slog.Logger) *presence {
	return &presence{worker: postgrescatalog.Worker{ID: uuid.NewString(), Namespace: namespaceOf(c)}, store: store, specs: specs, log: log}
}

func (p *presence) publish(ctx context.Context) error {
	return p.store.PublishSpecs(ctx, p.worker, p.specs)
}

// run renews the row until ctx ends. After a failed renewal it tries again after retryRenewal.
func (p *presence) run(ctx context.Context) {
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
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (p *presence) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	found, err := p.store.RenewWorker(ctx, p.worker.ID)
	if err == nil && !found {
		err = p.publish(ctx)
	}
	return err
}
