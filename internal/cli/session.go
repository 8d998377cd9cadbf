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
	"time"

	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// dialTimeout bounds how long a command waits for a server.
const dialTimeout = 10 * time.Second

// session is a command's way to the servers.
type session struct {
	config worker.Config
	ui     string
	// dev says that `pawl dev` of this directory is what was found.
	dev      *devState
	temporal temporal.Client
	store    *postgres.Store
}

// config finds the servers: what the environment names for Pawl, then a running
// `pawl dev` of this directory, then the general variables.
func (a *app) config() (worker.Config, *devState, error) {
	c, err := worker.LoadConfig()
	if err != nil {
		return c, nil, err
	}
	c.Log = slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	state, err := findDev()
	if err != nil {
		return c, nil, err
	}
	if state == nil {
		return c, nil, nil
	}
	if os.Getenv("PAWL_DATABASE_URL") == "" {
		c.DatabaseURL = state.DatabaseURL
	}
	if os.Getenv("TEMPORAL_ADDRESS") == "" {
		c.Temporal.HostPort, c.Temporal.Namespace = state.Temporal, state.Namespace
	}
	return c, state, nil
}

// connect opens what a command needs; close releases it.
func (a *app) connect(ctx context.Context, needTemporal, needStore bool) (*session, error) {
	c, dev, err := a.config()
	if err != nil {
		return nil, err
	}
	s := &session{config: c, dev: dev, ui: os.Getenv("PAWL_TEMPORAL_UI")}
	if dev != nil {
		s.ui = cmp.Or(s.ui, dev.UI)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if needStore {
		if c.DatabaseURL == "" {
			return nil, errors.New("no database: run `pawl dev` in this directory, or set PAWL_DATABASE_URL")
		}
		if s.store, err = postgres.Open(ctx, c.DatabaseURL, postgres.Options{MaxConns: 4, Application: "pawl-cli"}); err != nil {
			return nil, fmt.Errorf("the database does not answer (%s): is it running? `pawl doctor` tells more", hook.Reason(err))
		}
	}
	if needTemporal {
		if s.temporal, err = temporal.DialContext(ctx, quiet(c.Temporal)); err != nil {
			s.close()
			return nil, fmt.Errorf("temporal does not answer at %s: run `pawl dev` in this directory, or set TEMPORAL_ADDRESS", cmp.Or(c.Temporal.HostPort, temporal.DefaultHostPort))
		}
	}
	return s, nil
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
	o := client.Options{}
	if s.store != nil {
		o.Outputs = s.store
	}
	return client.New(s.temporal, o)
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

// defaultApprover is the person at the terminal.
func defaultApprover() string {
	if named := os.Getenv("PAWL_APPROVER"); named != "" {
		return named
	}
	if u, err := user.Current(); err == nil {
		return "user:" + u.Username
	}
	return ""
}
