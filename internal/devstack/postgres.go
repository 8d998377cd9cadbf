package devstack

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

// database is the name of the database in URL.
const database = "pawl"

// PostgresOptions configure a Postgres. The zero value is a throwaway server.
type PostgresOptions struct {
	Dir      string            // where its directory goes; "" = the system's temporary directory
	Persist  bool              // keep the data in Dir, needed then, and take up what is there
	Fsync    bool              // make commits survive a power cut; always on with Persist. Off, they survive a crash of the server
	Settings map[string]string // further server settings, as in postgresql.conf
	Progress func(string)      // gets one line at a time; nil = silent
}

// Postgres is a running Postgres server. It is safe for concurrent use.
type Postgres struct {
	*server
	binaries binaries
	account  *supervise.Account
	data     string
	settings map[string]string

	port     int
	password string
}

// StartPostgres starts a Postgres server with an empty database. It returns when the server answers queries, after about two seconds. ctx
// bounds the start only. A failed start leaves only a log, which the error names.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	account, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	home, err := openHome(ctx, "postgres", o.Dir, o.Persist, account)
	if err != nil {
		return nil, err
	}
	server, err := openServer(home, "Postgres", "postgres",
		supervise.Step{Signal: supervise.Interrupt, Wait: 15 * time.Second}, // fast shutdown
		supervise.Step{Signal: supervise.Quit, Wait: 5 * time.Second})       // immediate shutdown
	if err != nil {
		return nil, err
	}
	p := &Postgres{server: server, account: account, settings: postgresSettings(o)}
	if err := p.open(ctx, o); err != nil {
		return nil, p.abandon(err)
	}
	return p, nil
}

func postgresSettings(o PostgresOptions) map[string]string {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": "", // their paths can be too long, and TCP is enough
		"timezone":                "UTC",
		"max_connections":         "200",
	}
	if !o.Fsync && !o.Persist {
		settings["fsync"], settings["full_page_writes"] = "off", "off"
	}
	maps.Copy(settings, o.Settings)
	return settings
}

func (p *Postgres) open(ctx context.Context, o PostgresOptions) (err error) {
	if p.data, err = dataDir(p.home, p.account); err != nil {
		return err
	}
	major, err := dataMajor(p.data)
	if err != nil {
		return err
	}
	if p.binaries, err = findPostgres(ctx, major); err != nil {
		return err
	}
	if o.Progress != nil {
		o.Progress("starting Postgres " + strconv.Itoa(p.binaries.major))
	}
	if major == 0 {
		err = p.initialise(ctx, o.Fsync || o.Persist)
	} else if err = makeFor(p.account, p.data); err == nil {
		err = p.recall()
	}
	if err != nil {
		return err
	}
	for range startAttempts {
		if p.port, err = p.home.port("port", 0); err != nil {
			return err
		}
		if err = p.serve(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

func (p *Postgres) serve(ctx context.Context) error {
	args := []string{"-D", p.data, "-p", strconv.Itoa(p.port)}
	for _, name := range slices.Sorted(maps.Keys(p.settings)) {
		args = append(args, "-c", name+"="+p.settings[name])
	}
	return p.launch(ctx, supervise.Command{
		Path: p.binaries.path("postgres"), Args: args, Dir: p.data, Env: serverEnv(p.data), Account: p.account, Signal: supervise.Interrupt,
	}, p.ready)
}

// ready reports whether the server answers. It creates the database if it does not exist.
func (p *Postgres) ready(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, database).Scan(&exists); err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, `CREATE DATABASE `+database)
	return err
}

// URL returns the address of the database "pawl" with the password, as its owner and superuser. Restart does not change it.
func (p *Postgres) URL() string { return p.url(database) }

// Major returns the major version of the server.
func (p *Postgres) Major() int { return p.binaries.major }

func (p *Postgres) url(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, p.password), Host: address(p.port), Path: "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// StopImmediate stops the server as a crash does: connections break, nothing is flushed, committed data stays. Restart starts it again.
func (p *Postgres) StopImmediate(ctx context.Context) error {
	return p.crash(func() { p.proc.Stop(ctx, supervise.Step{Signal: supervise.Quit, Wait: 10 * time.Second}) })
}

// Restart starts a stopped server on the same port and data. It first stops a server that runs, in
// good order.
func (p *Postgres) Restart(ctx context.Context) error { return p.restart(ctx, p.serve) }
