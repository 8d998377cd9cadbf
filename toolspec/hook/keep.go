package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// keeps lets a hook say what becomes of a value in the result cache. It can only
// narrow: a value that nobody declared to be kept is not.
type keeps struct{ c *core }

// Kept returns how long the value is to be kept, and its tags; 0 says that it is
// not.
func (k keeps) Kept() (ttl time.Duration, tags []string) {
	e := k.c.delta.Entry
	if e == nil {
		return 0, nil
	}
	return time.Duration(e.TTLMs) * time.Millisecond, slices.Clone(e.Tags)
}

// DoNotKeep keeps the value out of the cache, for good.
func (k keeps) DoNotKeep() { k.c.delta.Entry = nil }

// KeepFor shortens the time; what is longer than before changes nothing, and
// less than a millisecond is DoNotKeep.
func (k keeps) KeepFor(ttl time.Duration) {
	e := k.c.delta.Entry
	switch ms := milliseconds(ttl); {
	case e == nil:
	case ms == 0:
		k.c.delta.Entry = nil
	case ms < e.TTLMs:
		e.TTLMs = ms
	}
}

// Tag adds tags by which the value can be invalidated, of the form that
// toolspec.CheckCacheTags wants.
func (k keeps) Tag(tags ...string) {
	e := k.c.delta.Entry
	if e == nil {
		return
	}
	all := slices.Clone(e.Tags)
	for _, tag := range tags {
		if !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	if err := toolspec.CheckCacheTags(all); err != nil {
		k.c.fail(fmt.Errorf("cache: %w", err))
		return
	}
	e.Tags = all
}

// Args returns the arguments that the value was got with.
func (v *Keep) Args() json.RawMessage { return readsArgs{v.reads.c}.Args() }

// Hit hands over a value of the result cache, which answers at didCacheHit unless
// a hook there says Ignore. It counts from built-in hooks only.
func Hit(v *Lookup, value json.RawMessage) {
	if c := v.reads.c; c.own("Hit") {
		v.Found(value)
		c.delta.Hit = c.delta.Cached != nil
	}
}

// Answers reports whether what was found is of the result cache, and no hook at
// this stage said Ignore.
func Answers(v *Cached) bool {
	c := v.reads.c
	return c.facts.Hit && !c.delta.Ignored
}

// KeepAs proposes an entry of the result cache, which the hooks after this one
// may narrow. It counts from built-in hooks only.
func KeepAs(v *Keep, entry CacheEntry) {
	if c := v.reads.c; c.own("KeepAs") {
		c.delta.Entry = entry.clone()
	}
}

func (c *core) own(verb string) bool {
	if !c.builtin {
		c.fail(fmt.Errorf("%s is for the built-in cache", verb))
	}
	return c.builtin
}
