package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/client/triggerhttp"
	"github.com/pawl-run/pawl/internal/postgres"
)

// Triggers returns the store of a trigger.Firer.
func (d *Database) Triggers() trigger.Store { return d.store }

// TriggerQueue returns the queue of a trigger.Firer. It keeps each event in Postgres; a worker of the Temporal
// namespace starts its run when the quota of the trigger allows it.
func (d *Database) TriggerQueue(namespace string) trigger.Queue {
	return func(ctx context.Context, of trigger.Document, e trigger.Event) error {
		return d.store.QueueEvent(ctx, of, namespace, e)
	}
}

// WebhookProvider is the provider of connections that have the secret of a webhook.
const WebhookProvider = "webhook"

// WebhookSecrets returns the secrets for package triggerhttp: it reads the secret of a webhook from a connection
// of the tenant and opens it with sealer, the key ring of the workers.
func (d *Database) WebhookSecrets(sealer broker.Sealer) triggerhttp.Secrets {
	return webhookSecrets{d, sealer}
}

type webhookSecrets struct {
	*Database
	sealer broker.Sealer
}

// WebhookSecret implements triggerhttp.Secrets.
func (s webhookSecrets) WebhookSecret(ctx context.Context, tenantID, connectionID string) ([]byte, error) {
	record, _, err := s.store.ConnectionSecret(ctx, tenantID, connectionID)
	switch {
	case errors.Is(err, postgres.ErrNotFound), err == nil && record.Provider.ID != WebhookProvider:
		return nil, triggerhttp.ErrNoSecret
	case err != nil:
		return nil, fmt.Errorf("client/postgres: %w", err)
	}
	secret, err := broker.OpenPart(s.sealer, record.Sealed, broker.FieldKey)
	if err != nil {
		return nil, fmt.Errorf("client/postgres: %w", err)
	}
	return secret, nil
}
