package room

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r Room
		enter := func(tenant string) (func(), error) {
			ctx, cancel := context.WithTimeout(t.Context(), 1)
			defer cancel()
			return r.Enter(ctx, Bound{"", 3}, Bound{tenant, 2}, Bound{"unbounded", 0})
		}
		var leaves []func()
		for _, c := range []struct {
			tenant string
			has    bool
		}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"b", false}, {"c", false}} {
			leave, err := enter(c.tenant)
			if (err == nil) != c.has || err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", c.tenant, err)
			}
			if err == nil {
				leaves = append(leaves, leave)
			}
		}
		// Work that waits begins when other work ends, and what had no room took none.
		var began atomic.Int32
		var waiting sync.WaitGroup
		for _, tenant := range []string{"a", "c"} {
			waiting.Go(func() {
				leave, err := r.Enter(t.Context(), Bound{"", 3}, Bound{tenant, 2})
				if err != nil {
					t.Error(err)
					return
				}
				began.Add(1)
				leave()
			})
		}
		synctest.Wait()
		if began.Load() != 0 {
			t.Error("work without room began")
		}
		leaves[0]()
		waiting.Wait()
		leaves[1]()
		leaves[2]()
		if len(r.running) != 0 {
			t.Errorf("what has ended is counted: %v", r.running)
		}
	})
}

// TestOrder: of the work that has room, the one that has waited longest enters first. Work that gave up enters no more.
func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r Room
		bounds := func(tenant string) []Bound { return []Bound{{"", 2}, {tenant, 1}} }
		leaveA, _ := r.Enter(t.Context(), bounds("a")...)
		leaveB, _ := r.Enter(t.Context(), bounds("b")...)
		entered := make(chan string, 5)
		given, giveUp := context.WithCancel(t.Context())
		for _, w := range []struct {
			ctx          context.Context
			name, tenant string
		}{{given, "gone", "c"}, {t.Context(), "a 1", "a"}, {t.Context(), "c", "c"}, {t.Context(), "a 2", "a"}} {
			go func() {
				if leave, err := r.Enter(w.ctx, bounds(w.tenant)...); err == nil {
					entered <- w.name
					leave()
				}
			}()
			synctest.Wait()
		}
		giveUp()
		synctest.Wait()
		leaveB() // a is full
		if got := <-entered; got != "c" {
			t.Errorf("%s enters first", got)
		}
		synctest.Wait()
		leaveA()
		for _, want := range []string{"a 1", "a 2"} {
			if got := <-entered; got != want {
				t.Errorf("%s enters, want %s", got, want)
			}
		}
		synctest.Wait()
		if len(r.running) != 0 || len(r.waiting) != 0 {
			t.Errorf("left: %v, %v", r.running, r.waiting)
		}
	})
}
