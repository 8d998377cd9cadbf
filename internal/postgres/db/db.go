package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout bounds one attempt to connect where the URL does not.
	connectTimeout = 5 * time.Second
	// poolPingTimeout bounds the question whether a connection that has idled still lives. A try of a step has two seconds: enough to find
	// some that do not.
	poolPingTimeout = 500 * time.Millisecond
)

// DB is a pool of connections with the statements of a store. It may be used by several goroutines.
type DB struct {
	pool    *pgxpool.Pool
	queries map[string]query
	reset   *rate
}

// Options are how a DB connects.
type Options struct {
	// MaxConns bounds the connections, 0–1000; 0 takes what the URL or else the driver says: four, or one per processor if these are more.
	MaxConns int
	// Application is the name that the server shows for the connections; empty means pawl.
	Application string
	// OnRoundTrip, if any, is called before every round trip of the pool, from many goroutines, with the context of who asks.
	OnRoundTrip func(context.Context)
}

// New makes a DB of a pool, without statements. The pool stays the caller's.
func New(pool *pgxpool.Pool) *DB { return &DB{pool: pool, reset: new(rate)} }

// With returns a DB on the same pool with the statements of files. It panics if the files are faulty or have a name twice.
func (d *DB) With(files ...fs.FS) *DB {
	queries, err := parseQueries(files...)
	if err != nil {
		panic(fmt.Sprintf("postgres: the embedded queries are faulty: %v", err)) // a test parses them
	}
	return &DB{pool: d.pool, queries: queries, reset: d.reset}
}

// Open connects to the database, once: to try again is the caller's business. The error of an unreachable server is transient; the one
// of a URL that cannot be read is not, and does not repeat the URL, which may hold a password. Close the DB.
func Open(ctx context.Context, url string, opts Options) (*DB, error) {
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
		return nil, Failure("open", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, Failure("open", err)
	}
	return New(pool), nil
}

// Ping asks whether the database answers.
func (d *DB) Ping(ctx context.Context) error { return Failure("ping", d.pool.Ping(ctx)) }

// MaxConns is how many statements can run at once.
func (d *DB) MaxConns() int { return int(d.pool.Config().MaxConns) }

// Close ends the connections; it waits for statements that run.
func (d *DB) Close() { d.pool.Close() }

// Connect makes a connection beside the pool and runs the statements on it. The error is an error of the driver.
func (d *DB) Connect(ctx context.Context, steps ...Step) (conn *pgx.Conn, err error) {
	if conn, err = pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig); err != nil {
		return nil, err
	}
	for _, st := range steps {
		sql, args, err := d.bound(st)
		if err == nil {
			_, err = conn.Exec(ctx, sql, args...)
		}
		if err != nil {
			Disconnect(ctx, conn)
			return nil, err
		}
	}
	return conn, nil
}

// Disconnect ends a connection of Connect, also where ctx has ended. It takes five seconds at most.
func Disconnect(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx) // it is of no use any more, whatever it says
}

// closeTimeout bounds the end of a connection.
const closeTimeout = 5 * time.Second
