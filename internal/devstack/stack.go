package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// existingTimeout bounds the wait for an answer of a server that the stack did not start.
const existingTimeout = 10 * time.Second

// Stack is a Temporal server and a Postgres server. It stops the servers that it started. It is safe for concurrent use.
type Stack struct {
	options  Options
	temporal *Temporal // nil if Options names a server
	postgres *Postgres // nil if Options names a database
}

// Start starts both servers in parallel and returns when both answer. ctx bounds the start only. After a failed start nothing runs, and the
// error says what to do.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if o.Persist && o.Dir == "" {
		return nil, errors.New("keeping data needs a directory: set Dir")
	}
	o.Progress = oneAtATime(o.Progress)
	s := &Stack{options: o}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.openPostgres(groupCtx) })
	group.Go(func() error { return s.openTemporal(groupCtx) })
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Stack) openPostgres(ctx context.Context) (err error) {
	if s.options.DatabaseURL != "" {
		return checkDatabase(ctx, s.options.DatabaseURL)
	}
	s.postgres, err = StartPostgres(ctx, PostgresOptions{
		Dir: s.options.Dir, Persist: s.options.Persist, Fsync: s.options.Fsync, Progress: s.options.Progress,
	})
	return err
}

func (s *Stack) openTemporal(ctx context.Context) (err error) {
	if s.options.TemporalAddress != "" {
		return checkTemporal(ctx, s.options.TemporalAddress)
	}
	s.temporal, err = StartTemporal(ctx, TemporalOptions{
		Dir: s.options.Dir, Persist: s.options.Persist, FileStore: s.options.FileStore, UI: s.options.UI,
		Full: s.options.FullServer, Fsync: s.options.Fsync, SearchAttributes: s.options.SearchAttributes, Progress: s.options.Progress,
	})
	return err
}

func checkDatabase(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, existingTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url) // errors of pgx do not contain the password
	if err != nil {
		return fmt.Errorf("the given database does not answer: start it, correct its address, or leave the address out: %w", err)
	}
	return conn.Close(ctx)
}

func checkTemporal(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, existingTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("no Temporal server at %s: start it, correct its address, or leave the address out: %w", address, err)
	}
	return conn.Close()
}

func oneAtATime(progress func(string)) func(string) {
	if progress == nil {
		return nil
	}
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		progress(line)
	}
}

// TemporalAddress returns the host:port of the frontend.
func (s *Stack) TemporalAddress() string {
	if s.temporal == nil {
		return s.options.TemporalAddress
	}
	return s.temporal.Address()
}

// UIAddress returns the URL of the Temporal UI, "" if the stack serves none.
func (s *Stack) UIAddress() string {
	if s.temporal == nil {
		return ""
	}
	return s.temporal.UIAddress()
}

// Namespace returns the Temporal namespace to use: "default".
func (s *Stack) Namespace() string { return namespace }

// DatabaseURL returns the address of the database, with its password. Child processes can use it;
// do not log it.
func (s *Stack) DatabaseURL() string {
	if s.postgres == nil {
		return s.options.DatabaseURL
	}
	return s.postgres.URL()
}

// Temporal returns the server that the stack started, nil if Options names another.
func (s *Stack) Temporal() *Temporal { return s.temporal }

// Postgres returns the server that the stack started, nil if Options names another.
func (s *Stack) Postgres() *Postgres { return s.postgres }

// Stop stops the servers that Start started, and deletes their data unless it is to persist. After Stop none of them runs. If ctx has
// ended, Stop waits less. Later calls do nothing.
func (s *Stack) Stop(ctx context.Context) error {
	var temporal, postgres error
	var both sync.WaitGroup
	if s.temporal != nil {
		both.Go(func() { temporal = s.temporal.Stop(ctx) })
	}
	if s.postgres != nil {
		both.Go(func() { postgres = s.postgres.Stop(ctx) })
	}
	both.Wait()
	return errors.Join(temporal, postgres)
}
