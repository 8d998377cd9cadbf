package sources

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/source"
)

// registeredServer is an MCP server that a tenant has registered. It keeps the last offer of the server's
// source.
type registeredServer struct {
	cancel context.CancelFunc

	mu   sync.Mutex
	last source.Offer
	// offers counts the offers of the source.
	offers int
	// everOffered says that one of the offers had tools or no fault.
	everOffered bool
}

// serveRegistered runs the source of a server until stop is called or ctx ends. When the tools or the health of
// the server change, it sends to serverChanged, unless this channel has a value already.
func serveRegistered(ctx context.Context, from source.Source, log *slog.Logger, servers *sync.WaitGroup, serverChanged chan<- struct{}) *registeredServer {
	ctx, cancel := context.WithCancel(ctx)
	s := &registeredServer{cancel: cancel, last: source.Offer{Fault: "it has offered no tools yet"}}
	servers.Go(func() {
		for wait := firstRestartAfter; ; wait = min(2*wait, maxRestartAfter) {
			fault := s.once(ctx, from, log, serverChanged)
			s.mu.Lock()
			s.last.Fault = fault
			s.mu.Unlock()
			wake(serverChanged)
			if db.Pause(ctx, wait); ctx.Err() != nil {
				return
			}
		}
	})
	return s
}

// once runs the source once, and returns how it ended.
func (s *registeredServer) once(ctx context.Context, from source.Source, log *slog.Logger, serverChanged chan<- struct{}) (fault string) {
	defer func() {
		if p := recover(); p != nil { // its value may be a secret
			log.ErrorContext(ctx, "the source of a registered MCP server panicked", "name", from.Info().Name, "type", fmt.Sprintf("%T", p), "at", errs.Frames(debug.Stack()))
			fault = "it panicked; the worker starts it again"
		}
	}()
	if err := from.Run(ctx, func(o source.Offer) {
		s.mu.Lock()
		s.last = source.Offer{Tools: slices.Clone(o.Tools), Fault: o.Fault}
		s.offers, s.everOffered = s.offers+1, s.everOffered || o.Fault == "" || len(o.Tools) > 0
		s.mu.Unlock()
		wake(serverChanged)
	}); err != nil {
		return "it ended with an error (" + errs.Reason(err) + "); the worker starts it again"
	}
	return "it ended; the worker starts it again"
}

// offered returns the last offer, and the number of offers.
func (s *registeredServer) offered() (last source.Offer, offers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.offers
}

// hasOffered reports whether the server has ever offered its tools. It returns false for a nil server.
func (s *registeredServer) hasOffered() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.everOffered
}

// stop makes the source end soon. It does nothing for a nil server.
func (s *registeredServer) stop() {
	if s != nil {
		s.cancel()
	}
}
