package devstack

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// PID returns the process id of the running server, 0 if it does not run.
func (s *server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return 0
	}
	return s.proc.PID()
}

// Stop stops the server in good order and deletes its data, unless the data is to persist. After Stop nothing runs. If ctx has ended, Stop
// waits less. Later calls do nothing.
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

// restart stops the server if it runs and starts it again on the same port. It tries again while old connections hold the port.
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

// crash stops the server without an orderly shutdown, so that restart has to recover.
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
