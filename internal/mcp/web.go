package mcp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/internal/traceparent"
)

const (
	// answerTime bounds how long a server may take to begin an answer, except for the answer to a request of
	// the protocol.
	answerTime = 10 * time.Second
	// maxAnswer bounds the answer to one request, with all its notifications, in bytes.
	maxAnswer = 4 * maxMessage
)

var (
	errOrigin   = errors.New("the server names an address of another host, which Pawl does not ask")
	errRedirect = errors.New("the server redirects, which Pawl does not follow")
	errLate     = errors.New("the server did not begin to answer in time")
)

// webTransport returns the transport of the SDK for an HTTP server. Its requests end with the session of
// the intake; close closes what is idle.
func webTransport(s Server, by way, in *intake) (_ sdk.Transport, close func(), err error) {
	address, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, err
	}
	base, close, ofCall := by.base, func() {}, by.base != nil
	if ofCall && s.ownDial() {
		return nil, nil, errOwnDial
	}
	if base == nil {
		dial := s.Dial
		if dial == nil {
			dial = (&net.Dialer{Timeout: answerTime}).DialContext
		}
		own := &http.Transport{
			DialContext:         dial,
			TLSHandshakeTimeout: answerTime, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
			TLSClientConfig: &tls.Config{RootCAs: s.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
		}
		base, close = own, own.CloseIdleConnections
	}
	client := &http.Client{
		Transport:     &guarded{base: base, origin: address, in: in, server: s, token: by.token},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}
	if s.Transport == SSE {
		return &sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}, close, nil
	}
	// The session of a call needs no stream for notices about other things than the call.
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage, DisableStandaloneSSE: ofCall}, close, nil
}

// guarded sends requests to the origin of a server only, and bounds the answers.
type guarded struct {
	base   http.RoundTripper
	origin *url.URL
	in     *intake
	server Server
	// token is a bearer token for the origin; empty means none.
	token string
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != g.origin.Scheme || req.URL.Host != g.origin.Host {
		return nil, g.in.fail(errOrigin)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	unlink := context.AfterFunc(g.in.session, func() { cancel(context.Canceled) })
	end := func() {
		unlink()
		cancel(context.Canceled)
	}
	var timer *time.Timer
	method := methodOf(req)
	if most := g.answerTime(method); most > 0 {
		timer = time.AfterFunc(most, func() { cancel(errLate) })
	}
	sent := req.WithContext(ctx)
	again := repeatable(req, method)
	if g.token != "" || again {
		sent.Header = req.Header.Clone()
	}
	if g.token != "" {
		sent.Header.Set("Authorization", "Bearer "+g.token)
	}
	if again {
		// net/http and the broker take this header as permission to repeat the request. Without a value it is not sent.
		sent.Header["X-Idempotency-Key"] = []string{}
	}
	resp, err := g.base.RoundTrip(traceparent.Request(sent))
	if method == cancelledMethod {
		g.in.noteNotified()
	}
	if timer != nil && !timer.Stop() && err == nil {
		_ = resp.Body.Close()
		err = errLate
	}
	if err != nil {
		late := errors.Is(context.Cause(ctx), errLate)
		end()
		if late && req.Method == http.MethodGet && g.server.Transport == Streamable {
			// The stream of notifications is optional. Without an answer, the session goes on without it.
			return &http.Response{Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
		}
		if late {
			err = g.in.fail(errLate) // the SDK would read on
		}
		return nil, err
	}
	if refused := refusalOf(resp, g.server); refused != nil {
		_ = resp.Body.Close()
		end()
		return nil, refused
	}
	left := int64(maxAnswer)
	switch mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case req.Method == http.MethodGet:
		left = -1
	case mediaType == "application/json": // one message, which may have many lines
		left = int64(g.in.most())
	}
	resp.Body = &answer{from: g.in.reader(resp.Body, false), body: resp.Body, left: left, in: g.in, end: end}
	return resp, nil
}

const (
	// callMethod is the method of the protocol that calls a tool.
	callMethod = "tools/call"
	// cancelledMethod is the notice that a call has ended.
	cancelledMethod = notices + "cancelled"
	// notices is how the methods of notices begin, which have no answer.
	notices = "notifications/"
	// noMethod stands for what is sent that is no request and no notice of the protocol, or that cannot be read.
	noMethod = ""
)

// repeatable reports whether a request over HTTP may be sent again, because sending it twice does no harm. A request with
// an unknown method is sent once.
func repeatable(req *http.Request, method string) bool {
	switch req.Method {
	case http.MethodGet, http.MethodDelete:
		return true
	case http.MethodPost:
	default:
		return false
	}
	switch method {
	case "initialize", "server/discover", "ping", "tools/list", "subscriptions/listen":
		return true
	}
	return strings.HasPrefix(method, notices)
}

// methodOf returns the method of the protocol that a request over HTTP has.
func methodOf(req *http.Request) string {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return noMethod
	}
	body, err := req.GetBody()
	if err != nil {
		return noMethod
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return noMethod
	}
	message, err := jsonrpc.DecodeMessage(data)
	if request, ok := message.(*jsonrpc.Request); err == nil && ok && request.IsCall() != strings.HasPrefix(request.Method, notices) {
		return request.Method
	}
	return noMethod
}

// answerTime returns how long the answer to a request may take to begin; 0 sets no bound. The answer to a
// call of a tool takes as long as the tool, and that to another request of the protocol as long as a start.
func (g *guarded) answerTime(method string) time.Duration {
	switch {
	case g.server.Transport == SSE || method == noMethod || strings.HasPrefix(method, notices):
		return answerTime
	case method == callMethod:
		return 0
	}
	return g.server.StartTimeout
}

// answer is the body of an answer within its bounds.
type answer struct {
	from io.Reader
	body io.Closer
	// left is how many bytes may follow; negative means without a bound.
	left int64
	in   *intake
	end  func()
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	if a.left == 0 {
		return 0, a.in.fail(errTooLarge)
	}
	if a.left > 0 {
		p = p[:min(int64(len(p)), a.left)]
	}
	n, err := a.from.Read(p)
	if a.left > 0 {
		a.left -= int64(n)
	}
	return n, err
}

// Close implements io.Closer.
func (a *answer) Close() error {
	err := a.body.Close()
	a.end()
	return err
}
