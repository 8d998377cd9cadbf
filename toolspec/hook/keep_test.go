package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestKeep: a hook can keep a value out of the cache, for a shorter time and under more tags, and never the other way. One that fails or
// is missing keeps it out: it may have wanted to.
func TestKeep(t *testing.T) {
	entry := hook.CacheEntry{Key: "k", TTLMs: 60_000, Tags: []string{"a"}}
	proposes := hook.New("cache", hook.Builtin(), hook.WillWriteCache.Do(func(_ context.Context, v *hook.Keep) error {
		hook.KeepAs(v, entry)
		return nil
	}))
	with := func(ttlMs int64, tags ...string) *hook.CacheEntry {
		return &hook.CacheEntry{Key: "k", TTLMs: ttlMs, Tags: tags}
	}
	for name, tc := range map[string]struct {
		does  func(v *hook.Keep) error
		want  *hook.CacheEntry
		notes int
	}{
		"nothing": {func(v *hook.Keep) error {
			if ttl, tags := v.Kept(); ttl != time.Minute || !reflect.DeepEqual(tags, []string{"a"}) {
				t.Errorf("kept for %s with %v", ttl, tags)
			}
			return nil
		}, &entry, 0},
		"a veto":            {func(v *hook.Keep) error { v.DoNotKeep(); return nil }, nil, 0},
		"after a veto":      {func(v *hook.Keep) error { v.DoNotKeep(); v.KeepFor(time.Hour); v.Tag("b"); return nil }, nil, 0},
		"shorter":           {func(v *hook.Keep) error { v.KeepFor(time.Second); return nil }, with(1000, "a"), 0},
		"longer":            {func(v *hook.Keep) error { v.KeepFor(time.Hour); return nil }, &entry, 0},
		"no time":           {func(v *hook.Keep) error { v.KeepFor(0); return nil }, nil, 0},
		"tags":              {func(v *hook.Keep) error { v.Tag("b", "a", "b"); return nil }, with(60_000, "a", "b"), 0},
		"a bad tag":         {func(v *hook.Keep) error { v.Tag("b c"); return nil }, nil, 1},
		"an error":          {func(v *hook.Keep) error { v.Tag("b"); return errors.New("oh") }, nil, 1},
		"a panic":           {func(v *hook.Keep) error { panic("oh") }, nil, 1},
		"an entry of a own": {func(v *hook.Keep) error { hook.KeepAs(v, *with(1, "z")); return nil }, nil, 1},
	} {
		r, _ := registry(t, proposes, hook.New("user", hook.WillWriteCache.Do(func(_ context.Context, v *hook.Keep) error { return tc.does(v) })))
		v, err := r.Run(t.Context(), hook.StageInput{Stage: "willWriteCache", Hooks: []string{"cache", "user"}})
		if err != nil || !reflect.DeepEqual(v.Delta.Entry, tc.want) || len(v.Notes) != tc.notes || v.Outcome != hook.Continue {
			t.Errorf("%s: got %+v of %+v, %v", name, v.Delta.Entry, v, err)
		}
	}
	if !reflect.DeepEqual(entry.Tags, []string{"a"}) {
		t.Error("a hook wrote into the proposal")
	}
	r, _ := registry(t, proposes)
	if v, err := r.Run(t.Context(), hook.StageInput{Stage: "willWriteCache", Hooks: []string{"cache", "gone"}}); err != nil || v.Delta.Entry != nil {
		t.Errorf("a hook is missing, and the entry is %+v, %v", v.Delta.Entry, err)
	}
}

// TestHits: what the cache found answers by itself, unless a hook looks away; what a user's hook found does not, and a user's hook cannot
// pass for the cache.
func TestHits(t *testing.T) {
	value := json.RawMessage(`{"text":"kept"}`)
	found := func(f func(v *hook.Lookup), options ...hook.Option) hook.Verdict {
		t.Helper()
		r, _ := registry(t, hook.New("h", append(options, hook.WillReadCache.Do(func(_ context.Context, v *hook.Lookup) error { f(v); return nil }))...))
		v, err := r.Run(t.Context(), hook.StageInput{Stage: "willReadCache", Hooks: []string{"h"}})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := found(func(v *hook.Lookup) { hook.Hit(v, value) }, hook.Builtin()); !v.Delta.Hit || string(v.Delta.Cached) != string(value) {
		t.Errorf("the cache's own: %+v", v.Delta)
	}
	if v := found(func(v *hook.Lookup) { hook.Hit(v, value); v.Found(value) }, hook.Builtin()); v.Delta.Hit {
		t.Errorf("replaced: %+v", v.Delta)
	}
	if v := found(func(v *hook.Lookup) { v.Found(value) }); v.Delta.Hit || string(v.Delta.Cached) != string(value) {
		t.Errorf("a user's: %+v", v.Delta)
	}
	for name, f := range map[string]func(v *hook.Lookup){"Hit": func(v *hook.Lookup) { hook.Hit(v, value) }} {
		if v := found(f); v.Outcome != hook.Failed || v.Delta.Hit {
			t.Errorf("%s of a user's hook: %+v", name, v)
		}
	}
	answers := func(hit bool, looks func(v *hook.Cached)) (answered bool) {
		t.Helper()
		r, _ := registry(t,
			hook.New("user", hook.DidCacheHit.Do(func(_ context.Context, v *hook.Cached) error { looks(v); return nil })),
			hook.New("answer", hook.BuiltinLast(), hook.DidCacheHit.Do(func(_ context.Context, v *hook.Cached) error { answered = hook.Answers(v); return nil })))
		names := r.Names("didCacheHit", "t")
		if strings.Join(names, " ") != "user answer" {
			t.Errorf("the order is %v", names)
		}
		if _, err := r.Run(t.Context(), hook.StageInput{Stage: "didCacheHit", Hooks: names, Facts: hook.Facts{Cached: value, Hit: hit}}); err != nil {
			t.Fatal(err)
		}
		return answered
	}
	looks, ignores := func(*hook.Cached) {}, func(v *hook.Cached) { v.Ignore() }
	if !answers(true, looks) || answers(true, ignores) || answers(false, looks) {
		t.Error("the wrong hits answer")
	}
}
