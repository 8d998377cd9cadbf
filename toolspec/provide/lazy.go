package provide

import (
	"container/list"
	"context"
	"errors"
	"io"
	"sync"
)

// lazy is an instance that is made when it is first asked for, once. Its fields
// belong to who has the turn.
type lazy struct {
	turn chan struct{}
	make func(ctx context.Context) (any, error)
	done bool
	made any
	// owned is closed with the registry.
	owned bool
}

func newLazy(create func(ctx context.Context) (any, error)) *lazy {
	return &lazy{turn: make(chan struct{}, 1), make: create}
}

// given is an instance that is there.
func given(instance any) *lazy {
	l := newLazy(nil)
	l.done, l.made = true, instance
	return l
}

// get returns the instance; run calls the function that makes it. Who waits for
// another to make it does so until ctx ends: so does a factory that asks for what
// it is about to make.
func (l *lazy) get(ctx context.Context, run func(make func(context.Context) (any, error)) (any, error)) (any, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.done {
		defer func() { <-l.turn }()
		return l.made, nil
	}
	ready := make(chan outcome, 1)
	go func() {
		defer func() { <-l.turn }()
		made, err := guarded(func() (any, error) { return run(l.make) })
		if err == nil {
			l.made, l.done = made, true
		}
		ready <- outcome{made, err}
	}()
	select {
	case o := <-ready:
		return o.made, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// outcome is what a factory came to.
type outcome struct {
	made any
	err  error
}

// guarded turns a panic of a factory into an error; what it said may hold
// anything and goes nowhere.
func guarded(f func() (any, error)) (made any, err error) {
	defer func() {
		if recover() != nil {
			made, err = nil, errPanicked
		}
	}()
	return f()
}

var errPanicked = errors.New("a factory panicked")

var errClosed = errors.New("the worker stops")

func (l *lazy) close() {
	if !l.owned {
		return
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
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
