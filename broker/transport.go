package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		if req.URL.Scheme == "http" {
			return nil, fmt.Errorf("%w: the credential goes over TLS only: use https://", capability.ErrForeignHost)
		}
		return nil, capability.ErrForeignHost
	case !own && (req.URL.Scheme != "https" || req.Method != http.MethodGet && req.Method != http.MethodHead):
		closeBody(req)
		return nil, fmt.Errorf("%w: it was redirected there, and only GET and HEAD over https follow", capability.ErrForeignHost)
	}
	if !own {
		return l.send(req, l.foreign, func(sent *http.Request) error {
			sent.Header = plainHeaders(req.Header)
			return nil
		})
	}
	var version int
	attach := func(sent *http.Request) (err error) {
		version, err = l.use(sent)
		return err
	}
	resp, err := l.send(req, l.base, attach)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	again, ok := l.again(req)
	if !ok || !l.renewed(req.Context(), version) {
		if again != nil {
			closeBody(again)
		}
		return resp, nil
	}
	_, _ = io.CopyN(io.Discard, resp.Body, drained)
	_ = resp.Body.Close()
	resp, err = l.send(again, l.base, attach)
	if resp != nil {
		resp.Request = req
	}
	return resp, err
}

// drained is how much of an answer that nobody wants is read, in bytes, so that
// its connection serves again.
const drained = 4 << 10

// send sends a copy of the request, after change has had it.
func (l *Lease) send(req *http.Request, base http.RoundTripper, change func(*http.Request) error) (*http.Response, error) {
	// Values of the context reach hooks that watch headers being written.
	sent := req.Clone(bare{req.Context()})
	if err := change(sent); err != nil {
		closeBody(req)
		return nil, err
	}
	resp, err := base.RoundTrip(sent)
	if err != nil {
		return nil, sendError(req.Context(), err)
	}
	resp.Request = req
	return resp, nil
}

// again makes the request anew, where nothing speaks against sending it twice: it
// only reads, or its tool may be repeated, and its body can be had once more.
func (l *Lease) again(req *http.Request) (*http.Request, bool) {
	reads := req.Method == "" || req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions
	bodied := req.Body != nil && req.Body != http.NoBody
	if !reads && !l.repeatable || bodied && req.GetBody == nil {
		return nil, false
	}
	again := req.Clone(req.Context())
	if bodied {
		body, err := req.GetBody()
		if err != nil {
			return nil, false
		}
		again.Body = body
	}
	return again, true
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
