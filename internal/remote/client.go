package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/pawl-run/pawl/internal/traceparent"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/remotetool"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

const (
	// dialTime bounds the time to connect to a worker.
	dialTime = 5 * time.Second
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 16 << 10
)

// Client sends requests to remote workers.
type Client struct {
	keys     Keys
	loopback *http.Client
	secure   *http.Client
}

// New returns a client with these keys.
func New(keys Keys) *Client {
	return &Client{keys: keys, loopback: client(onlyLoopback), secure: client(nil)}
}

// client returns an HTTP client that makes a connection for each request: net/http can lose a request on a connection that
// the worker has closed, and then nobody knows whether the tool ran.
func client(control func(network, address string, c syscall.RawConn) error) *http.Client {
	dialer := &net.Dialer{Timeout: dialTime, Control: control}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTime, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// onlyLoopback refuses a connection to another host: localhost is a name, and plain http has no other protection of the
// arguments.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil || !addr.Addr().IsLoopback() {
		return errors.New("not a loopback address")
	}
	return nil
}

// Send sends a request once, and returns the answer if the worker has signed it for this request.
func (c *Client) Send(ctx context.Context, to remotetool.Worker, r remotetool.ToolRequest) (remotetool.ToolAnswer, error) {
	fail := func(unsent bool, reason string) (remotetool.ToolAnswer, error) {
		return remotetool.ToolAnswer{}, &remotetool.SendError{Unsent: unsent, Reason: reason}
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fail(true, "the request cannot be written as JSON")
	}
	target, err := url.Parse(to.URL)
	key := c.keys.byID[to.Key]
	if err != nil || key.secret == nil {
		return fail(true, "the remote worker has no valid address or no key")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return fail(true, "the request cannot be made")
	}
	traceparent.Set(ctx, req.Header) // the signature does not cover it
	req.GetBody = nil                // the transport must not send the request again
	signature, err := sign(req.Header, target, body, to.Key, key.secret, time.Now(), time.Duration(r.TimeoutMs)*time.Millisecond)
	if err != nil {
		return fail(true, "the request cannot be signed")
	}
	via := c.secure
	if target.Scheme == "http" {
		via = c.loopback
	}
	resp, err := via.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return remotetool.ToolAnswer{}, ctx.Err()
	case err != nil && capability.Unsent(err):
		return fail(true, "the remote worker cannot be reached")
	case err != nil && isCertificate(err):
		return fail(true, "the remote worker has no valid certificate")
	case err != nil:
		return fail(false, "the remote worker gave no answer")
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, remotetool.MaxAnswer+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return remotetool.ToolAnswer{}, ctx.Err()
	case err != nil:
		return fail(false, "the answer of the remote worker broke off")
	case len(answer) > remotetool.MaxAnswer:
		return fail(false, "the answer of the remote worker is too large")
	case verifyAnswer(resp.StatusCode, resp.Header, answer, to.Key, key.secret, signature) != nil:
		return fail(false, errSignature.Error())
	case resp.StatusCode != http.StatusOK:
		return fail(false, "the remote worker did not take the request")
	}
	var out remotetool.ToolAnswer
	if strictjson.Check(answer) != nil || json.Unmarshal(answer, &out) != nil {
		return fail(false, "the answer of the remote worker is not valid")
	}
	return out, nil
}

// isCertificate reports whether an error says that the certificate of the peer is not valid, so that nothing of the request was
// sent.
func isCertificate(err error) bool {
	var of *tls.CertificateVerificationError
	return errors.As(err, &of)
}
