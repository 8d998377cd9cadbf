package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

const (
	startTimeout  = 90 * time.Second // a start that takes longer has failed
	probeTimeout  = 5 * time.Second  // one question to a starting server
	probeEvery    = 50 * time.Millisecond
	startAttempts = 5    // when the port is taken
	tailBytes     = 4000 // of a log
	tailLines     = 12
)

// server is the common part of Postgres and Temporal: a home, a guard, and at most one process. Callers of its unexported methods must hold
// the lock.
type server struct {
	mu     sync.Mutex
	closed bool

	name  string // for people
	kind  string // for paths
	home  *home
	guard *supervise.Guard
	halt  []supervise.Step   // how it stops in good order
	proc  *supervise.Process // nil before the first launch
}

func openServer(home *home, name, kind string, halt ...supervise.Step) (*server, error) {
	var remove []string
	if home.throwaway {
		remove = []string{home.dir}
	}
	guard, err := supervise.NewGuard(supervise.GuardOptions{Remove: remove, Hold: home.lock.File()})
	if err != nil {
		return nil, errors.Join(err, home.close())
	}
	return &server{name: name, kind: kind, home: home, guard: guard, halt: halt}, nil
}

// running reports whether the process has been launched and not ended.
func (s *server) running() bool {
	if s.proc == nil {
		return false
	}
	select {
	case <-s.proc.Done():
		return false
	default:
		return true
	}
}

// run runs a program until it ends, and writes its output to the log.
func (s *server) run(ctx context.Context, c supervise.Command) error {
	offset, err := s.start(c)
	if err != nil {
		return err
	}
	select {
	case <-s.proc.Done():
	case <-ctx.Done():
		s.stop(ctx)
		return s.cancelled(ctx)
	}
	if err := s.proc.Err(); err != nil {
		return s.failure(offset, err)
	}
	return nil
}

func (s *server) cancelled(ctx context.Context) error {
	return fmt.Errorf("starting %s was stopped: %w", s.name, context.Cause(ctx))
}

// launch starts the server and returns when ready returns nil. After an error no process of the
// server runs.
func (s *server) launch(ctx context.Context, c supervise.Command, ready func(context.Context) error) error {
	offset, err := s.start(c)
	if err != nil {
		return err
	}
	alive, cancel := whileRuns(ctx, s.proc)
	defer cancel()
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	var last error
	for {
		if last = probe(alive, ready); last == nil && s.running() {
			return nil
		}
		select {
		case <-s.proc.Done():
			failed := s.failure(offset, s.proc.Err())
			if saysPortTaken(s.tail(offset)) {
				return fmt.Errorf("%w: %w", errPortTaken, failed)
			}
			return failed
		case <-ctx.Done():
			s.stop(ctx)
			return s.cancelled(ctx)
		case <-late.C:
			failed := s.failure(offset, fmt.Errorf("no answer within %s, the last was: %w", startTimeout, last))
			s.stop(ctx)
			return failed
		case <-tick.C:
		}
	}
}

// whileRuns returns a context that also ends with the process. Without it, a program that took the port could delay a probe for long.
func whileRuns(ctx context.Context, p *supervise.Process) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func probe(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return ready(ctx)
}

// start starts the process and returns the length of the log before the start.
func (s *server) start(c supervise.Command) (offset int64, err error) {
	log, err := os.OpenFile(s.home.path(logName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open the log of %s: %w", s.name, err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return 0, fmt.Errorf("open the log of %s: %w", s.name, err)
	}
	c.Output = log
	s.proc, err = s.guard.Start(c)
	return info.Size(), err
}

// stop stops the process in good order, if it runs. If ctx has ended, it waits less.
func (s *server) stop(ctx context.Context) {
	if s.running() {
		s.proc.Stop(ctx, s.halt...)
	}
}

// startError is the error of a failed start, with the end of the log.
type startError struct {
	name, tail, log string
	cause           error
}

func (e *startError) Error() string {
	tail := e.tail
	if tail == "" {
		tail = "(it wrote nothing)"
	}
	return fmt.Sprintf("%s did not start: %v. The end of its log (all of it: %s):\n%s", e.name, e.cause, e.log, tail)
}

func (e *startError) Unwrap() error { return e.cause }

func (s *server) failure(offset int64, cause error) error {
	if cause == nil {
		cause = errors.New("it ended at once")
	}
	return &startError{name: s.name, tail: s.tail(offset), log: s.home.path(logName), cause: cause}
}

// abandon releases everything after a failed start. The error then names a log that is kept.
func (s *server) abandon(err error) error {
	s.stop(context.Background())
	var failed *startError
	if errors.As(err, &failed) {
		failed.log = s.home.keepLog(s.kind)
	}
	return errors.Join(err, s.close())
}

// tail returns the end of the log, from offset on.
func (s *server) tail(offset int64) string {
	text, err := os.ReadFile(s.home.path(logName))
	if err != nil {
		return err.Error()
	}
	text = text[min(offset, int64(len(text))):]
	lines := strings.Split(strings.TrimSpace(string(text[max(0, len(text)-tailBytes):])), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// serverEnv returns the whole environment of a server. It takes only PATH, GOGC and the temporary directory from the current process, so that no
// TEMPORAL_*, PG* or locale setting affects the server.
func serverEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LC_ALL=C", "TZ=UTC", "GOGC=" + os.Getenv("GOGC")}
}
