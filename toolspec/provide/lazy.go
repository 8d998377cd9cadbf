package provide

import (
	"container/list"
	"context"
	"errors"
	"io"
	"sync"
)

// lazy is an instance that is made when it is first asked for, once.
type lazy struct {
	mu   sync.Mutex
	make func(ctx context.Context) (any, error)
	done bool
	made any
	// owned is closed with the registry.
	owned bool
}

func (l *lazy) get(ctx context.Context) (any, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return l.made, nil
	}
	made, err := l.make(ctx)
	if err != nil {
		return nil, err
	}
	l.made, l.done = made, true
	return made, nil
}

var errClosed = errors.New("the worker stops")

func (l *lazy) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.owned {
		return
	}
	if c, ok := l.made.(io.Closer); ok && l.done {
		_ = c.Close()
	}
	l.done, l.made, l.make = false, nil, func(context.Context) (any, error) { return nil, errClosed }
}

// kept holds a bounded number of values by key; the one that was used longest
// ago goes first.
type kept[K comparable, V any] struct {
	mu    sync.Mutex
	most  int
	order *list.List
	at    map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newKept[K comparable, V any](most int) *kept[K, V] {
	return &kept[K, V]{most: most, order: list.New(), at: map[K]*list.Element{}}
}

// get returns the value of a key; fresh makes one where there is none.
func (k *kept[K, V]) get(key K, fresh func() V) V {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.at[key]; ok {
		k.order.MoveToFront(e)
		return e.Value.(entry[K, V]).value //nolint:errcheck,forcetypeassert // the list holds nothing else
	}
	value := fresh()
	k.at[key] = k.order.PushFront(entry[K, V]{key, value})
	if k.order.Len() > k.most {
		last := k.order.Back()
		delete(k.at, last.Value.(entry[K, V]).key) //nolint:errcheck,forcetypeassert // as above
		k.order.Remove(last)
	}
	return value
}

func (k *kept[K, V]) forget(key K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.at[key]; ok {
		delete(k.at, key)
		k.order.Remove(e)
	}
}
