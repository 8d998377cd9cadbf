package main

import (
	"sync"
	"time"
)

// slots is a limiter in the memory of one worker: several workers allow as many
// times more, where the limits of a policy count for all of them. A slot ends by itself after a while, for its call may be released
// by another worker.
type slots struct {
	most int
	life time.Duration

	mu    sync.Mutex
	taken map[string]map[string]time.Time // actor → call → end
}

func newSlots(limit int, life time.Duration) *slots {
	return &slots{most: limit, life: life, taken: make(map[string]map[string]time.Time)}
}

func (s *slots) tryAcquire(actor, call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	calls := s.taken[actor]
	for c, end := range calls {
		if now.After(end) {
			delete(calls, c)
		}
	}
	if _, again := calls[call]; !again && len(calls) >= s.most {
		return false
	}
	if calls == nil {
		calls = make(map[string]time.Time)
		s.taken[actor] = calls
	}
	calls[call] = now.Add(s.life)
	return true
}

func (s *slots) release(actor, call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken[actor], call)
	if len(s.taken[actor]) == 0 {
		delete(s.taken, actor)
	}
}
