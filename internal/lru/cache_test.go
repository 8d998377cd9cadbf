package lru

import (
	"slices"
	"sync"
	"testing"
)

func TestCache(t *testing.T) {
	t.Parallel()
	var dropped []string
	c := New(2, func(key string, value int) {
		if value != len(key) {
			t.Errorf("%q was dropped with %d", key, value)
		}
		dropped = append(dropped, key)
	})
	add := func(key string) int { return c.GetOrAdd(key, func() int { return len(key) }) }
	add("a")
	add("bb")
	if value, ok := c.Get("a"); !ok || value != 1 {
		t.Errorf("a is %d, %t", value, ok)
	}
	add("ccc") // bb was used longest ago
	if _, ok := c.Get("bb"); ok || !slices.Equal(dropped, []string{"bb"}) || c.Len() != 2 {
		t.Errorf("bb stays %t, dropped %q, %d values", ok, dropped, c.Len())
	}
	if got := c.GetOrAdd("ccc", func() int { t.Error("a second value was made"); return 0 }); got != 3 {
		t.Errorf("ccc is %d", got)
	}
	c.Remove("a")
	c.Remove("a")
	if _, ok := c.Get("a"); ok || c.Len() != 1 || len(dropped) != 1 {
		t.Errorf("a stays %t, %d values, dropped %q", ok, c.Len(), dropped)
	}
}

// TestCacheMakesOneValue: callers that want a key at the same time get one value.
func TestCacheMakesOneValue(t *testing.T) {
	t.Parallel()
	c, made := New[string, *int](1, nil), 0
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			c.GetOrAdd("key", func() *int { made++; return new(int) })
		})
	}
	wait.Wait()
	if made != 1 {
		t.Errorf("%d values were made", made)
	}
}
