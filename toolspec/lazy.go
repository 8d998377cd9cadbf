package toolspec

import (
	"context"
	"sync/atomic"
)

// Run is the function of a tool.
type Run[In, Out any] = func(ctx context.Context, in In, call Call) (Out, error)

// Lazy makes a tool whose function is made by the first call that needs it: what
// it opens, a worker that is never asked does not open. A worker makes it once,
// however many calls wait for it, and keeps it; the function must be safe for
// concurrent use, as that of every tool.
//
// An error of create is the error of the call, as if the tool had returned it,
// and the next call tries again: RetryAfter says that nothing happened. create
// has the time of that call's attempt, and must not keep its context.
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
	// turn holds one value while somebody creates. It is no mutex, for whoever
	// waits must be able to leave.
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
