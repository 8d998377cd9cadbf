package worker

import (
	"context"
	"fmt"
	"os"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
)

// readPolicy reads the policy file; without one it returns nil. A file with an
// error stops the worker before it waits for anything, and the error names file,
// line and reason.
func readPolicy(c Config) (*policy.Policy, error) {
	if c.PolicyFile == "" {
		return nil, nil //nolint:nilnil // no file, and nothing wrong with that
	}
	doc, err := os.ReadFile(c.PolicyFile)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	p, err := policy.Parse(c.PolicyFile, doc)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return p, nil
}

// applyPolicy brings the policy of the file into the database: where none is
// active, or where the operator says so.
func applyPolicy(ctx context.Context, c Config, store *postgres.Store, p *policy.Policy) error {
	if p != nil {
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
