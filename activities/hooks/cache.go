package hooks

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Bounds of a single flight. It may last as long as one attempt, and a little
// longer for a worker that dies to be noticed; who waits for it does so twice as
// long at the most, and then runs the tool alone.
const (
	flightSlack = 15 * time.Second
	flightMost  = 5 * time.Minute
	// flightLook is how often a call looks by itself, should nobody tell it.
	flightLook = 10 * time.Second
)

// Cache answers reads with values that the same call got before. Values are kept
// only where tool or policy says for how long; else none of its stages runs. The
// second hook answers, after everybody else has had a look at what was found.
func Cache(policies activities.Policies, source activities.Source, results activities.Results, log *slog.Logger) []hook.Hook {
	c := &cache{policies: policies, source: source, results: results, log: log}
	return []hook.Hook{
		hook.New("cache", hook.Builtin(), hook.OnDemand(), hook.OnlyFor(c.mayKeep),
			hook.WillAuthorize.Do(c.need), hook.WillReadCache.Do(c.read), hook.WillWriteCache.Do(c.write)),
		hook.New("cache-answer", hook.BuiltinLast(), hook.OnDemand(), hook.OnlyFor(c.mayKeep), hook.DidCacheHit.Do(c.answer)),
	}
}

type cache struct {
	policies activities.Policies
	source   activities.Source
	results  activities.Results
	log      *slog.Logger
}

// mayKeep reports whether any policy could have values of the tool kept.
func (c *cache) mayKeep(toolID string) bool {
	bound, ok := c.source.Get(toolID)
	return ok && bound.Definition().Effect == toolspec.ReadOnly && bound.Definition().CacheFor >= 0
}

// cached is what the views of reading and of writing let the cache see.
type cached interface {
	ToolID() string
	ToolDigest() string
	PolicyDigest() string
	Effect() toolspec.Effect
	Context() toolspec.Context
	Connection() hook.Connection
	Args() json.RawMessage
	Varies() bool
}

// ttl is how long values of the call may be kept, by the tool as it is here and
// the policy of this round; 0 is not at all. A tool that is another one here than
// in the call is nothing to go by.
func (c *cache) ttl(ctx context.Context, toolID, tenantID, policyDigest string, effect toolspec.Effect) (time.Duration, *catalog.Bound, error) {
	if effect != toolspec.ReadOnly {
		return 0, nil, nil
	}
	bound, ok := c.source.Get(toolID)
	if !ok || bound.Definition().Effect != toolspec.ReadOnly {
		return 0, nil, nil
	}
	p, err := c.policies.Policy(ctx, policyDigest)
	if err != nil {
		return 0, nil, err
	}
	return p.CacheFor(tenantID, toolID, bound.Definition().CacheFor), bound, nil
}

// need has the stages of the cache run for calls whose values may be kept.
func (c *cache) need(ctx context.Context, v *hook.Gate) error {
	// What is provided for one call or session, such as another root, makes another value of the same arguments.
	if v.Varies() {
		return nil
	}
	ttl, _, err := c.ttl(ctx, v.ToolID(), v.Context().TenantID, v.PolicyDigest(), v.Effect())
	if ttl > 0 {
		v.Need(hook.WillReadCache.Stage(), hook.DidCacheHit.Stage(), hook.WillWriteCache.Stage())
	}
	return err
}

// entry is what the value of the call would be kept as, nil where it may not be.
func (c *cache) entry(ctx context.Context, v cached) (*hook.CacheEntry, *catalog.Bound, error) {
	ttl, bound, err := c.ttl(ctx, v.ToolID(), v.Context().TenantID, v.PolicyDigest(), v.Effect())
	if err != nil || ttl <= 0 || bound.Digest() != v.ToolDigest() || v.Varies() {
		return nil, nil, err
	}
	def := bound.Definition()
	in, err := newCacheInput(v.Context(), def.CacheScope, v.ToolID(), v.ToolDigest(), v.PolicyDigest(), v.Connection(), v.Args())
	if err != nil {
		return nil, nil, err
	}
	return &hook.CacheEntry{Key: in.key(), TTLMs: ttl.Milliseconds(), Tags: def.CacheTags}, bound, nil
}

// read finds a value, or waits for the call that is about to get it.
func (c *cache) read(ctx context.Context, v *hook.Lookup) error {
	entry, bound, err := c.entry(ctx, v)
	if err != nil || entry == nil {
		return err
	}
	lease := min(bound.Definition().Timeout+flightSlack, flightMost)
	found, err := c.results.Lookup(ctx, activities.LookupRow{
		InvocationID: v.InvocationID(), TenantID: v.Context().TenantID, Epoch: v.Epoch(), Round: v.Round(), Key: entry.Key, Lease: lease,
	})
	switch {
	case err != nil:
		return err
	case found.Superseded:
		return hook.Stale()
	case found.Value != nil && good(bound, found.Value):
		hook.Hit(v, found.Value)
		return nil
	case found.Value != nil:
		// Whatever wrote it, the tool's own value replaces it.
		c.log.WarnContext(ctx, "a kept value breaks the contract of its tool", "toolId", v.ToolID(), "invocationId", v.InvocationID(), "key", entry.Key)
		return nil
	}
	if !found.Flies {
		return nil
	}
	return hook.WaitFor(hook.Wait{
		Reason: "another call is reading the same", Code: toolspec.CodeCapacity, GoOn: true,
		RetryMs: min(found.Remaining, flightLook).Milliseconds(), DeadlineMs: 2 * lease.Milliseconds(),
	})
}

// good reports whether a kept value is one that the tool could have given.
func good(bound *catalog.Bound, value json.RawMessage) bool {
	redacted, err := bound.Redact(value)
	return err == nil && len(bound.ValidateRedacted(redacted)) == 0
}

// answer gives what was found, unless somebody wants the tool to run.
func (c *cache) answer(_ context.Context, v *hook.Cached) error {
	if !hook.Answers(v) {
		return nil
	}
	return v.Respond(v.Value())
}

// write proposes the entry; hooks after it may narrow it, and settle keeps it.
func (c *cache) write(ctx context.Context, v *hook.Keep) error {
	if !v.OK() || v.Source() != toolspec.SourceExecuted {
		return nil
	}
	entry, _, err := c.entry(ctx, v)
	if err == nil && entry != nil {
		hook.KeepAs(v, *entry)
	}
	return err
}
