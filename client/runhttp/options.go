package runhttp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Watcher reads the events of a run: first the events whose sequence numbers are greater than the parameter after,
// and then each event as it is written. When ctx ends, it must end soon.
type Watcher interface {
	Watch(ctx context.Context, tenantID, runID string, after int64) iter.Seq2[toolspec.RunEvent, error]
}

// Owners says which identity owns a run. client/postgres has an implementation that reads the
// record, where a run begins with its first call. An application that knows the owner earlier can
// have its own implementation.
type Owners interface {
	// OwnsRun reports whether identity may watch the events of the run whose sequence numbers are greater than the
	// parameter after; with 0, all events. lastSeq is the last event that it has checked. In client/postgres,
	// identity must be the actor or the subject of each call with such an event, and the owner of each such text.
	// A run without events has no owner: owns is false.
	OwnsRun(ctx context.Context, tenantID, runID, identity string, after int64) (lastSeq int64, owns bool, err error)
}

// Catalogs returns the tools that a caller may see now. client/postgres has an implementation.
type Catalogs interface {
	Catalog(ctx context.Context, by catalog.Viewer) (catalog.Catalog, error)
}

// Registry registers tools of tenants. client/registry has an implementation.
type Registry interface {
	// MayAdminister reports whether identity may register and remove tools of the tenant, and read what is
	// registered.
	MayAdminister(ctx context.Context, tenantID, identity string) (bool, error)
	// Register registers a document. The text of an error that wraps client.ErrToolsInvalid or
	// client.ErrToolsRefused goes to the viewer.
	Register(ctx context.Context, r client.ToolRegistration) (client.ToolsRegistered, error)
	// Unregister and Versions return client.ErrNotFound if there is no such registration.
	Unregister(ctx context.Context, tenantID, name, by string) (version int, err error)
	Versions(ctx context.Context, tenantID, name string) ([]client.ToolVersion, error)
	List(ctx context.Context, tenantID string) ([]client.ToolVersion, error)
}

// Viewer is the person or program of a request.
type Viewer struct {
	// Identity is the name of the viewer in calls, as their actor or subject, such as user:ann.
	Identity string
	// Expires is when the viewer's token ends. Each stream of the viewer ends then too. Zero means
	// never.
	Expires time.Time
}

// ErrUnauthenticated says that a token proves nothing: it is unknown, has expired, or is not trusted
// for the tenant.
var ErrUnauthenticated = errors.New("the bearer token is not valid for this tenant")

// Authenticator finds out who a client is. It returns an error that wraps ErrUnauthenticated for a
// token that proves nothing, and another error if it cannot tell now.
type Authenticator interface {
	Authenticate(ctx context.Context, tenantID, token string) (Viewer, error)
}

// Options are the parts and limits of a handler. Watcher, Owners and Authenticator are required.
type Options struct {
	Watcher       Watcher
	Owners        Owners
	Authenticator Authenticator
	// Catalogs has the tools that viewers may see. Without it, CatalogPath is not served.
	Catalogs Catalogs
	// Registry registers tools for viewers that administer their tenant. Without it, ToolsPath and ToolPath
	// are not served.
	Registry Registry
	// Origins are the pages that may use the handler from another origin than its own, such as
	// https://app.example.com. A request of any other page is refused. A page has the handler's own origin if its host
	// and port are those of the request: behind a proxy that changes the header field Host, name its origin here.
	Origins []string
	// MaxStreams is the maximum number of streams at the same time, 1000 if 0. MaxStreamsOfViewer is
	// the maximum for one identity of a tenant, 8 if 0.
	MaxStreams, MaxStreamsOfViewer int
	// MaxDuration ends a stream, which its client may then resume; 1 hour if 0.
	MaxDuration time.Duration
	// Heartbeat is the time after which a silent stream gets a comment, so that proxies keep it
	// open; 15 seconds if 0.
	Heartbeat time.Duration
	// WriteTimeout is how long a client may take to read what was sent; 10 seconds if 0.
	WriteTimeout time.Duration
	// Log gets the reasons of failures, without arguments, results and tokens. Nothing is logged if
	// it is nil.
	Log *slog.Logger
}

const (
	maxStreams         = 1000
	maxStreamsOfViewer = 8
	maxDuration        = time.Hour
	heartbeat          = 15 * time.Second
	writeTimeout       = 10 * time.Second
)

// complete returns the options with defaults for what was left out, or an error if a required part is missing or a
// value is not valid.
func (o Options) complete() (Options, error) {
	if o.Watcher == nil || o.Owners == nil || o.Authenticator == nil {
		return o, errors.New("runhttp: Watcher, Owners and Authenticator are required")
	}
	if o.MaxStreams < 0 || o.MaxStreamsOfViewer < 0 || o.MaxDuration < 0 || o.Heartbeat < 0 || o.WriteTimeout < 0 {
		return o, errors.New("runhttp: a limit is negative")
	}
	for _, origin := range o.Origins {
		if err := CheckOrigin(origin); err != nil {
			return o, fmt.Errorf("runhttp: %w", err)
		}
	}
	o.MaxStreams = orDefault(o.MaxStreams, maxStreams)
	o.MaxStreamsOfViewer = orDefault(o.MaxStreamsOfViewer, maxStreamsOfViewer)
	o.MaxDuration = orDefault(o.MaxDuration, maxDuration)
	o.Heartbeat = orDefault(o.Heartbeat, heartbeat)
	o.WriteTimeout = orDefault(o.WriteTimeout, writeTimeout)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

func orDefault[T int | time.Duration](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// CheckOrigin returns an error unless origin is an origin as browsers send it (RFC 6454): http or https, a host in lower
// case and in ASCII, and a port unless it is the default port of the scheme.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || origin != u.Scheme+"://"+u.Host:
		return fmt.Errorf("%q is not an origin: an origin has the form https://app.example.com, without a path", origin)
	case strings.ContainsFunc(origin, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsUpper(r) }),
		strings.HasSuffix(origin, ":"), u.Scheme == "http" && u.Port() == "80", u.Scheme == "https" && u.Port() == "443":
		return fmt.Errorf("no browser sends the origin %q so: write it in lower case, in ASCII (xn--…) and without the default port", origin)
	}
	return nil
}
