package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// authorizationTime bounds the search for the authorization server of a server.
const authorizationTime = 30 * time.Second

// Authorization is what an HTTP server and its authorization server say about how to get a token. All of it is text of
// others: the URLs are absolute, and the scopes are words of printable ASCII. Nothing says that they mean well.
type Authorization struct {
	// Resource is the identifier of the server, for which a token is issued (RFC 8707).
	Resource string
	// Issuer is the authorization server. AuthURL, TokenURL and RevokeURL are its endpoints. RevokeURL may be empty.
	Issuer, AuthURL, TokenURL, RevokeURL string
	// NamesIssuer says that answers to a sign-in name the issuer (RFC 9207).
	NamesIssuer bool
	// ClientInBody says that the authorization server takes the credential of a client in the body only.
	ClientInBody bool
	// Scopes are those that the server asks for.
	Scopes []string
	// ClientDocuments says that the authorization server takes the URL of a client id metadata document as client id.
	ClientDocuments bool
	// RegistrationURL is where clients register themselves; empty if they cannot.
	RegistrationURL string
}

// FindAuthorization sends a server a request without a credential. It then reads the metadata of the protected resource (RFC
// 9728), which must be at the server and about it, and the metadata of the authorization server (RFC 8414). A refusal of the
// request may name the address of the first and the scopes. client sends the requests, and so decides which addresses they may
// reach. For a server on this machine the transport of client is not used, and no request leaves this machine. Errors have no text
// of the server.
func FindAuthorization(ctx context.Context, address string, client *http.Client) (Authorization, error) {
	if err := (Server{URL: address}).checkHTTP(); err != nil {
		return Authorization{}, err
	}
	server, err := url.Parse(address)
	if err != nil {
		return Authorization{}, errors.New("url must be an absolute URL")
	}
	ctx, cancel := context.WithTimeout(ctx, authorizationTime)
	defer cancel()
	c := *client
	if server.Scheme == "http" {
		transport := &http.Transport{DialContext: dialLocal}
		defer transport.CloseIdleConnections()
		c.Transport = transport
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	challenge, err := challengeOf(ctx, address, &c)
	if err != nil {
		return Authorization{}, err
	}
	resource, err := findResource(ctx, server, challenge["resource_metadata"], &c)
	if err != nil {
		return Authorization{}, err
	}
	if len(resource.AuthorizationServers) == 0 {
		return Authorization{}, errors.New("the server names no authorization server")
	}
	issuer := resource.AuthorizationServers[0]
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, &c)
	if err != nil || meta == nil {
		return Authorization{}, errors.New("the authorization server that the server names gives no valid metadata, or has an address that may not be asked")
	}
	if !slices.Contains(meta.CodeChallengeMethodsSupported, "S256") {
		return Authorization{}, errors.New("the authorization server does not support PKCE with S256")
	}
	methods := meta.TokenEndpointAuthMethodsSupported
	found := Authorization{
		Resource: resource.Resource, Issuer: meta.Issuer, AuthURL: meta.AuthorizationEndpoint, TokenURL: meta.TokenEndpoint, RevokeURL: meta.RevocationEndpoint,
		NamesIssuer:  meta.AuthorizationResponseIssParameterSupported,
		ClientInBody: slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic"),
		Scopes:       strings.Fields(challenge["scope"]), ClientDocuments: meta.ClientIDMetadataDocumentSupported, RegistrationURL: meta.RegistrationEndpoint,
	}
	if len(found.Scopes) == 0 {
		found.Scopes = resource.ScopesSupported
	}
	return found, found.check()
}

// check returns an error if a text is not what it should be.
func (a Authorization) check() error {
	for name, text := range map[string]string{
		"issuer": a.Issuer, "authorization endpoint": a.AuthURL, "token endpoint": a.TokenURL, "revocation endpoint": a.RevokeURL, "registration endpoint": a.RegistrationURL,
	} {
		u, err := url.Parse(text)
		optional := name == "revocation endpoint" || name == "registration endpoint"
		if text == "" && optional {
			continue
		}
		if err != nil || u.Host == "" || u.User != nil || !printableASCII(text) {
			return fmt.Errorf("the %s is no absolute URL", name)
		}
	}
	for _, scope := range a.Scopes {
		if !printableASCII(scope) || len(scope) > 200 {
			return errors.New("a scope has characters that are not visible, or is too long")
		}
	}
	return nil
}

// printableASCII reports whether a text has visible ASCII characters only.
func printableASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// challengeOf returns the parameters with which a server refuses a request without a credential.
func challengeOf(ctx context.Context, address string, c *http.Client) (map[string]string, error) {
	const start = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacyVersion + `","capabilities":{},"clientInfo":{"name":"pawl","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader([]byte(start)))
	if err != nil {
		return nil, errors.New("the server cannot be asked")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.Do(req)
	if err != nil {
		return nil, errors.New("the server cannot be reached")
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	if resp.StatusCode != http.StatusUnauthorized {
		return nil, nil // it may ask for a credential later, for a call
	}
	all, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, errors.New("the server refuses the request in a malformed way")
	}
	for _, one := range all {
		if one.Scheme == "bearer" {
			return one.Params, nil
		}
	}
	return nil, nil
}

// findResource returns the metadata of a server. named is the address that the server gives for it, or empty.
func findResource(ctx context.Context, server *url.URL, named string, c *http.Client) (*oauthex.ProtectedResourceMetadata, error) {
	origin := server.Scheme + "://" + server.Host
	const wellKnown = "/.well-known/oauth-protected-resource"
	path := strings.TrimSuffix(server.EscapedPath(), "/")
	if named != "" {
		u, err := url.Parse(named)
		if err != nil || u.Scheme != server.Scheme || u.Host != server.Host {
			return nil, errors.New("the server names metadata of another host, which is not asked")
		}
	}
	for _, try := range []struct{ at, resource string }{
		{cmp.Or(named, origin+wellKnown+path), server.String()},
		{cmp.Or(named, origin+wellKnown), origin},
		{cmp.Or(named, origin+wellKnown), origin + "/"},
	} {
		// The identifier must be the server's own, or that of its origin.
		if meta, err := oauthex.GetProtectedResourceMetadata(ctx, try.at, try.resource, c); err == nil {
			return meta, nil
		}
	}
	return nil, errors.New("the server refuses no request without a credential and gives no metadata, or it gives no valid metadata about itself (RFC 9728), or metadata of another resource")
}

// dialLocal connects to this machine only.
func dialLocal(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !isLocal(host) {
		return nil, errors.New("the address is not on this machine")
	}
	return (&net.Dialer{Timeout: answerTime}).DialContext(ctx, network, address)
}
