package lru

import (
	"container/list"
	"sync"
)

// Cache holds a bounded number of values by key. If there are more, it drops the value that
// was used longest ago. It may be used by several goroutines at once.
type Cache[K comparable, V any] struct {
	mu      sync.Mutex
	most    int
	dropped func(K, V)
	order   *list.List // The values are entries, the most recently used first.
	at      map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty cache for at most limit values, at least 1. It calls dropped with each
// value that it drops for another; nil calls nothing. The function must not use the cache.
func New[K comparable, V any](limit int, dropped func(K, V)) *Cache[K, V] {
	return &Cache[K, V]{most: max(1, limit), dropped: dropped, order: list.New(), at: map[K]*list.Element{}}
}

// Get returns the value of a key, which counts as a use.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(key)
}

func (c *Cache[K, V]) get(key K) (value V, ok bool) {
	e, ok := c.at[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true //nolint:errcheck,forcetypeassert // The list holds only entries.
}

// GetOrAdd returns the value of a key. It adds what fresh returns if there is no value. Two
// callers that want a key at the same time get one value. The function must not use the cache.
func (c *Cache[K, V]) GetOrAdd(key K, fresh func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, ok := c.get(key); ok {
		return value
	}
	value := fresh()
	c.at[key] = c.order.PushFront(entry[K, V]{key, value})
	for c.order.Len() > c.most {
		old := c.order.Remove(c.order.Back()).(entry[K, V]) //nolint:errcheck,forcetypeassert // The list holds only entries.
		delete(c.at, old.key)
		if c.dropped != nil {
			c.dropped(old.key, old.value)
		}
	}
	return value
}

// Remove removes a key. It does not count as dropped.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.at[key]; ok {
		delete(c.at, key)
		c.order.Remove(e)
	}
}

// Len returns the number of values.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}
