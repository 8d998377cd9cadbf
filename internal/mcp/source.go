package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/source"
)

// legacyVersion is the newest revision in which a session begins with initialize. Every second attempt to
// start a session uses it, for servers that do not answer the request by which newer sessions begin.
const legacyVersion = "2025-11-25"

// timing has the pauses of a source. Tests shorten them.
type timing struct {
	// first and most are the first and the longest pause between attempts to start a session.
	first, most time.Duration
	// steady is how long a session must last so that the pauses begin anew.
	steady time.Duration
	// refresh is the least time between two lists of the tools in one session. It doubles with each list that differs from the one before,
	// until slowest, and begins anew when the server has been quiet for steady: each worker binds, publishes and stores what differs.
	refresh, slowest time.Duration
}

// breakAfter is the number of attempts after which the longest pause grows, because the server is likely to
// stay away.
const breakAfter = 10

// Options are what a Source needs of its worker.
type Options struct {
	Reviews Reviews
	Log     *slog.Logger
	// Lookup returns a variable of the worker's environment.
	Lookup func(name string) (value string, ok bool)
}

// Source is the source of the tools of one server.
type Source struct {
	server  Server
	reviews Reviews
	log     *slog.Logger
	env     []string
	// token is the bearer token of the worker for an HTTP server; empty means none.
	token  string
	timing timing
	// current is the session, or nil while there is none.
	current atomic.Pointer[session]
	tools   *tools
	flow    *flow
	// places has a value for each session of a call that is open.
	places chan struct{}
	// last has what the newest session has learned, for calls with a session of their own. It is nil before the
	// first session.
	last atomic.Pointer[learned]
}

// learned is what a session has learned of its server.
type learned struct {
	version string
	// listed has the digests of the definitions that the server listed, by the names of the tools.
	listed map[string]string
}

var _ source.Source = (*Source)(nil)

// NewSource returns the source of a server. It starts nothing.
func NewSource(server Server, o Options) (*Source, error) {
	server = server.withDefaults()
	if err := server.Check(); err != nil {
		return nil, err
	}
	s := &Source{
		server: server, reviews: o.Reviews, log: o.Log.With("mcpServer", server.ID), env: environment(server, o.Lookup),
		flow: newFlow(), places: make(chan struct{}, maxOwnSessions),
		timing: timing{first: time.Second, most: time.Minute, steady: 30 * time.Second, refresh: 5 * time.Second, slowest: 10 * time.Minute},
	}
	if server.TokenFrom != "" {
		token, ok := o.Lookup(server.TokenFrom)
		if !ok || token == "" {
			return nil, fmt.Errorf("the variable %s of tokenFrom is not set", server.TokenFrom)
		}
		s.token = token
	}
	s.tools = &tools{server: server, reviews: o.Reviews, calls: s, log: s.log}
	return s, nil
}

// Info implements source.Source.
func (s *Source) Info() source.Info { return source.Info{Kind: source.MCP, Name: s.server.ID} }

// Run implements source.Source. It keeps a session with the server until ctx ends, and offers the tools that
// the server listed last, also while there is no session.
func (s *Source) Run(ctx context.Context, offer func(source.Offer)) error {
	var known []definition
	for failures := 0; ; {
		started := time.Now()
		err := s.session(ctx, failures, &known, offer)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the worker stops the source
		}
		if time.Since(started) >= s.timing.steady {
			failures = 0
		}
		failures++
		pause := s.timing.pause(failures)
		fault := describe(err)
		s.log.WarnContext(ctx, "no session with an MCP server", "reason", fault, "attempts", failures, "nextIn", pause.Round(time.Millisecond))
		if !s.wait(ctx, pause, func() { offer(s.tools.offer(ctx, known, fault)) }) {
			return nil
		}
	}
}

// wait offers now and when reviews change, for the time of a pause. It reports whether ctx goes on.
func (s *Source) wait(ctx context.Context, pause time.Duration, offer func()) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		reviews := s.reviews.Changed()
		offer()
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-reviews:
		}
	}
}

// session starts a session and offers its tools until the session or ctx ends.
func (s *Source) session(ctx context.Context, failures int, known *[]definition, offer func(source.Offer)) error {
	version := s.server.ProtocolVersion
	if version == "" && failures%2 == 1 {
		version = legacyVersion
	}
	starting, cancel := context.WithTimeout(ctx, s.server.StartTimeout)
	defer cancel()
	se, err := openSession(starting, s.server, way{version: version, env: s.env, token: s.token, flow: s.flow})
	if err != nil {
		return err
	}
	defer se.close(closeTime)
	listed, err := se.list(starting)
	if err != nil {
		return err
	}
	*known = listed
	s.learn(se)
	s.current.Store(se)
	defer s.current.Store(nil)
	s.log.InfoContext(ctx, "session with an MCP server", "tools", len(listed), "protocol", toolspec.Printable(se.client.InitializeResult().ProtocolVersion, 20))
	return s.serve(ctx, se, known, offer)
}

// serve offers the tools of a session, and again when they or their reviews change.
func (s *Source) serve(ctx context.Context, se *session, known *[]definition, offer func(source.Offer)) error {
	last, pause := time.Now(), s.timing.refresh
	var refresh <-chan time.Time
	for {
		reviews := s.reviews.Changed()
		if refresh == nil {
			offer(s.tools.offer(ctx, *known, ""))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-se.ended:
			return se.cause(errLost)
		case <-se.in.broken:
			return se.cause(errLost)
		case <-reviews:
			if refresh != nil {
				offer(s.tools.offer(ctx, *known, ""))
			}
		case <-se.changed:
			if refresh == nil {
				if time.Since(last) >= pause+s.timing.steady {
					pause = s.timing.refresh
				}
				refresh = time.After(time.Until(last.Add(pause)))
			}
		case <-refresh:
			refresh, last = nil, time.Now()
			listing, cancel := context.WithTimeout(ctx, s.server.StartTimeout)
			listed, err := se.list(listing)
			cancel()
			if err != nil {
				return err
			}
			if !sameList(*known, listed) {
				pause = min(2*pause, s.timing.slowest)
			}
			*known = listed
			s.learn(se)
		}
	}
}

// sameList reports whether a server has listed the same definitions again.
func sameList(a, b []definition) bool {
	return slices.EqualFunc(a, b, func(a, b definition) bool { return a.Name == b.Name && a.digest == b.digest })
}

// learn keeps what a session has learned.
func (s *Source) learn(se *session) {
	s.last.Store(&learned{version: se.client.InitializeResult().ProtocolVersion, listed: *se.listed.Load()})
}

// pause returns how long to wait after a number of failures in a row, with jitter.
func (t timing) pause(failures int) time.Duration {
	most := t.most
	if failures > breakAfter {
		most *= 5
	}
	pause := most
	if failures <= 30 {
		pause = min(most, t.first<<(failures-1))
	}
	return pause/2 + rand.N(pause/2+1) //nolint:gosec // jitter
}

// describe returns why there is no session, without text of the server.
func describe(err error) string {
	for _, known := range []error{
		errStart, errNoise, errUnread, errTooLarge, errOrigin, errRedirect, errLate, errTooManyTools, errTooManyPages, errListTooLarge, errNoTools, errLost,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var network *net.OpError
	var name *net.DNSError
	var refused *statusError
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the server did not answer in time"
	case errors.As(err, &network), errors.As(err, &name):
		return "the server cannot be reached"
	}
	return "the server closed the connection or broke the protocol"
}

// runner is what definitions need of the source.
var _ runner = (*Source)(nil)
