package chaos

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// workerPool keeps a number of workers running. It replaces each worker that ends.
type workerPool struct {
	options     Options
	environment []string
	// fail ends the run.
	fail    context.CancelCauseFunc
	slots   []*slot
	watches sync.WaitGroup
	note    func(oracle.Fault)

	mu      sync.Mutex
	closing bool
	crashes int
	// extra are the workers that replace has replaced. They still run.
	extra []*process
}

// slot holds the current worker of one place in the pool.
type slot struct {
	mu      sync.Mutex
	current *process
}

func (s *slot) get() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// maxCrashes is the number of crashes of workers at which the run fails.
const maxCrashes = 20

// startPool starts the workers. note gets the faults of the pool.
func startPool(o Options, environment []string, fail context.CancelCauseFunc, note func(oracle.Fault)) (*workerPool, error) {
	c := &workerPool{options: o, environment: environment, fail: fail, note: note}
	for range o.Workers {
		s := &slot{}
		if err := c.fill(s); err != nil {
			c.close()
			return nil, err
		}
		c.slots = append(c.slots, s)
	}
	return c, nil
}

// fill starts a worker in a slot, and starts the next one when it ends.
func (c *workerPool) fill(s *slot) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil
	}
	p, err := spawn(c.options, c.environment)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.current = p
	s.mu.Unlock()
	c.watches.Go(func() {
		<-p.done
		if !p.wanted.Load() {
			c.crashed(p)
		}
		if s.get() != p {
			return // replace has filled the slot
		}
		if err := c.fill(s); err != nil {
			c.fail(err)
		}
	})
	return nil
}

// crashed records a worker that ended without a planned fault.
func (c *workerPool) crashed(p *process) {
	now := time.Now()
	c.note(oracle.Fault{Kind: oracle.Crash, PID: p.pid(), From: now, To: now})
	c.mu.Lock()
	c.crashes++
	tooMany := c.crashes > maxCrashes
	c.mu.Unlock()
	c.options.Progress(fmt.Sprintf("worker %d ended by itself: %s", p.pid(), p.tail))
	if tooMany {
		c.fail(fmt.Errorf("more than %d workers ended by themselves; the last one wrote: %s", maxCrashes, p.tail))
	}
}

// kill sends SIGKILL to the worker of a slot, and waits until it has ended.
func (c *workerPool) kill(n int) {
	p := c.slots[n].get()
	if p.ended() {
		return // the next worker has not started yet
	}
	from := time.Now()
	p.end(syscall.SIGKILL)
	<-p.done
	c.note(oracle.Fault{Kind: oracle.Kill, PID: p.pid(), From: from, To: time.Now()})
}

// term sends SIGTERM to the worker of a slot, and waits until it has ended.
func (c *workerPool) term(n int) {
	p := c.slots[n].get()
	if p.ended() {
		return
	}
	from := time.Now()
	p.end(syscall.SIGTERM)
	<-p.done
	c.note(oracle.Fault{Kind: oracle.Term, PID: p.pid(), From: from, To: time.Now()})
}

// freeze stops the worker of a slot for d, or until the worker or ctx ends.
func (c *workerPool) freeze(ctx context.Context, n int, d time.Duration) {
	p := c.slots[n].get()
	from := time.Now()
	if p.ended() || p.cmd.Process.Signal(syscall.SIGSTOP) != nil {
		return
	}
	select {
	case <-time.After(d):
	case <-p.done:
	case <-ctx.Done():
	}
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	c.note(oracle.Fault{Kind: oracle.Stop, PID: p.pid(), From: from, To: time.Now()})
}

// replace stops the worker of a slot for d and starts another worker in the slot. It calls begun
// when the worker is stopped. Afterwards both workers run until stopReplaced.
func (c *workerPool) replace(ctx context.Context, n int, d time.Duration, begun func()) {
	s := c.slots[n]
	p := s.get()
	from := time.Now()
	err := p.cmd.Process.Signal(syscall.SIGSTOP)
	begun()
	if err != nil {
		return
	}
	c.mu.Lock()
	c.extra = append(c.extra, p)
	c.mu.Unlock()
	if err := c.fill(s); err != nil {
		c.fail(err)
	}
	pause(ctx, d)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	c.note(oracle.Fault{Kind: oracle.Stop, PID: p.pid(), From: from, To: time.Now()})
}

// stopReplaced ends the workers that replace has replaced.
func (c *workerPool) stopReplaced() {
	c.mu.Lock()
	extra := c.extra
	c.extra = nil
	c.mu.Unlock()
	var ending sync.WaitGroup
	for _, p := range extra {
		ending.Go(p.close)
	}
	ending.Wait()
}

// close ends all workers and waits until none runs.
func (c *workerPool) close() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.stopReplaced()
	var ending sync.WaitGroup
	for _, s := range c.slots {
		ending.Go(func() { s.get().close() })
	}
	ending.Wait()
	c.watches.Wait()
}
