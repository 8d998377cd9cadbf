package worker

import (
	"context"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// hotSwap is the capability HotSwap. As storedOutputs, it gets the database after tools are bound.
type hotSwap struct{ store *postgres.Store }

func newHotSwap() *hotSwap { return &hotSwap{} }

// ReloadPolicy implements capability.HotSwap. Each worker reads the policy in its policyWatch.
func (h *hotSwap) ReloadPolicy(ctx context.Context) (capability.PolicyVersion, error) {
	if err := h.store.AnnouncePolicy(ctx); err != nil {
		return capability.PolicyVersion{}, err
	}
	active, _, err := h.store.ActivePolicy(ctx)
	return capability.PolicyVersion{Digest: active.Digest, ActivatedAt: active.At}, err
}
