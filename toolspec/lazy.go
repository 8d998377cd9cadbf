package toolspec

import (
	"context"
	"sync/atomic"
)

// Run is the function of a tool.
type Run[In, Out any] = func(ctx context.Context, in In, call Call) (Out, error)

// Lazy defines a tool whose function is created at its first call, so a worker without calls of the
// tool does not open its resources. A worker calls create once, also if several calls wait for it,
// and keeps the function. The function must be safe for concurrent use, as the function of every
// tool.
//
// If create returns an error, the call ends as if the tool had returned it, and the next call tries
// again. RetryAfter says that nothing happened. The context of create ends with the attempt of the
// call: create must not keep it.
func Lazy[In, Out any](def Definition, create func(ctx context.Context) (Run[In, Out], error)) Tool {
	l := &lazy[In, Out]{create: create, turn: make(chan struct{}, 1)}
	return Define(def, func(ctx context.Context, in In, call Call) (out Out, err error) {
		run, err := l.get(ctx)
		if err != nil {
			return out, err
		}
		return run(ctx, in, call)
	})
}

type lazy[In, Out any] struct {
	create func(ctx context.Context) (Run[In, Out], error)
	made   atomic.Pointer[Run[In, Out]]
	// turn holds one value while create runs. It is a channel and not a mutex, so that a waiting
	// call can stop when its context ends.
	turn chan struct{}
}

func (l *lazy[In, Out]) get(ctx context.Context) (Run[In, Out], error) {
	if run := l.made.Load(); run != nil {
		return *run, nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	if run := l.made.Load(); run != nil {
		return *run, nil
	}
	run, err := l.create(ctx)
	if err != nil {
		return nil, err
	}
	l.made.Store(&run)
	return run, nil
}
