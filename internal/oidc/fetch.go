package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// maxDocument bounds what is read of an answer, in bytes, and maxKeys what is kept of it.
	maxDocument = 1 << 20
	maxKeys     = 128
	// maxRedirects bounds how often a server may send us on, to itself.
	maxRedirects = 3
	// minRSA is the least length of an RSA modulus, in bytes.
	minRSA = 256
	// idleTimeout is how long an unused connection is kept open.
	idleTimeout = 30 * time.Second
)

// Error says why an issuer gave no keys. It has no text of the issuer.
type Error struct {
	// Issuer is the name of the issuer, and State says what happened.
	Issuer, State string
}

// Error names the reason.
func (e *Error) Error() string { return "oidc: " + e.Issuer + ": " + e.State }

// LogReason returns the text of Error, which is safe for logs.
func (e *Error) LogReason() string { return e.Error() }

// newClient returns a client that follows redirects only within one server: keys from another
// server must not count as keys of the issuer.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: idleTimeout, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxDocument},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || !sameOrigin(r.URL, via[0].URL) {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// discovery is what is needed of the metadata of a provider.
type discovery struct {
	Issuer  string `json:"issuer"`
	JWKSURI string `json:"jwks_uri"`
}

// fetch reads the metadata and the keys of an issuer. It leaves out keys that cannot verify a
// signature, and returns an error if no usable key is left.
func fetch(ctx context.Context, client *http.Client, issuer string) ([]jose.JSONWebKey, error) {
	var found discovery
	if err := get(ctx, client, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &found); err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	if found.Issuer != issuer {
		return nil, errors.New("discovery: the document names another issuer")
	}
	own, err := address(issuer)
	if err != nil {
		return nil, err
	}
	where, err := address(found.JWKSURI)
	if err != nil || where.Scheme != "https" && own.Scheme == "https" {
		return nil, errors.New("discovery: the jwks_uri is not an allowed address")
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := get(ctx, client, found.JWKSURI, &set); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) != nil || !usable(key) || len(keys) == maxKeys {
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("keys: the document has no usable key")
	}
	return keys, nil
}

// get reads a JSON document. Its errors hold no words of the server.
func get(ctx context.Context, client *http.Client, where string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, http.NoBody)
	if err != nil {
		return errors.New("no such address")
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("no answer in time")
		}
		return errors.New("no connection")
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return errors.New("the answer breaks off")
	case len(text) > maxDocument:
		return fmt.Errorf("the answer is larger than %d bytes", maxDocument)
	case json.Unmarshal(text, into) != nil:
		return errors.New("the answer is not valid JSON of the expected form")
	}
	return nil
}
