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
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/devstate"
	"github.com/pawl-run/pawl/internal/health"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/worker"
)

// DialTimeout is the maximum time that a command waits for a server to answer.
const DialTimeout = 10 * time.Second

// Session holds the connections of a command to the servers.
type Session struct {
	Config   worker.Config
	Temporal temporal.Client
	Store    *postgres.Store
}

// ActivePolicy returns the active version of the policy. If no version is active, it returns a policy that denies
// every call.
func (s *Session) ActivePolicy(ctx context.Context) (*policy.Policy, error) {
	active, _, err := s.Store.ActivePolicy(ctx)
	if err != nil {
		return nil, err
	}
	return s.Store.Policy(ctx, active.Digest)
}

// ErrNoDatabase says that the configuration names no database.
var ErrNoDatabase = errors.New("no database: run `pawl dev` in this directory, or set PAWL_DATABASE_URL")

// Servers are the servers that a command needs.
type Servers struct{ Temporal, Database bool }

// Connect reads the configuration and connects to the servers in needs. The caller must call Close of the session.
func Connect(ctx context.Context, needs Servers) (*Session, error) {
	c, err := worker.LoadConfig()
	if err != nil {
		return nil, err
	}
	s := &Session{Config: c}
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	if needs.Database {
		if c.DatabaseURL == "" {
			return nil, ErrNoDatabase
		}
		if s.Store, err = postgres.Open(ctx, c.DatabaseURL, postgres.Options{MaxConns: 4, Application: "pawl-cli", DirectURL: c.DatabaseDirectURL}); err != nil {
			return nil, devstate.Explain(ExplainConnectError(WithoutPassword(c.DatabaseURL), err))
		}
		s.Store.UseNamespace(s.Namespace())
		if err := s.Store.OpenBucket(ctx, c.OutputBucket); err != nil {
			s.Close()
			return nil, err
		}
	}
	if needs.Temporal {
		if s.Temporal, err = temporal.DialContext(ctx, WithTimeout(c.Temporal, DialTimeout)); err != nil {
			s.Close()
			return nil, devstate.Explain(ExplainTemporalError(ctx, c.Temporal, err))
		}
	}
	return s, nil
}

// WithTimeout returns o with two changes: the SDK logs nothing, so that it does not write into the output of a
// command, and it waits for the first answer of the server for the time in answer, instead of five seconds.
func WithTimeout(o temporal.Options, answer time.Duration) temporal.Options {
	o.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	o.ConnectionOptions.GetSystemInfoTimeout = answer
	return o
}

// ExplainConnectError explains why the connection to the database at where failed, and says what
// to do. It returns err unchanged if err is not transient.
func ExplainConnectError(where string, err error) error {
	if !errs.IsTransient(err) {
		return err
	}
	return fmt.Errorf("%s: %s", where, health.DatabaseFault(err))
}

// ExplainTemporalError explains why Temporal is not usable, and says what to do. It takes at most DialTimeout, also if ctx has ended.
func ExplainTemporalError(ctx context.Context, o temporal.Options, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), DialTimeout)
	defer cancel()
	sentence := health.TemporalFault(ctx, o, err)
	if strings.HasPrefix(sentence, health.NoServer) {
		sentence += "; `pawl dev` runs the servers for development"
	}
	return fmt.Errorf("%s: %s", cmp.Or(o.HostPort, temporal.DefaultHostPort), sentence)
}

// WithStore opens the database, calls use, and closes the database.
func WithStore(ctx context.Context, use func(*Session) error) error {
	s, err := Connect(ctx, Servers{Database: true})
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s)
}

// Close closes the connections.
func (s *Session) Close() {
	if s.Temporal != nil {
		s.Temporal.Close()
	}
	if s.Store != nil {
		s.Store.Close()
	}
}

// Client returns a client of the servers that the session has connections to.
func (s *Session) Client() *client.Client {
	var o client.Options
	if s.Store != nil {
		o = clientpg.Of(s.Store).Options()
	}
	o.DataConverter = s.Config.Temporal.DataConverter
	return client.New(s.Temporal, o)
}

// ClientWithOutputs returns a client that also reads large results. It opens the database for each
// large result.
func (s *Session) ClientWithOutputs() *client.Client {
	return client.New(s.Temporal, client.Options{DataConverter: s.Config.Temporal.DataConverter, Outputs: lazyOutputs{}})
}

// Address returns the address of the Temporal server.
func (s *Session) Address() string {
	return cmp.Or(s.Config.Temporal.HostPort, temporal.DefaultHostPort)
}

// Namespace returns the Temporal namespace of the session.
func (s *Session) Namespace() string {
	return cmp.Or(s.Config.Temporal.Namespace, temporal.DefaultNamespace)
}

// Link returns the address of a call in the Temporal UI, or "" if no UI is known.
func (s *Session) Link(workflowID string) string {
	if s.Config.TemporalUI == "" {
		return ""
	}
	return s.Config.TemporalUI + "/namespaces/" + s.Namespace() + "/workflows/" + url.PathEscape(workflowID)
}

// DefaultTenant returns the tenant of a command without --tenant.
func DefaultTenant() string { return cmp.Or(os.Getenv("PAWL_TENANT"), "acme") }

// DefaultApprover returns the identity of the person at the terminal: PAWL_APPROVER, or else the
// name of the operating system's user. It is "" if neither is known.
func DefaultApprover() string {
	if named := os.Getenv(approverEnv); named != "" {
		return named
	}
	if u, err := user.Current(); err == nil {
		return "user:" + u.Username
	}
	return ""
}

// FindCall returns a call of the tenant. name is any id of the call, or the id of one of its
// approval requests.
func (s *Session) FindCall(ctx context.Context, tenantID, name string) (reads.Detail, error) {
	if invocationID, _, ok := toolspec.SplitApprovalID(name); ok {
		name = invocationID
	}
	call, err := s.Store.Show(ctx, tenantID, name)
	if errors.Is(err, postgres.ErrNotFound) {
		return call, fmt.Errorf("tenant %s has no call %q; `pawl list` shows its calls", tenantID, name)
	}
	return call, err
}

// WithoutPassword returns the address of a database without the password and the parameters.
func WithoutPassword(raw string) string {
	if raw == "" {
		return ""
	}
	u := health.DatabaseURL(raw)
	if u == nil {
		return "(set, and not of the form postgres://user:password@host/database)"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil {
		shown.User = url.User(u.User.Username())
	}
	return shown.String()
}
