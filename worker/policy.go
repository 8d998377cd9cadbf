package worker

import (
	"context"
	"fmt"
	"os"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
)

// applyPolicy brings the policy file into the database: where none is active, or
// where the operator says so. A file with an error stops the worker before it
// takes a call, and names file, line and reason.
func applyPolicy(ctx context.Context, c Config, store *postgres.Store) error {
	if c.PolicyFile != "" {
		doc, err := os.ReadFile(c.PolicyFile)
		if err != nil {
			return fmt.Errorf("policy: %w", err)
		}
		p, err := policy.Parse(c.PolicyFile, doc)
		if err != nil {
			return fmt.Errorf("policy: %w", err)
		}
		if err := put(ctx, c, store, p); err != nil {
			return err
		}
	}
	return report(ctx, c, store)
}

func put(ctx context.Context, c Config, store *postgres.Store, p *policy.Policy) error {
	by := "worker " + c.PolicyFile
	if !c.ApplyPolicy {
		_, err := store.ApplyIfNone(ctx, p, by)
		return err
	}
	_, err := store.ApplyPolicy(ctx, p, by)
	return err
}

// report says loudly which policy judges, and what about it is dangerous.
func report(ctx context.Context, c Config, store *postgres.Store) error {
	active, ok, err := store.ActivePolicy(ctx)
	if err != nil {
		return err
	}
	if !ok {
		c.Log.WarnContext(ctx, "no policy is active: every call is denied; give one with PAWL_POLICY=file")
		return nil
	}
	c.Log.InfoContext(ctx, "policy", "digest", active.Digest, "activatedBy", active.By)
	p, err := store.Policy(ctx, active.Digest)
	if err != nil {
		return err
	}
	for _, warning := range p.Warnings() {
		c.Log.WarnContext(ctx, "policy is lax", "warning", warning)
	}
	return nil
}
