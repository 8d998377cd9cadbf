package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"go.uber.org/fx"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/secretfile"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// maxAuditKey is the maximum size of the file of PAWL_AUDIT_KEY, in bytes.
const maxAuditKey = 4096

// readAuditKey reads the file of PAWL_AUDIT_KEY. Without this variable it returns nil, and the heads of the audit trail
// are not signed.
func readAuditKey(c Config) (*proof.Signer, error) {
	if c.AuditKeyFile == "" {
		return nil, nil
	}
	text, err := secretfile.Read(c.AuditKeyFile, maxAuditKey)
	if err != nil {
		return nil, fmt.Errorf("config: PAWL_AUDIT_KEY: %w", err)
	}
	defer clear(text)
	signer, err := proof.ParseSigner(text)
	if err != nil {
		return nil, fmt.Errorf("config: PAWL_AUDIT_KEY: %s has no private key: `pawl keys new --out FILE` makes one", c.AuditKeyFile)
	}
	return &signer, nil
}

// sealAudit seals the events of the record between start and stop.
func sealAudit(lc fx.Lifecycle, c Config, store *postgres.Store, log *slog.Logger) error {
	signer, err := readAuditKey(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var sealing sync.WaitGroup
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error {
			sealing.Go(func() {
				if err := postgres.NewSealer(store, signer, c.RetentionDays, log).Run(ctx); !errors.Is(err, context.Canceled) {
					log.Error("the sealing of the audit trail stopped", "reason", errs.Reason(err))
				}
			})
			return nil
		},
		OnStop: func(context.Context) error {
			cancel()
			sealing.Wait()
			return nil
		},
	})
	return nil
}
