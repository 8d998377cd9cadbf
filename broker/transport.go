package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/internal/traceparent"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// maxRedirects is the number of redirects that a client follows.
const maxRedirects = 10

// transport adds the credential of a lease to requests for the connection's hosts.
type transport struct{ lease *Lease }

// RoundTrip sends a copy of the request. Neither the request of the caller nor the request in
// the response contains the credential.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	l := t.lease
	own := l.hosts.allow(req.URL)
	redirected := req.Response != nil
	switch {
	case own && l.wasElsewhere(req):
		closeBody(req)
		return nil, fmt.Errorf("%w: another host redirected it back, and another host does not choose what is asked with the credential", capability.ErrForeignHost)
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

// wasElsewhere reports whether a redirect that led to the request came from a foreign host.
func (l *Lease) wasElsewhere(req *http.Request) bool {
	for from := req.Response; from != nil && from.Request != nil; from = from.Request.Response {
		if !l.hosts.allow(from.Request.URL) {
			return true
		}
	}
	return false
}

// drained is the number of bytes that are read from a discarded response, so that its TCP
// connection can be reused.
const drained = 4 << 10

// send sends a copy of the request after change has modified it.
func (l *Lease) send(req *http.Request, base http.RoundTripper, change func(*http.Request) error) (*http.Response, error) {
	// The context has no values: an httptrace hook in it would see the headers that are
	// written, with the credential.
	sent := req.Clone(bare{req.Context()})
	traceparent.Set(req.Context(), sent.Header)
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

// again returns a copy of the request to send a second time. ok is false if the request may not
// be repeated (its method writes, neither the tool nor the request is repeatable) or its body cannot be read again.
func (l *Lease) again(req *http.Request) (*http.Request, bool) {
	// As in net/http, the header X-Idempotency-Key says that the request may be repeated, also
	// without a value.
	_, repeatable := req.Header["X-Idempotency-Key"]
	reads := repeatable || req.Method == "" || req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions
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

// plainHeaders returns the headers that may be sent to a foreign host after a redirect.
func plainHeaders(h http.Header) http.Header {
	plain := http.Header{}
	for name, values := range h {
		if name == "User-Agent" || name == "Range" || name == "Accept" || strings.HasPrefix(name, "Accept-") {
			plain[name] = slices.Clone(values)
		}
	}
	return plain
}

// sendError maps an error to one that cannot contain a credential: the error of ctx, a timeout,
// or the type of the error.
func sendError(ctx context.Context, err error) error {
	var timeout interface{ Timeout() bool }
	unsent := capability.Unsent(err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &timeout) && timeout.Timeout():
		return &SendError{reason: "the service did not answer in time", timeout: true, unsent: unsent}
	}
	return &SendError{reason: fmt.Sprintf("the service cannot be reached (%T)", rootOf(err)), unsent: unsent}
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

// SendError says that a request of a connection got no response. Its text contains nothing of
// the request.
type SendError struct {
	reason  string
	timeout bool
	unsent  bool
}

// Error returns the safe text.
func (e *SendError) Error() string { return e.reason }

// Timeout reports whether the service did not answer in time.
func (e *SendError) Timeout() bool { return e.timeout }

// Unsent reports whether there was no connection to the service, so that nothing was sent.
func (e *SendError) Unsent() bool { return e.unsent }

// Temporary returns the same as Timeout.
func (e *SendError) Temporary() bool { return e.timeout }

// bare is a context without values.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// client returns the HTTP client that a tool gets.
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
