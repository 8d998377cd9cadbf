package worker

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
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
// active, or where the operator says so. One whose conditions do not fit the
// tools, this worker's and those of the others, keeps the worker from starting.
func applyPolicy(ctx context.Context, c Config, store *postgres.Store, p *policy.Policy, own []toolspec.Spec) error {
	specs, err := known(ctx, store, own)
	if err != nil {
		return err
	}
	if p != nil {
		if err := p.Check(specs); err != nil {
			return fmt.Errorf("policy: %w", err)
		}
		if err := put(ctx, c, store, p); err != nil {
			return err
		}
	}
	return report(ctx, c, store, specs)
}

// known are the tools of this worker, and those that others have published.
func known(ctx context.Context, store *postgres.Store, own []toolspec.Spec) ([]toolspec.Spec, error) {
	published, err := store.Specs(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(own)
	for _, s := range published {
		if !slices.ContainsFunc(own, func(o toolspec.Spec) bool { return o.Name == s.Name }) {
			all = append(all, s)
		}
	}
	return all, nil
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
func report(ctx context.Context, c Config, store *postgres.Store, specs []toolspec.Spec) error {
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
	for _, found := range p.Lint(specs) {
		c.Log.WarnContext(ctx, "policy says something to no effect", "at", found.Path, "reason", found.Reason)
	}
	if err := p.Check(specs); err != nil {
		c.Log.WarnContext(ctx, "policy does not fit the tools: conditions over what they lack fail", "reason", err.Error())
	}
	return nil
}
