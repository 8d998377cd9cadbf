package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestKeep: a hook can keep a value out of the cache, shorten its time and add tags. No hook can undo this. If a hook fails or is missing, the
// cache does not keep the value, because the hook might have refused it.
func TestKeep(t *testing.T) {
	entry := hook.CacheEntry{Key: "k", TTLMs: 60_000, Tags: []string{"a"}}
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
		"a veto":       {func(v *hook.Keep) error { v.DoNotKeep(); return nil }, nil, 0},
		"after a veto": {func(v *hook.Keep) error { v.DoNotKeep(); v.KeepFor(time.Hour); v.Tag("b"); return nil }, nil, 0},
		"shorter":      {func(v *hook.Keep) error { v.KeepFor(time.Second); return nil }, with(1000, "a"), 0},
		"longer":       {func(v *hook.Keep) error { v.KeepFor(time.Hour); return nil }, &entry, 0},
		"no time":      {func(v *hook.Keep) error { v.KeepFor(0); return nil }, nil, 0},
		"tags":         {func(v *hook.Keep) error { v.Tag("b", "a", "b"); return nil }, with(60_000, "a", "b"), 0},
		"a bad tag":    {func(v *hook.Keep) error { v.Tag("b c"); return nil }, nil, 1},
		"an error":     {func(v *hook.Keep) error { v.Tag("b"); return errors.New("oh") }, nil, 1},
		"a panic":      {func(v *hook.Keep) error { panic("oh") }, nil, 1},
	} {
		r, _ := registry(t, hook.New("user", hook.WillWriteCache.Do(func(_ context.Context, v *hook.Keep) error { return tc.does(v) })))
		v, err := r.Run(t.Context(), hook.StageInput{Stage: "willWriteCache", Hooks: []string{"user"}}, hook.Delta{Entry: &entry})
		if err != nil || !reflect.DeepEqual(v.Delta.Entry, tc.want) || len(v.Notes) != tc.notes || v.Outcome != hook.Continue {
			t.Errorf("%s: got %+v of %+v, %v", name, v.Delta.Entry, v, err)
		}
	}
	if !reflect.DeepEqual(entry.Tags, []string{"a"}) {
		t.Error("a hook has changed the entry of its input")
	}
	r, _ := registry(t)
	if v, err := r.Run(t.Context(), hook.StageInput{Stage: "willWriteCache", Hooks: []string{"gone"}}, hook.Delta{Entry: &entry}); err != nil || v.Delta.Entry != nil {
		t.Errorf("with a missing hook the entry is %+v, %v", v.Delta.Entry, err)
	}
}

// TestFoundIsNoHit: a value that a hook finds does not end the call by itself, even if it replaces
// a value of the cache.
func TestFoundIsNoHit(t *testing.T) {
	value := json.RawMessage(`{"text":"kept"}`)
	r, _ := registry(t, hook.New("h", hook.WillReadCache.Do(func(_ context.Context, v *hook.Lookup) error { v.Found(value); return nil })))
	for _, before := range []hook.Delta{{}, {Cached: json.RawMessage(`1`), Hit: true}} {
		v, err := r.Run(t.Context(), hook.StageInput{Stage: "willReadCache", Hooks: []string{"h"}}, before)
		if err != nil || v.Delta.Hit || string(v.Delta.Cached) != string(value) {
			t.Errorf("got %+v, %v", v.Delta, err)
		}
	}
}
