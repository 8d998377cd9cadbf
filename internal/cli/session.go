package cli

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
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/worker"
)

// DialTimeout bounds how long a command waits for a server.
const DialTimeout = 10 * time.Second

// session is a command's way to the servers.
type session struct {
	config worker.Config
	ui     string
	// dev says that `pawl dev` of this directory is what was found.
	dev      *devstate.State
	temporal temporal.Client
	store    *postgres.Store
}

// config finds the servers: what the environment names for Pawl, then a running
// `pawl dev` of this directory, then the general variables.
func config() (worker.Config, *devstate.State, error) {
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

// connect opens what a command needs; close releases it.
func connect(ctx context.Context, needTemporal, needStore bool) (*session, error) {
	c, dev, err := config()
	if err != nil {
		return nil, err
	}
	s := &session{config: c, dev: dev, ui: os.Getenv("PAWL_TEMPORAL_UI")}
	if dev != nil {
		s.ui = cmp.Or(s.ui, dev.UI)
	}
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	if needStore {
		if c.DatabaseURL == "" {
			return nil, errors.New("no database: run `pawl dev` in this directory, or set PAWL_DATABASE_URL")
		}
		if s.store, err = postgres.Open(ctx, c.DatabaseURL, postgres.Options{MaxConns: 4, Application: "pawl-cli"}); err != nil {
			return nil, absence(WithoutPassword(c.DatabaseURL), err)
		}
	}
	if needTemporal {
		if s.temporal, err = temporal.DialContext(ctx, WithTimeout(c.Temporal, DialTimeout)); err != nil {
			s.close()
			return nil, fmt.Errorf("temporal does not answer at %s: run `pawl dev` in this directory, or set TEMPORAL_ADDRESS", s.address())
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

// absence says in words why there is no connection to a database.
func absence(where string, err error) error {
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

// withStore lets use have the database for as long as it runs.
func withStore(ctx context.Context, use func(*session) error) error {
	s, err := connect(ctx, false, true)
	if err != nil {
		return err
	}
	defer s.close()
	return use(s)
}

func (s *session) close() {
	if s.temporal != nil {
		s.temporal.Close()
	}
	if s.store != nil {
		s.store.Close()
	}
}

func (s *session) client() *client.Client {
	o := client.Options{DataConverter: s.config.Temporal.DataConverter}
	if s.store != nil {
		o.Outputs, o.Catalogs = s.store, s.store
	}
	return client.New(s.temporal, o)
}

// clientWithOutputs is a client that reads large results too.
func (s *session) clientWithOutputs() *client.Client {
	return client.New(s.temporal, client.Options{DataConverter: s.config.Temporal.DataConverter, Outputs: lazyOutputs{}})
}

// address is where Temporal is looked for.
func (s *session) address() string {
	return cmp.Or(s.config.Temporal.HostPort, temporal.DefaultHostPort)
}

// link is where the Temporal UI shows a call, or "".
func (s *session) link(workflowID string) string {
	if s.ui == "" {
		return ""
	}
	namespace := cmp.Or(s.config.Temporal.Namespace, temporal.DefaultNamespace)
	return s.ui + "/namespaces/" + namespace + "/workflows/" + url.PathEscape(workflowID)
}

func defaultTenant() string { return cmp.Or(os.Getenv("PAWL_TENANT"), "acme") }

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

// find returns a call of the tenant by any of its names.
func (s *session) find(ctx context.Context, tenantID, name string) (postgres.Detail, error) {
	if invocationID, _, ok := toolspec.SplitApprovalID(name); ok {
		name = invocationID
	}
	record, err := s.store.Show(ctx, tenantID, name)
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
