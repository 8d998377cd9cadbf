package capacity

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestManySlots: expired slots are dropped.
func TestManySlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p SlotTimes
		for range 2 {
			for i := range manySlots + 4 {
				p.Remember(time.Duration(i).String(), time.Now())
			}
			timer := time.NewTimer(2 * HoldTime)
			<-timer.C
		}
		if p.Remember("last", time.Now()); len(p.asked) != 1 {
			t.Errorf("%d places are remembered, want the one that can be used", len(p.asked))
		}
	})
}
