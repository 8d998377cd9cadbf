package broker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// maxRedirects is how many redirects a client follows.
const maxRedirects = 10

// transport adds the credential of a lease to requests for the connection's hosts.
type transport struct{ lease *Lease }

// RoundTrip sends a copy of the request: what the caller holds never has the
// credential in it, the request of the response neither.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	l := t.lease
	own := l.hosts.allow(req.URL)
	redirected := req.Response != nil
	switch {
	case req.Host != "" && req.Host != req.URL.Host:
		closeBody(req)
		return nil, fmt.Errorf("%w: its Host header is of another", capability.ErrForeignHost)
	case !own && !redirected:
		closeBody(req)
		return nil, capability.ErrForeignHost
	case !own && (req.URL.Scheme != "https" || req.Method != http.MethodGet && req.Method != http.MethodHead):
		closeBody(req)
		return nil, fmt.Errorf("%w: it was redirected there, and only GET and HEAD over https follow", capability.ErrForeignHost)
	}
	// Values of the context reach hooks that watch headers being written.
	sent := req.Clone(bare{req.Context()})
	base := l.foreign
	if own {
		base = l.base
		if err := l.use(sent); err != nil {
			closeBody(req)
			return nil, err
		}
	} else {
		sent.Header = plainHeaders(req.Header)
	}
	resp, err := base.RoundTrip(sent)
	if err != nil {
		return nil, sendError(req.Context(), err)
	}
	resp.Request = req
	return resp, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// plainHeaders are those that a redirect to somebody else takes along.
func plainHeaders(h http.Header) http.Header {
	plain := http.Header{}
	for name, values := range h {
		if name == "User-Agent" || name == "Range" || name == "Accept" || strings.HasPrefix(name, "Accept-") {
			plain[name] = slices.Clone(values)
		}
	}
	return plain
}

// sendError keeps of an error what cannot hold a credential: whether it was the
// caller's time, the network's, or else its type.
func sendError(ctx context.Context, err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &timeout) && timeout.Timeout():
		return &SendError{reason: "the service did not answer in time", timeout: true}
	}
	return &SendError{reason: fmt.Sprintf("the service cannot be reached (%T)", rootOf(err))}
}

func rootOf(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// SendError says that a request of a connection got no answer. Its text holds
// nothing of the request.
type SendError struct {
	reason  string
	timeout bool
}

// Error returns the safe text.
func (e *SendError) Error() string { return e.reason }

// Timeout reports whether the time was over.
func (e *SendError) Timeout() bool { return e.timeout }

// Temporary is Timeout.
func (e *SendError) Temporary() bool { return e.timeout }

// bare is a context without values.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// client is what a tool gets.
func (l *Lease) client() *http.Client {
	return &http.Client{
		Transport: transport{l},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}
}
