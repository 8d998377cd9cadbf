package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectTimeout bounds one attempt to connect if the URL has no bound.
	connectTimeout = 5 * time.Second
	// poolPingTimeout bounds the ping of an idle connection. A try of a step has two seconds,
	// which is enough to find several dead connections.
	poolPingTimeout = 500 * time.Millisecond
)

// DB is a pool of connections with the statements of a store. It is safe for concurrent use.
type DB struct {
	pool    *pgxpool.Pool
	queries map[string]query
	reset   *rate
	// pooled says that a pooler is in front of the server. direct, if not nil, connects to the server itself.
	pooled bool
	direct *pgx.ConnConfig
	// names has the names of all statements by their SQL.
	names *sync.Map
}

// Options configure the connections of a DB.
type Options struct {
	// MaxConns bounds the connections, 0–1000. 0 takes the value of the URL, or else the
	// driver's default: the number of processors, at least four.
	MaxConns int
	// Application is the name that the server shows for the connections. Empty means pawl.
	Application string
	// OnRoundTrip, if not nil, is called before every round trip of the pool with the caller's
	// context. Calls are concurrent.
	OnRoundTrip func(context.Context)
	// DirectURL, if not empty, is the address of the server itself, for a URL that leads through a pooler:
	// notifications and changes of the schema need a session of the server.
	DirectURL string
	// Trace, if not nil, observes every round trip of the pool.
	Trace Trace
}

// Stat is the state of the pool of connections.
type Stat struct {
	// Max is the size of the pool. InUse and Idle are its connections.
	Max, InUse, Idle int
	// Waits counts the statements that waited for a connection since the start, and Waited is how long in all.
	Waits  int64
	Waited time.Duration
}

// New returns a DB that uses pool and has no statements. The caller closes the pool.
func New(pool *pgxpool.Pool) *DB { return &DB{pool: pool, reset: new(rate), names: new(sync.Map)} }

// With returns a DB on the same pool with the statements of files, and no others. It panics if the files are
// invalid or repeat a name.
func (d *DB) With(files ...fs.FS) *DB {
	queries, err := parseQueries(files...)
	if err != nil {
		panic(fmt.Sprintf("postgres: the embedded queries are faulty: %v", err)) // A test parses the files.
	}
	for name, q := range queries {
		d.names.Store(q.sql, name)
	}
	return &DB{pool: d.pool, queries: queries, reset: d.reset, pooled: d.pooled, direct: d.direct, names: d.names}
}

// Open connects to the database. It tries once; the caller retries. If the server is
// unreachable, the error is transient. If the URL is invalid, the error is permanent and does
// not contain the URL, which may hold a password. Close the DB after use.
//
// A pooler may give each transaction another session of the server, in which earlier prepared statements do not exist. If Open detects a
// pooler, the DB prepares no statements, unless the URL has default_query_exec_mode.
func Open(ctx context.Context, url string, opts Options) (*DB, error) {
	config, err := parse("the database URL", url)
	if err != nil {
		return nil, err
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
	names := new(sync.Map)
	if opts.OnRoundTrip != nil || opts.Trace != nil {
		config.ConnConfig.Tracer = trips{opts.OnRoundTrip, opts.Trace, names}
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	var direct *pgx.ConnConfig
	if opts.DirectURL != "" {
		c, err := parse("the direct URL of the database", opts.DirectURL)
		if err != nil {
			return nil, err
		}
		direct = c.ConnConfig
		direct.RuntimeParams["application_name"] = opts.Application
		direct.ConnectTimeout = cmp.Or(direct.ConnectTimeout, connectTimeout)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, Failure("open", err)
	}
	var pooled bool
	err = pool.AcquireFunc(ctx, func(c *pgxpool.Conn) (err error) {
		pooled, err = behindPooler(ctx, c.Conn().PgConn())
		return err
	})
	if err == nil && pooled && !strings.Contains(url, "default_query_exec_mode") {
		pool.Close()
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		pool, err = pgxpool.NewWithConfig(ctx, config)
	}
	if err != nil {
		if pool != nil {
			pool.Close()
		}
		return nil, Failure("open", err)
	}
	d := New(pool)
	d.pooled, d.direct = pooled, direct
	d.names = names
	return d, nil
}

// parse reads an address. Its errors do not contain the address.
func parse(what, url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New(what + " names a file that does not exist: correct sslrootcert, sslcert or sslkey")
	}
	if err != nil {
		return nil, errors.New(what + " cannot be read; it has the form postgres://user:password@host:5432/database")
	}
	return config, nil
}

// Notifies reports whether Listen gets notifications. Through a pooler it gets none, unless DirectURL is set.
func (d *DB) Notifies() bool { return d.direct != nil || !d.pooled }

// Ping checks that the database answers.
func (d *DB) Ping(ctx context.Context) error { return Failure("ping", d.pool.Ping(ctx)) }

// MaxConns returns how many statements can run at once.
func (d *DB) MaxConns() int { return int(d.pool.Config().MaxConns) }

// Stat returns the state of the pool.
func (d *DB) Stat() Stat {
	s := d.pool.Stat()
	return Stat{
		Max: int(s.MaxConns()), InUse: int(s.AcquiredConns()), Idle: int(s.IdleConns()), Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
	}
}

// Close closes the connections. It waits for running statements.
func (d *DB) Close() { d.pool.Close() }
