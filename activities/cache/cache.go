package cache

import (
	"context"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/output"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Bounds of the wait for another call that runs the tool for the same value. The lease of that call lasts for the
// timeout of the tool plus leaseSlack, at most maxComputeWait. A waiting call waits for at most twice the lease,
// and then runs the tool itself.
const (
	leaseSlack     = 15 * time.Second
	maxComputeWait = 5 * time.Minute
	// lookInterval is the interval at which a waiting call asks the cache again.
	lookInterval = 10 * time.Second
)

// Steps returns the steps of the cache. The cache reads before the hooks of willReadCache, answers
// after the hooks of didCacheHit, and proposes an entry before the hooks of willWriteCache.
func Steps(policies judge.Policies, tools judge.Source, results Results, log *slog.Logger) stage.Table {
	c := &cache{policies: policies, tools: tools, results: results, log: log}
	return stage.Table{
		hook.WillReadCache.Stage():  {Before: c.read, Serves: c.mayKeep},
		hook.DidCacheHit.Stage():    {After: answer, Serves: c.mayKeep},
		hook.WillWriteCache.Stage(): {Before: c.write, Serves: c.mayKeep},
	}
}

type cache struct {
	policies judge.Policies
	tools    judge.Source
	results  Results
	outputs  output.Deliverer // for Clean only
	log      *slog.Logger
}

// mayKeep reports whether any policy could let the cache keep values of the tool.
func (c *cache) mayKeep(toolID string) bool {
	bound, ok := c.tools.Get(toolID)
	return ok && bound.Definition().Effect == toolspec.ReadOnly && bound.Definition().CacheFor >= 0
}

// entry returns the entry under which the cache would keep the value of a call, and the tool of the call. Both are
// nil if the cache keeps no value of this call, for example because this worker does not have the definition of
// the tool with which the call was admitted.
func (c *cache) entry(ctx context.Context, f hook.Facts) (*hook.CacheEntry, *catalog.Bound, error) {
	p, err := c.policies.Policy(ctx, f.PolicyDigest)
	if err != nil {
		return nil, nil, err
	}
	ttl := judge.CacheTime(p, f, c.tools)
	bound, here := c.tools.Find(f.ToolID, f.ToolDigest)
	if ttl <= 0 || !here || bound.Digest() != f.ToolDigest || judge.Varies(ctx, f) {
		return nil, nil, nil
	}
	def := bound.Definition()
	in, err := newCacheInput(f.Context, def.CacheScope, f.ToolID, f.ToolDigest, f.PolicyDigest, f.Connection.Value(), f.Args)
	if err != nil {
		return nil, nil, err
	}
	return &hook.CacheEntry{Key: in.key(), TTLMs: ttl.Milliseconds(), Tags: def.CacheTags}, bound, nil
}

// read puts the cached value into the verdict. If another call runs the tool for the same value, read makes the
// call wait. If there is no value, the verdict is empty, and the tool runs.
func (c *cache) read(ctx context.Context, in hook.StageInput) (v hook.Verdict, err error) {
	f := in.Facts
	entry, bound, err := c.entry(ctx, f)
	if err != nil || entry == nil {
		return v, err
	}
	lease := min(bound.Definition().Timeout+leaseSlack, maxComputeWait)
	found, err := c.results.Lookup(ctx, LookupRow{
		InvocationID: f.InvocationID, TenantID: f.Context.TenantID, Epoch: f.Epoch, Round: f.Round, Key: entry.Key, Lease: lease,
	})
	switch {
	case err != nil:
		return v, err
	case found.Superseded:
		return stage.Superseded(), nil
	case found.Value != nil:
		// The stage checks the value too, but fails the call if the value breaks the contract of the tool.
		if value, failure := c.outputs.Clean(bound, output.Value{Origin: output.FromHook, Row: output.Row{Value: found.Value}}); failure == nil {
			v.Delta.Cached, v.Delta.Hit = value, true
			return v, nil
		}
		// So the tool runs. Settle replaces the cached value with the value of the tool, unless a younger call has
		// replaced it already.
		c.log.WarnContext(ctx, "a kept value breaks the contract of its tool", "toolId", f.ToolID, "invocationId", f.InvocationID, "key", entry.Key)
	case found.InFlight:
		return stage.Waits(hook.Wait{
			Reason: "another call is reading the same", Code: toolspec.CodeCapacity, GoOn: true,
			RetryMs: min(found.Remaining, lookInterval).Milliseconds(), DeadlineMs: 2 * lease.Milliseconds(),
		}), nil
	}
	return v, nil
}

// answer responds with the value of the cache, unless a hook wants the tool to run.
func answer(_ context.Context, in hook.StageInput, v *hook.Verdict) error {
	if in.Facts.Hit && !v.Delta.Ignored {
		stage.Respond(v, in.Facts.Cached)
	}
	return nil
}

// write proposes to keep the value that the tool returned. The hooks may shorten the time (KeepFor), add
// tags (Tag) or refuse (DoNotKeep), and Settle then stores the value.
func (c *cache) write(ctx context.Context, in hook.StageInput) (v hook.Verdict, err error) {
	if in.Facts.Failure != nil || in.Facts.Source != toolspec.SourceExecuted {
		return v, nil
	}
	v.Delta.Entry, _, err = c.entry(ctx, in.Facts)
	return v, err
}
