package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// resealBatch is how many secrets one statement reads or writes.
	resealBatch = 100
	// resealTime is how long one run of the activity works. After that, the workflow starts
	// the activity again.
	resealTime = 30 * time.Second
)

// Secrets stores the sealed credentials of all tenants. A temporary error is marked
// errs.Transient.
type Secrets interface {
	// SecretsToReseal returns up to limit secrets that another key than keyID sealed, in the order
	// of their bindings, from the first secret after the binding previous.
	SecretsToReseal(ctx context.Context, keyID int64, previous broker.Binding, limit int) ([]broker.Sealed, error)
	// ResealSecrets writes the resealed secrets and returns how many it wrote. It does not
	// write a secret that somebody else replaced or resealed in the meantime.
	ResealSecrets(ctx context.Context, keyID int64, resealed []Resealed) (int, error)
}

// Resealed is a secret that was sealed again with the new key.
type Resealed struct {
	broker.Sealed
	// Was is the ID of the key that sealed the secret before.
	Was int64
}

// Resealer seals credentials with the newest key. It may be killed at any time, and two runs may
// overlap.
type Resealer struct {
	secrets Secrets
	sealer  broker.Sealer
	log     *slog.Logger
}

// NewResealer makes a resealer. sealer is nil if the worker has no key ring.
func NewResealer(secrets Secrets, sealer broker.Sealer, log *slog.Logger) *Resealer {
	return &Resealer{secrets, sealer, log}
}

// Register binds the activity of the workflow ResealSecrets.
func (s *Resealer) Register(r contract.Registry) {
	contract.Bind(r, contract.Reseal, s.log, s.Reseal)
}

// Reseal seals secrets with the key in.KeyID that another key sealed. It starts after the
// secret that in.From names, works for about resealTime, and reports its progress in heartbeats.
// OtherKey in the output means that this worker does not seal with the key in.KeyID. The
// output and the heartbeats hold no credential.
func (s *Resealer) Reseal(ctx context.Context, in contract.ResealSecretsIn) (contract.ResealSecretsOut, error) {
	out := contract.ResealSecretsOut{ResealProgress: in.From}
	if s.sealer == nil { // this worker has no key ring
		out.OtherKey = true
		return out, nil
	}
	// An earlier attempt may have reported progress before it was lost.
	if activity.IsActivity(ctx) && activity.HasHeartbeatDetails(ctx) {
		var last contract.ResealProgress
		if err := activity.GetHeartbeatDetails(ctx, &last); err == nil {
			out.ResealProgress = last
		}
	}
	var latest atomic.Pointer[contract.ResealProgress]
	stop := heartbeat.Send(ctx, &latest)
	defer stop()
	for began := time.Now(); time.Since(began) < resealTime && !heartbeat.Stopping(ctx); {
		err := s.batch(ctx, in, &out)
		hasProgress := out.After != in.From.After
		switch {
		// This worker seals with another key, so the workflow waits for another worker.
		case errors.Is(err, broker.ErrOtherKey):
			out.OtherKey = true
			return out, nil
		case hasProgress && errs.IsTransient(err) && ctx.Err() == nil:
			// Keep the progress of this run: the error may be gone in the next run.
			return out, nil
		case err != nil || out.Done:
			return out, err
		}
		now := out.ResealProgress
		latest.Store(&now)
	}
	return out, nil
}

// batch seals the next secrets again, at most resealBatch, and adds its progress to out. On an
// error, out does not change.
func (s *Resealer) batch(ctx context.Context, in contract.ResealSecretsIn, out *contract.ResealSecretsOut) error {
	after := broker.Binding{TenantID: out.After.TenantID, ConnectionID: out.After.ConnectionID, Version: out.After.Version}
	secrets, err := s.secrets.SecretsToReseal(ctx, in.KeyID, after, resealBatch)
	if err != nil {
		return err
	}
	progress := out.ResealProgress
	var resealed []Resealed
	for _, secret := range secrets {
		progress.After = contract.ResealPlace{TenantID: secret.TenantID, ConnectionID: secret.ConnectionID, Version: secret.Version}
		anew, err := broker.Reseal(s.sealer, secret, in.KeyID)
		switch {
		case errors.Is(err, broker.ErrSealed):
			// A secret that does not open must not stop the other secrets: log and count it.
			s.log.ErrorContext(ctx, "a sealed credential does not open: its key is not in this worker's key ring, or it was changed",
				"tenantId", secret.TenantID, "connectionId", secret.ConnectionID, "keyId", secret.KeyID)
			progress = progress.WithUnopened(secret.TenantID, secret.ConnectionID)
		case err != nil:
			return err
		default:
			resealed = append(resealed, Resealed{Sealed: anew, Was: secret.KeyID})
		}
	}
	if len(resealed) > 0 {
		n, err := s.secrets.ResealSecrets(ctx, in.KeyID, resealed)
		if err != nil {
			return err
		}
		progress.Resealed += n
	}
	// A page with fewer than resealBatch secrets is the last page.
	out.ResealProgress, out.Done = progress, len(secrets) < resealBatch
	return nil
}
