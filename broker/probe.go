package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Probe opens a connection's credential, sends one GET with it and returns the
// status of the response. host names one of the connection's hosts; "" means the first. path
// begins with a slash and may have a query. Probe follows no redirects. Its errors contain nothing
// of the credential.
func (b *Broker) Probe(ctx context.Context, r Record, host, path string) (status int, err error) {
	u, err := probeURL(r, host, path)
	if err != nil {
		return 0, err
	}
	credential, err := b.open(r.Sealed)
	if err != nil {
		return 0, ErrSealed
	}
	lease := b.newLease(r, credential)
	defer lease.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, errors.New("the path is not one of a URL")
	}
	req.Header.Set("User-Agent", "pawl")
	client := lease.client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return 0, bareError(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<10) // a short body that is read lets the TCP connection be reused
	return resp.StatusCode, nil
}

// bareError returns the cause of a client's error without the URL.
func bareError(err error) error {
	var around *url.Error
	if errors.As(err, &around) {
		return around.Err
	}
	return err
}

func probeURL(r Record, host, path string) (*url.URL, error) {
	if host == "" {
		host = r.Hosts[0]
	}
	if strings.HasPrefix(host, "*.") {
		return nil, fmt.Errorf("%s stands for many hosts: name one of them", host)
	}
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("a path begins with /")
	}
	at, err := url.Parse(path)
	if err != nil || at.Host != "" || at.Fragment != "" {
		return nil, errors.New("the path is not one of a URL")
	}
	u := &url.URL{Scheme: "https", Host: host, Path: at.Path, RawPath: at.RawPath, RawQuery: at.RawQuery}
	if name, _, err := splitHost(host); err == nil {
		if r.Provider.Insecure && loopback(name) {
			u.Scheme = "http"
		}
		if strings.Contains(host, ":") && net.ParseIP(host) != nil {
			u.Host = "[" + host + "]"
		}
	}
	if !(hosts{r.Hosts, r.Provider.Insecure}).allow(u) {
		return nil, fmt.Errorf("%s is none of the connection's hosts: %s", host, strings.Join(r.Hosts, ", "))
	}
	return u, nil
}
