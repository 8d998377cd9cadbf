package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/cache"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// cachePolicy caches the values of the read-only tools of the rig, although these tools do not declare a cache.
const cachePolicy = `
version: 1
tenants:
  acme: {allowedTools: ["core__*"], mode: yolo, cache: [{tool: "core__*", for: 1m}]}
  globex: {allowedTools: ["core__*"], mode: yolo, cache: [{tool: "core__*", for: 1m}]}
`

// cacheTest makes calls that share a cache, each in a rig of its own.
type cacheTest struct {
	*testing.T
	results results
	n       int
	// last is the rig of the last call.
	last *rig
}

func (c *cacheTest) do(inv toolspec.Invocation, o rigOptions) toolspec.Result {
	c.Helper()
	c.n++
	inv.ToolCallID = fmt.Sprintf("call-%d", c.n)
	if o.policy == "" {
		o.policy = cachePolicy
	}
	o.results = &c.results
	c.last = newRig(c.T, o)
	return c.last.run(inv)
}

// ran reports whether the tool ran for the last call.
func (c *cacheTest) ran() bool { return c.last.ran() > 0 }

// TestSameReadTwice: of two equal reads, only the first runs its tool. The second gets the value from the cache, runs didCacheHit and all
// stages after a value (CA-01, LC-18, LC-19, LC-25, LC-37), and does not write the entry again (CA-03).
func TestSameReadTwice(t *testing.T) {
	for _, tool := range []string{"core__read", "core__remote"} {
		t.Run(tool, func(t *testing.T) {
			c := &cacheTest{T: t}
			miss, hit := &recorder{}, &recorder{}
			first := c.do(call(tool, `{"text":"hello","mode":"x"}`), rigOptions{hooks: []hook.Hook{miss.hook()}})
			if !c.ran() || first.Source != toolspec.SourceExecuted || string(first.Value) != `{"text":"hello"}` {
				t.Fatalf("got %+v", first)
			}
			entry := c.results.only()
			if string(entry.Value) != `{"text":"hello"}` || entry.Entry.TTLMs != 60_000 {
				t.Errorf("kept %+v", entry)
			}
			second := c.do(call(tool, `{ "mode": "x", "text": "hello" }`), rigOptions{hooks: []hook.Hook{hit.hook()}})
			if c.ran() || second.Source != toolspec.SourceCache || string(second.Value) != string(first.Value) || second.Attempts != 0 {
				t.Errorf("got %+v", second)
			}
			if again := c.results.only(); again.by != entry.by || !again.expires.Equal(entry.expires) || c.last.records.settled[0].Kept != nil {
				t.Errorf("a hit wrote the entry again: %+v", again)
			}
			if !slices.Contains(miss.seen, "didCacheMiss") || slices.Contains(miss.seen, "didCacheHit") {
				t.Errorf("the miss ran %v", miss.seen)
			}
			want := strings.Fields(strings.ReplaceAll(successOrder, "didCacheMiss aroundExecute willExecute didExecute", "didCacheHit"))
			if !slices.Equal(hit.seen, want) {
				t.Errorf("the hit ran %v, want %v", hit.seen, want)
			}
		})
	}
}

// TestIdleCache: no stage of the cache runs for a call whose value is not cacheable. willWriteCache does not run after a hit.
func TestIdleCache(t *testing.T) {
	c := &cacheTest{T: t}
	stages := func() string { return c.last.stages() }
	for name, policy := range map[string]string{
		"no entry": freePolicy,
		"never":    strings.ReplaceAll(cachePolicy, "for: 1m", "for: never"),
	} {
		for range 2 {
			if c.do(call("core__read", args), rigOptions{policy: policy}); !c.ran() || strings.Contains(stages(), "Cache") || len(c.results.lookups) > 0 {
				t.Errorf("%s: ran\n%s", name, stages())
			}
		}
	}
	for _, tool := range []string{"core__write", "core__mail"} {
		for range 2 {
			if c.do(call(tool, args), rigOptions{}); !c.ran() || strings.Contains(stages(), "Cache") || len(c.results.kept) > 0 {
				t.Errorf("%s: ran\n%s", tool, stages())
			}
		}
	}
	if c.do(call("core__read", args), rigOptions{}); !strings.Contains(stages(), "willReadCache: ok") || !strings.Contains(stages(), "willWriteCache: ok") {
		t.Errorf("a miss ran\n%s", stages())
	}
	if c.do(call("core__read", args), rigOptions{}); !strings.Contains(stages(), "didCacheHit: respond") || strings.Contains(stages(), "willWriteCache") {
		t.Errorf("a hit ran\n%s", stages())
	}
}

// TestHitWithoutRespond: a hook can ignore a value of the cache (LC-38). Then the tool runs, and its value replaces the entry. A value that
// a hook found in its own cache does not answer the call by itself.
func TestHitWithoutRespond(t *testing.T) {
	c := &cacheTest{T: t}
	c.do(call("core__read", args), rigOptions{})
	before := c.results.only()
	ignores := hook.New("ignores", hook.DidCacheHit.Do(func(_ context.Context, v *hook.Cached) error {
		if string(v.Value()) != `{"text":"hello"}` {
			t.Errorf("found %s", v.Value())
		}
		v.Ignore()
		return nil
	}))
	if r := c.do(call("core__read", args), rigOptions{hooks: []hook.Hook{ignores}}); !c.ran() || r.Source != toolspec.SourceExecuted {
		t.Errorf("got %+v", r)
	}
	if c.results.only().by == before.by {
		t.Error("the value of the run did not replace the entry")
	}
	own := hook.New("own", hook.WillReadCache.Do(func(_ context.Context, v *hook.Lookup) error {
		v.Found(echoOut{Text: "of my own"})
		return nil
	}), hook.DidCacheHit.Do(func(context.Context, *hook.Cached) error { return nil }))
	for name, policy := range map[string]string{"idle": freePolicy, "beside it": cachePolicy} {
		if r := c.do(call("core__read", args), rigOptions{policy: policy, hooks: []hook.Hook{own}}); !c.ran() || r.Source != toolspec.SourceExecuted {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// TestKeptApart: calls with different tenants, actors, subjects, connections, tools, arguments or policies do not share an entry (fault 38).
// A call never reads an entry of another tenant.
func TestKeptApart(t *testing.T) {
	base := call("core__read", args)
	for _, tc := range []struct {
		name   string
		change func(*toolspec.Invocation, *rigOptions)
		shared bool
	}{
		{"another run", func(inv *toolspec.Invocation, _ *rigOptions) { inv.Context.RunID = "run-2" }, true},
		{"another tenant", func(inv *toolspec.Invocation, _ *rigOptions) { inv.Context.TenantID = "globex" }, false},
		{"another actor", func(inv *toolspec.Invocation, _ *rigOptions) { inv.Context.ActorID = "user:bob" }, false},
		{"another subject", func(inv *toolspec.Invocation, _ *rigOptions) {
			inv.Context.SubjectID, inv.SubmitterProof = "user:sue", "proof"
		}, false},
		{"a connection", func(inv *toolspec.Invocation, _ *rigOptions) {
			inv.Context.ConnectionID, inv.AllowedConnectionIDs = "conn-1", []string{"conn-1"}
		}, false},
		{"another tool", func(inv *toolspec.Invocation, _ *rigOptions) { inv.ToolID = "core__remote" }, false},
		{"other arguments", func(inv *toolspec.Invocation, _ *rigOptions) { inv.Args = json.RawMessage(`{"text":"bye"}`) }, false},
		{"another policy version", func(_ *toolspec.Invocation, o *rigOptions) {
			o.policy = strings.ReplaceAll(cachePolicy, "mode: yolo", "mode: auto")
		}, false},
		{"arguments that a hook changes", func(_ *toolspec.Invocation, o *rigOptions) {
			o.hooks = []hook.Hook{hook.New("sets", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error {
				v.SetArgs(echoIn{Text: "normal"})
				return nil
			}))}
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &cacheTest{T: t}
			c.do(base, rigOptions{})
			inv, o := base, rigOptions{}
			tc.change(&inv, &o)
			if c.do(inv, o); c.ran() == tc.shared {
				t.Errorf("the tool ran: %t", c.ran())
			}
			for _, l := range c.results.lookups {
				if l.TenantID != inv.Context.TenantID && l.TenantID != base.Context.TenantID || l.InvocationID == "" || l.Epoch != 1 {
					t.Errorf("looked up %+v", l)
				}
			}
			if c.do(inv, o); c.ran() {
				t.Error("its own entry is not found")
			}
		})
	}
}

// TestNotKept: the cache keeps only a value of the tool that is complete and that no stage refused (LC-44, C-34).
func TestNotKept(t *testing.T) {
	responds := func(challenge bool) hook.Hook {
		return hook.New("responds", hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error {
			if challenge {
				return v.RespondChallenge("sign here")
			}
			return v.Respond(echoOut{Text: "of a hook"})
		}))
	}
	around := hook.New("around", hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error { return v.Respond(echoOut{Text: "of a hook"}) }))
	challenges := hook.New("challenges", hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error { return v.RespondChallenge("sign here") }))
	late := hook.New("late", hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error { return v.Abort("no") }))
	vetoes := hook.New("vetoes", hook.WillWriteCache.Do(func(_ context.Context, v *hook.Keep) error { v.DoNotKeep(); return nil }))
	broken := hook.New("broken", hook.WillWriteCache.Do(func(context.Context, *hook.Keep) error { return errPlain }))
	// proposes is a step that proposes an entry for every value. Settle still gets no entry.
	proposes := stage.Table{hook.WillWriteCache.Stage(): {Before: func(context.Context, hook.StageInput) (v hook.Verdict, err error) {
		v.Delta.Entry = &hook.CacheEntry{Key: "k", TTLMs: 1000}
		return v, nil
	}}}
	for name, tc := range map[string]struct {
		o    rigOptions
		args string
	}{
		"a proposed value of a hook":        {o: rigOptions{hooks: []hook.Hook{responds(false)}, own: proposes}},
		"a proposed challenge":              {o: rigOptions{hooks: []hook.Hook{responds(true)}, own: proposes}},
		"a responded value":                 {o: rigOptions{hooks: []hook.Hook{responds(false)}}},
		"a challenge":                       {o: rigOptions{hooks: []hook.Hook{responds(true)}}},
		"a value around execute":            {o: rigOptions{hooks: []hook.Hook{around}}},
		"a challenge around execute":        {o: rigOptions{hooks: []hook.Hook{challenges}}},
		"an error":                          {o: rigOptions{fail: func(int) error { return errPlain }}},
		"a value that a stage refused":      {o: rigOptions{hooks: []hook.Hook{late}}},
		"a veto":                            {o: rigOptions{hooks: []hook.Hook{vetoes}}},
		"a hook that may have wanted to":    {o: rigOptions{hooks: []hook.Hook{broken}}},
		"a value too large for the history": {args: `{"text":"` + strings.Repeat("a", 63<<10) + `","mode":"double"}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cacheTest{T: t}
			inv := call("core__read", args)
			if tc.args != "" {
				inv = call("core__double", tc.args)
				tc.o.tools = []toolspec.Tool{doubling()}
			}
			first := c.do(inv, tc.o)
			if len(c.results.kept) > 0 || c.last.records.settled[0].Kept != nil {
				t.Errorf("kept of %+v: %+v", first, c.results.kept)
			}
			if r := c.do(inv, rigOptions{tools: tc.o.tools}); !r.OK || r.Source != toolspec.SourceExecuted {
				t.Errorf("the next call got %+v", r)
			}
		})
	}
}

// doubling returns a tool that answers with its text twice.
func doubling() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		MaxArgsBytes: toolspec.MaxInline,
		ID:           "core__double", Description: "test tool", Version: "1", Risk: toolspec.LowRisk, Effect: toolspec.ReadOnly,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
		return echoOut{Text: in.Text + in.Text}, nil
	})
}

// TestKeptBeforeTransform: the cache keeps the redacted value from before willTransformOutput, which runs again after a hit (C-04).
func TestKeptBeforeTransform(t *testing.T) {
	c := &cacheTest{T: t}
	shouts := hook.New("shouts", hook.WillRedactOutput.Do(func(_ context.Context, v *hook.Output) error {
		v.SetOutput(map[string]string{"text": "redacted", "hidden": "canary"})
		return nil
	}), hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
		var o echoOut
		if err := json.Unmarshal(v.Output(), &o); err != nil {
			return err
		}
		v.SetOutput(echoOut{Text: o.Text + "!"})
		return nil
	}), hook.WillWriteCache.Do(func(_ context.Context, v *hook.Keep) error {
		v.Tag("greeting")
		v.KeepFor(time.Second)
		return nil
	}))
	for i, source := range []toolspec.Source{toolspec.SourceExecuted, toolspec.SourceCache} {
		if r := c.do(call("core__read", args), rigOptions{hooks: []hook.Hook{shouts}}); string(r.Value) != `{"text":"redacted!"}` || r.Source != source {
			t.Errorf("call %d: got %+v", i, r)
		}
	}
	if k := c.results.only(); string(k.Value) != `{"text":"redacted"}` || !slices.Equal(k.Entry.Tags, []string{"greeting"}) || k.Entry.TTLMs != 1000 {
		t.Errorf("kept %s as %+v", k.Value, k.Entry)
	}
}

// TestBrokenEntry: a cached value that breaks the contract of the tool does not answer the call.
func TestBrokenEntry(t *testing.T) {
	for _, value := range []string{`{"text":1}`, `[]`, `{}`} {
		c := &cacheTest{T: t, results: results{onLookup: func(int) *cache.Finding { return &cache.Finding{Value: json.RawMessage(value)} }}}
		if r := c.do(call("core__read", args), rigOptions{}); !c.ran() || !r.OK || c.results.only().Value == nil {
			t.Errorf("%s: got %+v", value, r)
		}
	}
}

// TestOneReadForMany: a call waits while another call gets the same value. A recheck or a timer makes it look again. It runs the tool itself
// if the other call has ended without a value, or if the wait takes too long.
func TestOneReadForMany(t *testing.T) {
	inFlight := &cache.Finding{InFlight: true, Remaining: 18 * time.Second}
	hit := &cache.Finding{Value: json.RawMessage(`{"text":"theirs"}`)}
	for _, tc := range []struct {
		name    string
		answers []*cache.Finding // of the lookups; the last answer counts for all further lookups
		recheck time.Duration
		policy  string
		ran     bool
		took    time.Duration
		lookups int
	}{
		{name: "told of the value", answers: []*cache.Finding{inFlight, hit}, recheck: 8 * time.Second, took: 8 * time.Second, lookups: 2},
		{name: "finds it by itself", answers: []*cache.Finding{inFlight, inFlight, hit}, took: 20 * time.Second, lookups: 3},
		{name: "takes over", answers: []*cache.Finding{inFlight, {}}, recheck: 8 * time.Second, ran: true, took: 8 * time.Second, lookups: 2},
		{name: "takes over what is overdue", answers: []*cache.Finding{{InFlight: true, Remaining: 4 * time.Second}, {}}, ran: true, took: 4 * time.Second, lookups: 2},
		{name: "goes alone", answers: []*cache.Finding{inFlight}, ran: true, took: 36 * time.Second, lookups: 5},
		{name: "goes alone while there is time", answers: []*cache.Finding{inFlight}, ran: true, took: 15 * time.Second, lookups: 3,
			policy: strings.ReplaceAll(cachePolicy, "mode: yolo,", "mode: yolo, budgets: {deadlineMs: 30000},")},
		{name: "superseded", answers: []*cache.Finding{{Superseded: true}, hit}, lookups: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			shared := &results{onLookup: func(n int) *cache.Finding { return tc.answers[min(n, len(tc.answers))-1] }}
			if tc.policy == "" {
				tc.policy = cachePolicy
			}
			r := newRig(t, rigOptions{policy: tc.policy, results: shared})
			if tc.recheck > 0 {
				r.env.RegisterDelayedCallback(func() { r.env.SignalWorkflow(toolspec.RecheckName, nil) }, tc.recheck)
			}
			result := r.run(call("core__read", args))
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if !result.OK || r.ran() > 0 != tc.ran || took < tc.took || took > tc.took+time.Second || len(shared.lookups) != tc.lookups {
				t.Errorf("got %+v after %s and %d lookups, run %d times; want %s and %d", result, took, len(shared.lookups), r.ran(), tc.took, tc.lookups)
			}
			if !tc.ran && string(result.Value) != `{"text":"theirs"}` {
				t.Errorf("got %s", result.Value)
			}
			for i, l := range shared.lookups {
				if l.Lease != 18*time.Second || tc.name != "superseded" && l.Round != i+1 {
					t.Errorf("lookup %d is %+v", i, l)
				}
			}
		})
	}
}

// TestWaitingForAReadCancelled: a cancel ends the wait for the value of another call.
func TestWaitingForAReadCancelled(t *testing.T) {
	c := &results{onLookup: func(int) *cache.Finding { return &cache.Finding{InFlight: true, Remaining: time.Minute} }}
	r := newRig(t, rigOptions{policy: cachePolicy, results: c})
	r.env.RegisterDelayedCallback(r.env.CancelWorkflow, 2*time.Second)
	if result := r.run(call("core__read", args)); result.ErrorCode != toolspec.CodeCancelled || r.ran() > 0 {
		t.Errorf("got %+v", result)
	}
}
