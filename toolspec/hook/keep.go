package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// keeps lets a hook restrict how long the result cache keeps a value. A hook cannot make the cache
// keep a value that is not cacheable.
type keeps struct{ c *core }

// Kept returns how long the cache keeps the value, and the tags of the value. A ttl of 0 means that
// the cache does not keep the value.
func (k keeps) Kept() (ttl time.Duration, tags []string) {
	e := k.c.delta.Entry
	if e == nil {
		return 0, nil
	}
	return time.Duration(e.TTLMs) * time.Millisecond, slices.Clone(e.Tags)
}

// DoNotKeep keeps the value out of the cache. Later hooks cannot undo it.
func (k keeps) DoNotKeep() { k.c.delta.Entry = nil }

// KeepFor shortens the time for which the cache keeps the value. A longer time changes nothing. With
// a time below one millisecond, KeepFor works as DoNotKeep.
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

// Tag adds tags by which the value can be invalidated. toolspec.CheckCacheTags checks them.
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

// Args returns the arguments of the call that produced the value.
func (v *Keep) Args() json.RawMessage { return readsArgs{v.reads.c}.Args() }
