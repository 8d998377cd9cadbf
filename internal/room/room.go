package room

import (
	"context"
	"sync"
)

// Room counts the work that runs, by keys. The zero value is ready, and safe for concurrent use.
type Room struct {
	mu      sync.Mutex
	running map[string]int
	left    chan struct{} // closed when work ends
}

// Bound says how much work of a key may run at the same time. A Most of 0 sets no bound.
type Bound struct {
	Key  string
	Most int
}

// Enter waits, as long as ctx lasts, until there is room for one more of every key. leave must then be
// called once. The error is that of ctx. Work that waits for room takes none.
func (r *Room) Enter(ctx context.Context, bounds ...Bound) (leave func(), err error) {
	for {
		left := r.try(bounds)
		if left == nil {
			return func() { r.leave(bounds) }, nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try takes the room, or returns what is closed when there may be more.
func (r *Room) try(bounds []Bound) (left <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range bounds {
		if b.Most > 0 && r.running[b.Key] >= b.Most {
			if r.left == nil {
				r.left = make(chan struct{})
			}
			return r.left
		}
	}
	if r.running == nil {
		r.running = map[string]int{}
	}
	for _, b := range bounds {
		r.running[b.Key]++
	}
	return nil
}

func (r *Room) leave(bounds []Bound) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range bounds {
		if r.running[b.Key]--; r.running[b.Key] == 0 {
			delete(r.running, b.Key)
		}
	}
	if r.left != nil {
		close(r.left)
		r.left = nil
	}
}
