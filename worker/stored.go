package worker

import (
	"context"

	"github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output"
)

// stored are the built-in capabilities that the database implements. The worker binds its tools to these capabilities before it opens
// the database, because prepareStore checks the policy file against the tools right after it opens the database. The method setStore sets
// the database before any tool runs. Each capability has its own methods and no other methods of the store.
type stored struct {
	outputs struct{ output.Reader }
	memory  struct{ capability.Memory }
	plans   struct{ capability.Plans }
	swap    hotSwap
	runs    struct{ capability.AgentRuns }
}

func newStored() *stored { return &stored{} }

// setStore sets the database in which the capabilities store their data.
func (s *stored) setStore(store *postgres.Store) {
	s.outputs.Reader, s.memory.Memory, s.plans.Plans, s.swap.store = store, store, store, store
	s.runs.AgentRuns = &agent.Children{Store: store, Document: documents(store)}
}

func (s *stored) provided() []toolspec.Provided {
	return []toolspec.Provided{
		capability.OutputsKey.Provide(&s.outputs), capability.MemoryKey.Provide(&s.memory), capability.PlansKey.Provide(&s.plans),
		capability.HotSwapKey.Provide(&s.swap), capability.AgentRunsKey.Provide(&s.runs),
	}
}

// hotSwap implements capability.HotSwap.
type hotSwap struct {
	store interface {
		AnnouncePolicy(ctx context.Context) error
		AnnounceTools(ctx context.Context) error
		ActivePolicy(ctx context.Context) (active policies.Active, ok bool, err error)
	}
}

// ReloadPolicy implements capability.HotSwap. Each worker reads the policy in its policyWatch.
func (h *hotSwap) ReloadPolicy(ctx context.Context) (capability.PolicyVersion, error) {
	if err := h.store.AnnouncePolicy(ctx); err != nil {
		return capability.PolicyVersion{}, err
	}
	active, ok, err := h.store.ActivePolicy(ctx)
	if err == nil && !ok {
		return capability.PolicyVersion{}, capability.ErrNoPolicy
	}
	return capability.PolicyVersion{Digest: active.Digest, ActivatedAt: active.At}, err
}

// ReloadTools implements capability.HotSwap. Each worker reads the registrations in its source of registered tools.
func (h *hotSwap) ReloadTools(ctx context.Context) error { return h.store.AnnounceTools(ctx) }
