package room

import (
	"context"
	"slices"
	"sync"
)

// Room counts the work that runs, by keys. The zero value is ready, and safe for concurrent use.
type Room struct {
	mu      sync.Mutex
	running map[string]int
	waiting []*waiter // in the order of their arrival
}

// Bound says how much work of a key may run at the same time. A Most of 0 sets no bound.
type Bound struct {
	Key  string
	Most int
}

// waiter is work for which there was no room when it arrived.
type waiter struct {
	bounds  []Bound
	entered chan struct{} // closed when it has room
}

// Enter waits, as long as ctx lasts, until there is room for one more of every key. leave must then be
// called once. The error is that of ctx. Work that waits takes no room. Of the work that has room, the
// one that has waited longest enters first.
func (r *Room) Enter(ctx context.Context, bounds ...Bound) (leave func(), err error) {
	leave = func() { r.leave(bounds) }
	r.mu.Lock()
	if r.fits(bounds) {
		r.add(bounds)
		r.mu.Unlock()
		return leave, nil
	}
	w := &waiter{bounds, make(chan struct{})}
	r.waiting = append(r.waiting, w)
	r.mu.Unlock()
	select {
	case <-w.entered:
		return leave, nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	at := slices.Index(r.waiting, w)
	if at >= 0 {
		r.waiting = slices.Delete(r.waiting, at, at+1)
	}
	r.mu.Unlock()
	if at < 0 { // it has entered meanwhile
		leave()
	}
	return nil, ctx.Err()
}

func (r *Room) fits(bounds []Bound) bool {
	return !slices.ContainsFunc(bounds, func(b Bound) bool { return b.Most > 0 && r.running[b.Key] >= b.Most })
}

func (r *Room) add(bounds []Bound) {
	if r.running == nil {
		r.running = map[string]int{}
	}
	for _, b := range bounds {
		r.running[b.Key]++
	}
}

func (r *Room) leave(bounds []Bound) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range bounds {
		if r.running[b.Key]--; r.running[b.Key] == 0 {
			delete(r.running, b.Key)
		}
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(w *waiter) bool {
		if !r.fits(w.bounds) {
			return false
		}
		r.add(w.bounds)
		close(w.entered)
		return true
	})
}
