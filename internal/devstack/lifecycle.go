package devstack

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// PID is the process id of the running server, 0 while it does not run.
func (s *server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return 0
	}
	return s.proc.PID()
}

// Stop stops the server in good order, and deletes its data unless it is to persist. Nothing is left running, even if ctx has
// ended: then it only hurries. Later calls do nothing.
func (s *server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop(ctx)
	if err := s.close(); err != nil {
		return fmt.Errorf("stop %s: %w", s.name, err)
	}
	return nil
}

// restart stops the server if it runs and serves again, on the port it had, waiting out connections that still hold it.
func (s *server) restart(ctx context.Context, serve func(context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.errClosed()
	}
	s.stop(ctx)
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	var err error
	for range startAttempts {
		if err = serve(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
	return err
}

// crash stops the server without the courtesies, so that restart has something to recover from.
func (s *server) crash(stop func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.errClosed()
	}
	if s.running() {
		stop()
	}
	return nil
}

func (s *server) errClosed() error {
	return fmt.Errorf("%s has been stopped for good: start a new one", s.name)
}

func (s *server) close() error {
	return errors.Join(s.guard.Close(), s.home.close())
}
