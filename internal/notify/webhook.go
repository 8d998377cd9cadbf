package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

const (
	// webhookTimeout bounds one delivery. It is shorter than the timeout of the caller.
	webhookTimeout = 8 * time.Second
	// idleTimeout is how long an unused connection is kept open.
	idleTimeout = 30 * time.Second
	// maxAnswer is how much of an answer is read, in bytes, so that the connection can be used
	// again. The answer is discarded.
	maxAnswer = 4 << 10
)

// Webhook posts notices to an address. It may be used by several goroutines.
type Webhook struct {
	address string
	host    string
	secrets Secrets
	client  *http.Client
}

// NewWebhook makes a webhook for an https address. An http address must be on this host. Errors do not repeat
// the address, because it may contain a secret.
func NewWebhook(address string, secrets Secrets) (*Webhook, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("the address must be of the form https://host/path")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, errors.New("the address must begin with https://; http:// is for localhost only")
	case u.User != nil:
		return nil, errors.New("the address must not hold a user or a password: the signature says who sends")
	case u.Fragment != "":
		return nil, errors.New("the address must not have a fragment")
	case len(secrets.keys) == 0:
		return nil, errors.New("there is no secret to sign with")
	}
	return &Webhook{
		address: u.String(), host: u.Host, secrets: secrets,
		client: &http.Client{
			Timeout:   webhookTimeout,
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: idleTimeout, ForceAttemptHTTP2: true},
			// Do not follow redirects: a body that is signed for one address must not be sent to
			// another.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Host returns the host of the address.
func (w *Webhook) Host() string { return w.host }

// Close ends the connections that are idle.
func (w *Webhook) Close() { w.client.CloseIdleConnections() }

// Notify posts a notice once. Any answer but 2xx is an error.
func (w *Webhook) Notify(ctx context.Context, n toolspec.Notice) error {
	text, err := encode(n)
	if err != nil {
		return &Error{State: "encode"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address, bytes.NewReader(text))
	if err != nil {
		return &Error{State: "request"}
	}
	// The time is that of the attempt: receivers refuse what was signed long ago.
	now := time.Now()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "pawl")
	request.Header.Set("webhook-id", n.ID)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	request.Header.Set("webhook-signature", w.secrets.sign(n.ID, now, text))
	response, err := w.client.Do(request)
	if err != nil {
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			return &Error{State: "deadline"}
		}
		return &Error{State: "connection"}
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // the status code has already decided the result
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return &Error{State: fmt.Sprintf("status %d", response.StatusCode)}
	}
	return nil
}

// Error says why a notice was not delivered. It has no text of the receiver.
type Error struct {
	// State is status 500, deadline, connection …
	State string
}

// Error names the reason.
func (e *Error) Error() string { return "webhook: " + e.State }

// LogReason returns the text of Error, which is safe for logs.
func (e *Error) LogReason() string { return e.Error() }
