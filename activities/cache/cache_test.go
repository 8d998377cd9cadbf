package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/cache"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// results returns the same finding for every lookup.
type results struct {
	found cache.Finding
	err   error
	rows  []cache.LookupRow
}

func (r *results) Lookup(_ context.Context, in cache.LookupRow) (cache.Finding, error) {
	r.rows = append(r.rows, in)
	return r.found, r.err
}

type text struct {
	Text string `json:"text"`
	More string `json:"more,omitempty"`
}

// cacheRig has the steps of the cache, and a call of a tool.
type cacheRig struct {
	*testing.T
	results results
	source  *catalog.Registry
	policy  *policy.Policy
	steps   stage.Table
	facts   hook.Facts
}

func newCacheRig(t *testing.T, rules string, change func(*toolspec.Definition)) *cacheRig {
	t.Helper()
	def := toolspec.Definition{
		ID: "core__tool", Description: "test tool", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Timeout: 7 * time.Second,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, CacheTags: []string{"t"},
	}
	if change != nil {
		change(&def)
	}
	r := &cacheRig{T: t, source: catalog.NewRegistry(toolspec.Capabilities{})}
	if err := r.source.Add("test", toolspec.Define(def, func(_ context.Context, in text, _ toolspec.Call) (text, error) { return in, nil })); err != nil {
		t.Fatal(err)
	}
	p := judgetest.Parse(t, rules)
	r.policy = p
	r.steps = cache.Steps(judgetest.Policies{p.Digest(): p}, r.source, &r.results, slog.New(slog.DiscardHandler))
	bound, _ := r.source.Get("core__tool")
	r.facts = hook.Facts{
		InvocationID: "inv", ToolID: "core__tool", ToolCallID: "call-1", Effect: def.Effect, Risk: def.Risk, ToolDigest: bound.Digest(), PolicyDigest: p.Digest(),
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, Args: json.RawMessage(`{"text":"a"}`), Epoch: 3, Round: 2,
		Output: json.RawMessage(`{"text":"a"}`), Source: toolspec.SourceExecuted,
	}
	return r
}

// tryStage runs the step of the cache at a stage.
func (r *cacheRig) tryStage(p interface{ Stage() hook.Stage }) (hook.Verdict, error) {
	return r.steps[p.Stage()].Before(r.Context(), hook.StageInput{Stage: p.Stage(), Facts: r.facts})
}

// runStage runs the step of the cache at a stage, and fails the test after an error.
func (r *cacheRig) runStage(p interface{ Stage() hook.Stage }) hook.Verdict {
	r.Helper()
	v, err := r.tryStage(p)
	if err != nil {
		r.Fatal(err)
	}
	return v
}

const kept = "    cache: [{tool: core__tool, for: 1m}]\n"

// TestCacheWants: the tool, the policy and the effect decide which calls have the stages of the cache, read the
// cache and are kept.
func TestCacheWants(t *testing.T) {
	for name, tc := range map[string]struct {
		cache  string
		change func(*toolspec.Definition)
		facts  func(*hook.Facts)
		ttl    time.Duration
		// later says that the gate could not know this.
		later bool
	}{
		"nobody":                     {},
		"the tool":                   {change: func(d *toolspec.Definition) { d.CacheFor = time.Hour }, ttl: time.Hour},
		"policy":                     {cache: kept, ttl: time.Minute},
		"both":                       {cache: kept, change: func(d *toolspec.Definition) { d.CacheFor = time.Second }, ttl: time.Second},
		"policy forbids":             {cache: strings.Replace(kept, "1m", "never", 1), change: func(d *toolspec.Definition) { d.CacheFor = time.Hour }},
		"the tool forbids":           {cache: kept, change: func(d *toolspec.Definition) { d.CacheFor = toolspec.NeverCached }},
		"a write":                    {cache: kept, change: func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }},
		"a read that was a write":    {cache: kept, facts: func(f *hook.Facts) { f.Effect = toolspec.StateChange }},
		"a write that was a read":    {cache: kept, change: func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }, facts: func(f *hook.Facts) { f.Effect = toolspec.ReadOnly }},
		"a tool that is not here":    {cache: kept, facts: func(f *hook.Facts) { f.ToolID = "core__other" }},
		"another tool than was seen": {cache: kept, facts: func(f *hook.Facts) { f.ToolDigest = "other" }, later: true},
		"no policy":                  {cache: kept, facts: func(f *hook.Facts) { f.PolicyDigest = "gone" }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newCacheRig(t, tc.cache, tc.change)
			if tc.facts != nil {
				tc.facts(&r.facts)
			}
			var needs []hook.Stage
			if tc.ttl > 0 || tc.later {
				needs = []hook.Stage{"willReadCache", "didCacheHit", "willWriteCache"}
			}
			var p *policy.Policy
			if r.facts.PolicyDigest == r.policy.Digest() {
				p = r.policy
			}
			if got := judge.Demand(t.Context(), p, r.facts, r.source); !reflect.DeepEqual(got, needs) {
				t.Errorf("needs %v", got)
			}
			if v := r.runStage(hook.WillReadCache); v.Outcome != hook.Continue || len(r.results.rows) > 0 != (tc.ttl > 0) {
				t.Errorf("read: %+v after %+v", v, r.results.rows)
			}
			entry := r.runStage(hook.WillWriteCache).Delta.Entry
			if entry == nil {
				if tc.ttl > 0 {
					t.Error("nothing is kept")
				}
				return
			}
			if entry.TTLMs != tc.ttl.Milliseconds() || !reflect.DeepEqual(entry.Tags, []string{"t"}) || entry.Key != r.results.rows[0].Key {
				t.Errorf("kept as %+v, read as %+v", entry, r.results.rows[0])
			}
		})
	}
}

// TestCacheReads: each finding of the store has its verdict.
func TestCacheReads(t *testing.T) {
	value := json.RawMessage(`{"text":"kept"}`)
	for name, tc := range map[string]struct {
		found   cache.Finding
		outcome hook.Outcome
		retryMs int64
		hit     bool
	}{
		"nothing":            {},
		"a value":            {found: cache.Finding{Value: value}, hit: true},
		"a value of another": {found: cache.Finding{Value: json.RawMessage(`{"text":7}`)}},
		"superseded":         {found: cache.Finding{Superseded: true}, outcome: hook.Superseded},
		"somebody reads":     {found: cache.Finding{InFlight: true, Remaining: time.Minute}, outcome: hook.Waited, retryMs: 10_000},
		"it is soon overdue": {found: cache.Finding{InFlight: true, Remaining: time.Second}, outcome: hook.Waited, retryMs: 1_000},
	} {
		t.Run(name, func(t *testing.T) {
			r := newCacheRig(t, kept, nil)
			r.results.found = tc.found
			v := r.runStage(hook.WillReadCache)
			if v.Outcome != tc.outcome || v.Delta.Hit != tc.hit || tc.hit && string(v.Delta.Cached) != string(value) || !tc.hit && v.Delta.Cached != nil {
				t.Errorf("got %+v", v)
			}
			if tc.outcome == hook.Waited && (!v.Wait.GoOn || v.Wait.RetryMs != tc.retryMs || v.Wait.DeadlineMs != 44_000) {
				t.Errorf("waits %+v", v.Wait)
			}
			row := r.results.rows[0]
			if row.InvocationID != "inv" || row.TenantID != "acme" || row.Epoch != 3 || row.Round != 2 || row.Lease != 22*time.Second || len(row.Key) != 64 {
				t.Errorf("looked up %+v", row)
			}
		})
	}
	r := newCacheRig(t, kept, nil)
	r.results.err = errs.Transient(errors.New(judgetest.Canary))
	if _, err := r.tryStage(hook.WillReadCache); !errs.IsTransient(err) {
		t.Errorf("a store that is away: %v", err)
	}
	r = newCacheRig(t, kept, func(d *toolspec.Definition) { d.Timeout = 24 * time.Hour })
	if r.runStage(hook.WillReadCache); r.results.rows[0].Lease != 5*time.Minute {
		t.Errorf("a slow tool has %s", r.results.rows[0].Lease)
	}
}

// TestCacheKeepsWhatRan: the cache keeps only values of a tool that ran. It proposes no entry for a response of
// a hook, a value of the cache or a failed call.
func TestCacheKeepsWhatRan(t *testing.T) {
	for name, change := range map[string]func(*hook.Facts){
		"a cached value":    func(f *hook.Facts) { f.Source = toolspec.SourceCache },
		"a responded value": func(f *hook.Facts) { f.Source = toolspec.SourceResponded },
		"an error":          func(f *hook.Facts) { f.Failure = &hook.Failure{Code: toolspec.CodeExecution} },
	} {
		r := newCacheRig(t, kept, nil)
		change(&r.facts)
		if v := r.runStage(hook.WillWriteCache); v.Delta.Entry != nil {
			t.Errorf("%s: %+v", name, v.Delta.Entry)
		}
	}
}

// TestDefinitionsAreNotResults: the memory for compiled definitions and the result cache are independent of
// each other.
func TestDefinitionsAreNotResults(t *testing.T) {
	r := newCacheRig(t, strings.Replace(kept, "1m", "never", 1), func(d *toolspec.Definition) { d.CacheFor = time.Hour })
	before, _ := r.source.Get("core__tool")
	for range 2 {
		r.runStage(hook.WillReadCache)
		r.runStage(hook.WillWriteCache)
		if after, ok := r.source.Get("core__tool"); !ok || after != before || len(r.results.rows) > 0 {
			t.Error("the definition was made again, or the disabled cache was asked")
		}
	}
}
