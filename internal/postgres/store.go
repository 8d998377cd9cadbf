package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/upkeep"
)

const (
	// connectTimeout bounds one attempt to connect where the URL does not.
	connectTimeout = 5 * time.Second
	// poolPingTimeout bounds the question whether a connection that has idled still lives. A try of a step has two seconds: enough to find
	// some that do not.
	poolPingTimeout = 500 * time.Millisecond
)

// Store keeps the record. It may be used by several goroutines.
type Store struct {
	pool     *pgxpool.Pool
	queries  map[string]query
	compiled *policyCache
	reset    rate
}

var (
	_ activities.Records = (*Store)(nil)
	_ judge.Policies     = (*Store)(nil)
	_ upkeep.Store       = (*Store)(nil)
)

// Options are how a Store connects.
type Options struct {
	// MaxConns bounds the connections, 0–1000; 0 takes what the URL or else the driver says: four, or one per processor if these are more.
	MaxConns int
	// Application is the name that the server shows for the connections; empty means pawl.
	Application string
	// OnRoundTrip, if any, is called before every round trip of the pool, from many goroutines, with the context of who asks.
	OnRoundTrip func(context.Context)
}

// New makes a Store of a pool. The pool stays the caller's.
func New(pool *pgxpool.Pool) *Store {
	queries, err := parseQueries(queryFiles)
	if err != nil {
		panic(fmt.Sprintf("postgres: the embedded queries are faulty: %v", err)) // a test parses them
	}
	return &Store{pool: pool, queries: queries, compiled: newPolicyCache(policyCacheSize)}
}

// Open connects to the database, once: to try again is the caller's business. The error of an unreachable server is transient; the one
// of a URL that cannot be read is not, and does not repeat the URL, which may hold a password. Close the Store.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL cannot be read; it has the form postgres://user:password@host:5432/database")
	}
	if opts.MaxConns < 0 || opts.MaxConns > 1000 {
		return nil, fmt.Errorf("MaxConns is %d; it must be between 0 and 1000", opts.MaxConns)
	}
	if opts.MaxConns > 0 {
		config.MaxConns = int32(opts.MaxConns)
	}
	if opts.Application == "" {
		opts.Application = "pawl"
	}
	config.ConnConfig.RuntimeParams["application_name"] = opts.Application
	config.PingTimeout = poolPingTimeout
	if opts.OnRoundTrip != nil {
		config.ConnConfig.Tracer = trips(opts.OnRoundTrip)
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, failure("open", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, failure("open", err)
	}
	return New(pool), nil
}

// Ping asks whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return failure("ping", s.pool.Ping(ctx)) }

// MaxConns is how many statements can run at once.
func (s *Store) MaxConns() int { return int(s.pool.Config().MaxConns) }

// Close ends the connections; it waits for statements that run.
func (s *Store) Close() { s.pool.Close() }
