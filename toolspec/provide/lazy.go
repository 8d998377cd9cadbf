package provide

import (
	"context"
	"errors"
	"io"
)

// lazy is an instance that is created once, when it is first needed. The goroutine that has the
// turn owns the fields.
type lazy struct {
	turn chan struct{}
	make func(ctx context.Context) (any, error)
	done bool
	made any
	// owned reports whether the registry closes the instance.
	owned bool
}

func newLazy(create func(ctx context.Context) (any, error)) *lazy {
	return &lazy{turn: make(chan struct{}, 1), make: create}
}

// given returns a lazy that already has its instance.
func given(instance any) *lazy {
	l := newLazy(nil)
	l.done, l.made = true, instance
	return l
}

// get returns the instance. It calls run with the function that creates it. A caller that waits for
// another caller stops when ctx ends; a factory that asks for its own instance also waits until
// then.
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

// outcome is the result of a factory.
type outcome struct {
	made any
	err  error
}

// guarded turns a panic of a factory into an error without the panic value, which may contain
// secrets.
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
