package activities

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

const (
	// resealBatch is how many secrets one statement reads, and one writes.
	resealBatch = 100
	// resealTime is how long one run goes on; the workflow starts the next.
	resealTime = 30 * time.Second
)

// Secrets are sealed credentials, of all tenants. An error that passes by itself is
// marked hook.Transient.
type Secrets interface {
	// SecretsToReseal returns up to most that another key sealed, in the order of
	// their places and from the one after that place on.
	SecretsToReseal(ctx context.Context, keyID int64, after broker.Binding, most int) ([]broker.Sealed, error)
	// ResealSecrets puts those there that are sealed anew, but for what somebody else
	// has replaced or sealed anew meanwhile, and returns how many. by is who asked for
	// it, for the audit trail.
	ResealSecrets(ctx context.Context, keyID int64, by string, resealed []Resealed) (int, error)
}

// Resealed is a secret that is sealed anew.
type Resealed struct {
	broker.Sealed
	// Was is the key that had sealed it.
	Was int64
}

// Resealer seals credentials with the newest key. It may be killed at any time and
// may run twice at once.
type Resealer struct {
	secrets Secrets
	sealer  broker.Sealer
	log     *slog.Logger
}

// NewResealer makes a resealer. sealer is nil where the worker has no key ring.
func NewResealer(secrets Secrets, sealer broker.Sealer, log *slog.Logger) *Resealer {
	return &Resealer{secrets, sealer, log}
}

// Register binds the activity of the workflow ResealSecrets.
func (s *Resealer) Register(r workflows.Registry) {
	workflows.Bind(r, workflows.Reseal, s.log, s.Reseal)
}

// Reseal seals secrets anew that are not sealed with the key, from a place on, and
// says for a while on its heartbeats where it is. No credential leaves it.
func (s *Resealer) Reseal(ctx context.Context, in workflows.ResealSecretsIn) (workflows.ResealSecretsOut, error) {
	out := workflows.ResealSecretsOut{ResealProgress: in.From}
	if s.sealer == nil {
		out.OtherKey = true
		return out, nil
	}
	if activity.IsActivity(ctx) && activity.HasHeartbeatDetails(ctx) {
		var last workflows.ResealProgress
		if err := activity.GetHeartbeatDetails(ctx, &last); err == nil {
			out.ResealProgress = last
		}
	}
	var latest atomic.Pointer[workflows.ResealProgress]
	stop := beating(ctx, &latest)
	defer stop()
	for began := time.Now(); time.Since(began) < resealTime && !stopping(ctx); {
		err := s.batch(ctx, in, &out)
		switch {
		case errors.Is(err, broker.ErrOtherKey):
			out.OtherKey = true
			return out, nil
		case err != nil && out.After != in.From.After && ctx.Err() == nil && hook.IsTransient(err):
			// What was done counts; the next run meets the error again, or not.
			return out, nil
		case err != nil || out.Done:
			return out, err
		}
		now := out.ResealProgress
		latest.Store(&now)
	}
	return out, nil
}

// batch seals the next few anew and moves out on.
func (s *Resealer) batch(ctx context.Context, in workflows.ResealSecretsIn, out *workflows.ResealSecretsOut) error {
	after := broker.Binding{TenantID: out.After.TenantID, ConnectionID: out.After.ConnectionID, Version: out.After.Version}
	secrets, err := s.secrets.SecretsToReseal(ctx, in.KeyID, after, resealBatch)
	if err != nil {
		return err
	}
	progress := out.ResealProgress
	var resealed []Resealed
	for _, secret := range secrets {
		progress.After = workflows.ResealPlace{TenantID: secret.TenantID, ConnectionID: secret.ConnectionID, Version: secret.Version}
		anew, err := broker.Reseal(s.sealer, secret, in.KeyID)
		switch {
		case errors.Is(err, broker.ErrSealed):
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
		n, err := s.secrets.ResealSecrets(ctx, in.KeyID, in.By, resealed)
		if err != nil {
			return err
		}
		progress.Resealed += n
	}
	out.ResealProgress, out.Done = progress, len(secrets) < resealBatch
	return nil
}
