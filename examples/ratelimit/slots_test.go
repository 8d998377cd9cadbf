package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSlots: a call has one slot however often it asks, gives back its own only,
// and loses it after a while.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2, time.Minute)
		acquire := func(actor, call string, want bool) {
			t.Helper()
			if got := s.tryAcquire(actor, call); got != want {
				t.Errorf("%s %s: %v", actor, call, got)
			}
		}
		acquire("ann", "1", true)
		acquire("ann", "1", true)
		acquire("ann", "2", true)
		acquire("ann", "3", false)
		acquire("ben", "3", true)
		s.release("ann", "3") // it has none
		acquire("ann", "3", false)
		s.release("ann", "1")
		s.release("ann", "1")
		acquire("ann", "3", true)
		acquire("ann", "4", false)
		<-time.After(time.Minute + time.Second) // of the bubble's clock
		acquire("ann", "4", true)
		acquire("ann", "5", true)
		acquire("ann", "6", false)
		for _, call := range []string{"4", "5"} {
			s.release("ann", call)
		}
		s.release("ben", "3")
		if len(s.taken) != 0 {
			t.Errorf("left behind: %v", s.taken)
		}
	})
}
