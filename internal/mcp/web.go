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
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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
func webTransport(s Server, in *intake) (_ sdk.Transport, close func(), err error) {
	address, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, err
	}
	dial := s.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: answerTime}).DialContext
	}
	base := &http.Transport{
		DialContext:         dial,
		TLSHandshakeTimeout: answerTime, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
		TLSClientConfig: &tls.Config{RootCAs: s.Roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
	}
	client := &http.Client{
		Transport:     &guarded{base: base, origin: address, in: in, server: s},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}
	if s.Transport == SSE {
		return &sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}, base.CloseIdleConnections, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}, base.CloseIdleConnections, nil
}

// guarded sends requests to the origin of a server only, and bounds the answers.
type guarded struct {
	base   http.RoundTripper
	origin *url.URL
	in     *intake
	server Server
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
	if most := g.answerTime(req); most > 0 {
		timer = time.AfterFunc(most, func() { cancel(errLate) })
	}
	resp, err := g.base.RoundTrip(req.WithContext(ctx))
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

// answerTime returns how long the answer to a request may take to begin; 0 sets no bound. The answer to a
// call of a tool takes as long as the tool, and that to another request of the protocol as long as a start.
func (g *guarded) answerTime(req *http.Request) time.Duration {
	if req.Method != http.MethodPost || req.GetBody == nil || g.server.Transport == SSE {
		return answerTime
	}
	body, err := req.GetBody()
	if err != nil {
		return answerTime
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return answerTime
	}
	message, err := jsonrpc.DecodeMessage(data)
	request, ok := message.(*jsonrpc.Request)
	switch {
	case err != nil || !ok || !request.IsCall():
		return answerTime
	case request.Method == "tools/call":
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
