package devstacktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack"
)

const stopTimeout = 30 * time.Second

// shared holds the servers of this test binary. It is a package variable because package testing cannot pass a value from TestMain to the
// tests.
var shared servers

type servers struct {
	mu               sync.Mutex
	prepared         bool
	searchAttributes []string
	full             bool
	postgres         lazy[*devstack.Postgres]
	template         sync.Once // makes the database that PostgresFrom copies
	templateErr      error
	temporal         lazy[*devstack.Temporal]
}

// lazy is a server that is started at most once. After a failed start every call returns the same
// error.
type lazy[S interface{ Stop(context.Context) error }] struct {
	started bool
	server  S
	err     error
}

func (l *lazy[S]) get(start func() (S, error)) (S, error) {
	if !l.started {
		l.server, l.err = start()
		l.started = true
	}
	return l.server, l.err
}

func (l *lazy[S]) stop(ctx context.Context) error {
	if l.started && l.err == nil {
		return l.server.Stop(ctx)
	}
	return nil
}

// FullServer makes the shared Temporal a full server with Postgres persistence. Call it before Main or Runner runs the tests.
func FullServer() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.full = true
}

// Main runs the tests, stops the shared servers and exits. Temporal, if a test uses it, gets the named keyword search attributes. If the
// program is killed or panics, the servers end with it.
func Main(m *testing.M, searchAttributes ...string) { os.Exit(Runner(m, searchAttributes...).Run()) }

// Runner is Main for other wrappers of testing.M, as in
// goleak.VerifyTestMain(devstacktest.Runner(m)).
func Runner(m interface{ Run() int }, searchAttributes ...string) interface{ Run() int } {
	return runner{tests: m, searchAttributes: searchAttributes}
}

type runner struct {
	tests            interface{ Run() int }
	searchAttributes []string
}

// Run runs the tests, then stops the shared servers. It returns the exit code.
func (r runner) Run() int {
	shared.mu.Lock()
	shared.prepared, shared.searchAttributes = true, r.searchAttributes
	shared.mu.Unlock()
	code := r.tests.Run()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if err := errors.Join(shared.postgres.stop(ctx), shared.temporal.stop(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the shared servers:", err)
		return max(code, 1)
	}
	return code
}

// Shared reports whether Main or Runner runs the tests, so that the tests can use the shared
// servers.
func Shared() bool {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return shared.prepared
}

func progress(line string) { fmt.Fprintln(os.Stderr, line) }
