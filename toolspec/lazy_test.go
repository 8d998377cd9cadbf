package toolspec_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

type lazyIn struct{ N int }

type lazyOut struct{ N int }

// TestLazy (PF-02, PF-03): of thirty tools only the one that is called is made,
// once for a hundred calls at a time, and every call has its own answer.
func TestLazy(t *testing.T) {
	const calling = 100
	var made [30]atomic.Int32
	var waiting atomic.Int32
	var tools []toolspec.Tool
	for i := range made {
		tools = append(tools, toolspec.Lazy(toolspec.Definition{ID: fmt.Sprintf("test__t%d", i)},
			func(context.Context) (toolspec.Run[lazyIn, lazyOut], error) {
				made[i].Add(1)
				for waiting.Load() < calling { // so that the others are there meanwhile
					runtime.Gosched()
				}
				return func(_ context.Context, in lazyIn, _ toolspec.Call) (lazyOut, error) { return lazyOut{in.N + i}, nil }, nil
			}))
	}
	var calls sync.WaitGroup
	for n := range calling {
		calls.Go(func() {
			waiting.Add(1)
			out, err := tools[7].Run(t.Context(), json.RawMessage(fmt.Sprintf(`{"N":%d}`, n)), toolspec.Call{})
			if err != nil || string(out) != fmt.Sprintf(`{"N":%d}`, n+7) {
				t.Errorf("call %d: %s, %v", n, out, err)
			}
		})
	}
	calls.Wait()
	for i := range made {
		if got, want := made[i].Load(), map[bool]int32{true: 1}[i == 7]; got != want {
			t.Errorf("tool %d was made %d times, want %d", i, got, want)
		}
	}
}

// TestLazyFails: what failed is tried again by the next call, a panic included.
func TestLazyFails(t *testing.T) {
	made := 0
	tool := toolspec.Lazy(toolspec.Definition{}, func(context.Context) (toolspec.Run[lazyIn, lazyOut], error) {
		switch made++; made {
		case 1:
			return nil, toolspec.RetryAfter(time.Second, "not yet")
		case 2:
			panic("broken")
		}
		return func(context.Context, lazyIn, toolspec.Call) (lazyOut, error) { return lazyOut{1}, nil }, nil
	})
	var busy *toolspec.BusyError
	if _, err := tool.Run(t.Context(), json.RawMessage(`{}`), toolspec.Call{}); !errors.As(err, &busy) {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		_, _ = tool.Run(t.Context(), json.RawMessage(`{}`), toolspec.Call{})
	}()
	for range 2 {
		if out, err := tool.Run(t.Context(), json.RawMessage(`{}`), toolspec.Call{}); err != nil || string(out) != `{"N":1}` {
			t.Errorf("got %s, %v", out, err)
		}
	}
	if made != 3 {
		t.Errorf("made %d times", made)
	}
}

// TestLazyWaits: whoever waits for another call's making leaves when its own time
// is over.
func TestLazyWaits(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	tool := toolspec.Lazy(toolspec.Definition{}, func(context.Context) (toolspec.Run[lazyIn, lazyOut], error) {
		close(begun)
		<-release
		return func(context.Context, lazyIn, toolspec.Call) (lazyOut, error) { return lazyOut{}, nil }, nil
	})
	first := make(chan error, 1)
	go func() {
		_, err := tool.Run(t.Context(), json.RawMessage(`{}`), toolspec.Call{})
		first <- err
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Run(ctx, json.RawMessage(`{}`), toolspec.Call{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the first call: %v", err)
	}
}
