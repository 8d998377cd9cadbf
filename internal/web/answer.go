package web

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// accept says which types a fetch can show.
const accept = "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,application/pdf;q=0.8,image/png,image/jpeg,image/webp,image/gif;q=0.8,*/*;q=0.1"

// answer is what a server has answered.
type answer struct {
	request  *http.Request
	response *http.Response
	status   int
	// location is the address of a redirect.
	location string
	// body is decompressed. cut says that there was more.
	body []byte
	cut  bool
}

// get asks for a URL and reads at most limit bytes of the body. If old is a page that was kept, the answer
// may be 304: the page has not changed.
func (f *Fetcher) get(ctx context.Context, u *url.URL, old *kept, limit int) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fault(capability.WebBadURL, "the URL is malformed")
	}
	req.Header.Set("User-Agent", f.agent)
	req.Header.Set("Accept", accept)
	old.condition(req.Header)
	// The transport itself follows no redirect and adds neither cookies nor Referer.
	resp, err := f.transport.RoundTrip(req)
	if err != nil {
		return nil, explain(err)
	}
	defer func() { _ = resp.Body.Close() }()
	a := &answer{request: req, response: resp, status: resp.StatusCode}
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if a.location = resp.Header.Get("Location"); a.location == "" {
			return nil, fault(capability.WebRedirect, "the host redirects without an address")
		}
		return a, nil
	}
	if a.status < 200 || a.status > 299 {
		return a, nil
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, fault(capability.WebContent, "the server answered in a compression that was not asked for")
	}
	if a.body, err = io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1)); err != nil {
		return nil, explain(err)
	}
	if len(a.body) > limit {
		a.body, a.cut = a.body[:limit], true
	}
	return a, nil
}

// explain returns the fault of a request. The text of the error stays here: it has parts of the URL.
func explain(err error) error {
	var known *capability.WebError
	var certificate *tls.CertificateVerificationError
	var slow net.Error
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return fault(capability.WebTime, "the host did not answer in time")
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &certificate):
		return fault(capability.WebTLS, "the TLS certificate of the host is not valid")
	case errors.As(err, &record):
		return fault(capability.WebTLS, "the host does not speak TLS at this port")
	case strings.Contains(err.Error(), "headers exceeded"), strings.Contains(err.Error(), "header list"):
		return fault(capability.WebTooLarge, "the headers of the answer are too large")
	case errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "gzip: "), strings.Contains(err.Error(), "flate: "):
		return fault(capability.WebContent, "the answer of the server is damaged or incomplete")
	}
	return fault(capability.WebUnreachable, "the host cannot be reached, or its answer is not HTTP")
}

// cause returns the error of ctx if it has ended, and otherwise err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
