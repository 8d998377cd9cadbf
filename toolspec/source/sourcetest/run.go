package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/source"
)

// limit is how long a source may take to offer its tools, and to stop.
const limit = 10 * time.Second

// checks are the parts of the contract. Each runs with a source of its own.
var checks = []struct {
	name  string
	check func(ctx context.Context, s source.Source) error
}{
	{"offers tools and stops", offersAndStops},
	{"stops before it starts", stopsBeforeStart},
	{"stops while it starts", stopsDuringStart},
	{"runs again", runsAgain},
	{"is read by many goroutines", isReadConcurrently},
}

// Run tests the contract of a source. newSource returns a source that works and that nothing runs yet;
// Run calls it several times. Servers that the source needs may be started in newSource and stopped with
// t.Cleanup. The caller must not be a parallel test, because Run looks for goroutines that are left.
func Run(t *testing.T, newSource func(t *testing.T) source.Source) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Run("contract", func(t *testing.T) {
				if err := c.check(t.Context(), newSource(t)); err != nil {
					t.Error(err)
				}
			})
			if err := leaks(before); err != nil {
				t.Error(err)
			}
		})
	}
}

// leaks waits until no goroutines are left except those that before names.
func leaks(before goleak.Option) (err error) {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if err = goleak.Find(before); err == nil {
			return nil
		}
	}
	return fmt.Errorf("goroutines are left after Run returned: %w", err)
}

// run is a run of a source.
type run struct {
	source source.Source
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	ended  bool
	late   bool
	offers []source.Offer
	first  chan struct{}
}

func start(ctx context.Context, s source.Source) *run {
	ctx, cancel := context.WithCancel(ctx)
	r := &run{source: s, cancel: cancel, done: make(chan struct{}), first: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ended = true
		}()
		// After the end of ctx, Run may return an error or nil. stop reports a Run that ended earlier.
		_ = s.Run(ctx, r.offer)
	}()
	return r
}

func (r *run) offer(o source.Offer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		r.late = true
		return
	}
	if r.offers = append(r.offers, o); len(r.offers) == 1 {
		close(r.first)
	}
}

// offered waits for the first offer and checks it.
func (r *run) offered() error {
	select {
	case <-r.first:
	case <-r.done:
		return errors.New("Run returned before its context ended")
	case <-time.After(limit):
		return fmt.Errorf("no offer within %s", limit)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.offers {
		if o.Fault != "" {
			return fmt.Errorf("the source works, and offers the fault %q", o.Fault)
		}
		// Describe binds the tools and refuses two of the same id.
		if _, err := catalog.Describe(string(r.source.Info().Kind), o.Tools...); err != nil {
			return fmt.Errorf("an offer has a tool that no worker takes: %w", err)
		}
	}
	return nil
}

// stop ends the context and waits for the end of the run.
func (r *run) stop() error {
	select {
	case <-r.done:
		return errors.New("Run returned before its context ended")
	default:
	}
	return r.end()
}

func (r *run) end() error {
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(limit):
		return fmt.Errorf("Run did not return within %s of the end of its context", limit)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.late {
		return errors.New("the source offered after Run returned")
	}
	return nil
}

// whole is a run from its first offer to its end.
func whole(ctx context.Context, s source.Source) error {
	r := start(ctx, s)
	if err := r.offered(); err != nil {
		return errors.Join(err, r.end())
	}
	return r.stop()
}

func offersAndStops(ctx context.Context, s source.Source) error {
	info := s.Info()
	if err := info.Check(); err != nil {
		return err
	}
	err := whole(ctx, s)
	for range 2 {
		if after := s.Info(); after != info {
			return errors.Join(err, fmt.Errorf("Info was %+v and is %+v", info, after))
		}
	}
	return err
}

func stopsBeforeStart(ctx context.Context, s source.Source) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return start(ctx, s).end()
}

func stopsDuringStart(ctx context.Context, s source.Source) error { return start(ctx, s).end() }

func runsAgain(ctx context.Context, s source.Source) error {
	return errors.Join(whole(ctx, s), whole(ctx, s))
}

// isReadConcurrently reads the source and its tools while it runs, for the race detector.
func isReadConcurrently(ctx context.Context, s source.Source) error {
	r := start(ctx, s)
	err := r.offered()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			_ = s.Info()
			for _, tool := range r.tools() {
				_, _, _ = tool.Definition(), tool.HasRun(), tool.Kind()
			}
		})
	}
	readers.Wait()
	return errors.Join(err, r.end())
}

func (r *run) tools() (all []toolspec.Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.offers {
		all = append(all, o.Tools...)
	}
	return all
}
