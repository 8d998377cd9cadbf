package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/user"
	"strings"
	"time"

	temporal "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstate"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/worker"
)

// DialTimeout bounds how long a command waits for a server.
const DialTimeout = 10 * time.Second

// Session is a command's way to the servers.
type Session struct {
	Config worker.Config
	ui     string
	// dev says that `pawl dev` of this directory is what was found.
	dev      *devstate.State
	Temporal temporal.Client
	Store    *postgres.Store
}

// LoadConfig finds the servers: what the environment names for Pawl, then a running
// `pawl dev` of this directory, then the general variables.
func LoadConfig() (worker.Config, *devstate.State, error) {
	c, err := worker.LoadConfig()
	if err != nil {
		return c, nil, err
	}
	state, err := devstate.Find()
	if err != nil {
		return c, nil, err
	}
	if state == nil {
		return c, nil, nil
	}
	if os.Getenv("PAWL_DATABASE_URL") == "" {
		c.DatabaseURL = state.DatabaseURL
	}
	if c.KeyRing.File == "" && len(c.KeyRing.Text) == 0 {
		c.KeyRing.File = state.KeyRing
	}
	if os.Getenv("TEMPORAL_ADDRESS") == "" {
		// All of it: a profile's certificates and keys are for another server.
		c.Temporal = temporal.Options{
			HostPort: state.Temporal, Namespace: state.Namespace,
			DataConverter: c.Temporal.DataConverter, FailureConverter: c.Temporal.FailureConverter,
		}
	} else {
		state.UI = ""
	}
	return c, state, nil
}

// Connect opens what a command needs; Close releases it.
func Connect(ctx context.Context, needTemporal, needStore bool) (*Session, error) {
	c, dev, err := LoadConfig()
	if err != nil {
		return nil, err
	}
	s := &Session{Config: c, dev: dev, ui: os.Getenv("PAWL_TEMPORAL_UI")}
	if dev != nil {
		s.ui = cmp.Or(s.ui, dev.UI)
	}
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	if needStore {
		if c.DatabaseURL == "" {
			return nil, errors.New("no database: run `pawl dev` in this directory, or set PAWL_DATABASE_URL")
		}
		if s.Store, err = postgres.Open(ctx, c.DatabaseURL, postgres.Options{MaxConns: 4, Application: "pawl-cli"}); err != nil {
			return nil, ExplainConnectError(WithoutPassword(c.DatabaseURL), err)
		}
	}
	if needTemporal {
		if s.Temporal, err = temporal.DialContext(ctx, WithTimeout(c.Temporal, DialTimeout)); err != nil {
			s.Close()
			return nil, fmt.Errorf("temporal does not answer at %s: run `pawl dev` in this directory, or set TEMPORAL_ADDRESS", s.Address())
		}
	}
	return s, nil
}

// WithTimeout keeps the SDK from writing into what a command prints, and sets the time
// for the server's first answer, which the SDK would wait for five seconds.
func WithTimeout(o temporal.Options, answer time.Duration) temporal.Options {
	o.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	o.ConnectionOptions.GetSystemInfoTimeout = answer
	return o
}

// ExplainConnectError says in words why there is no connection to a database.
func ExplainConnectError(where string, err error) error {
	if !errs.IsTransient(err) {
		return err
	}
	var server *postgres.Error
	if errors.As(err, &server) {
		switch {
		case strings.HasPrefix(server.State, "28"):
			return fmt.Errorf("%s refuses the user or the password (%s): correct PAWL_DATABASE_URL", where, server.State)
		case server.State == "3D000":
			return fmt.Errorf("%s does not exist (%s): create the database, or correct PAWL_DATABASE_URL", where, server.State)
		}
	}
	return fmt.Errorf("%s does not answer (%s): start Postgres there, or set PAWL_DATABASE_URL to one that runs", where, errs.Reason(err))
}

// WithStore lets use have the database for as long as it runs.
func WithStore(ctx context.Context, use func(*Session) error) error {
	s, err := Connect(ctx, false, true)
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s)
}

// Close ends the connections.
func (s *Session) Close() {
	if s.Temporal != nil {
		s.Temporal.Close()
	}
	if s.Store != nil {
		s.Store.Close()
	}
}

// Client is a client of the servers that the session is connected with.
func (s *Session) Client() *client.Client {
	o := client.Options{DataConverter: s.Config.Temporal.DataConverter}
	if s.Store != nil {
		o.Outputs, o.Catalogs = s.Store, s.Store
	}
	return client.New(s.Temporal, o)
}

// ClientWithOutputs is a client that reads large results too.
func (s *Session) ClientWithOutputs() *client.Client {
	return client.New(s.Temporal, client.Options{DataConverter: s.Config.Temporal.DataConverter, Outputs: lazyOutputs{}})
}

// Address is where Temporal is looked for.
func (s *Session) Address() string {
	return cmp.Or(s.Config.Temporal.HostPort, temporal.DefaultHostPort)
}

// Link is where the Temporal UI shows a call, or "".
func (s *Session) Link(workflowID string) string {
	if s.ui == "" {
		return ""
	}
	namespace := cmp.Or(s.Config.Temporal.Namespace, temporal.DefaultNamespace)
	return s.ui + "/namespaces/" + namespace + "/workflows/" + url.PathEscape(workflowID)
}

// DefaultTenant is the tenant of commands that name none.
func DefaultTenant() string { return cmp.Or(os.Getenv("PAWL_TENANT"), "acme") }

// DefaultApprover is the person at the terminal.
func DefaultApprover() string {
	if named := os.Getenv(approverEnv); named != "" {
		return named
	}
	if u, err := user.Current(); err == nil {
		return "user:" + u.Username
	}
	return ""
}

// FindCall returns a call of the tenant by any of its names.
func (s *Session) FindCall(ctx context.Context, tenantID, name string) (reads.Detail, error) {
	if invocationID, _, ok := toolspec.SplitApprovalID(name); ok {
		name = invocationID
	}
	record, err := s.Store.Show(ctx, tenantID, name)
	if errors.Is(err, postgres.ErrNotFound) {
		return record, fmt.Errorf("tenant %s has no call %q; `pawl list` shows its calls", tenantID, name)
	}
	return record, err
}

// WithoutPassword shows where a database is and nothing that opens it.
func WithoutPassword(raw string) string {
	if raw == "" {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "(set, and not of the form postgres://user:password@host/database)"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil {
		shown.User = url.User(u.User.Username())
	}
	return shown.String()
}
