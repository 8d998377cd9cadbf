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
