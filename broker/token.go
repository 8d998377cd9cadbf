package broker

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/pawl-run/pawl/toolspec/capability"
)

const (
	// tokenTime bounds one request to an authorization server.
	tokenTime = 10 * time.Second
	// defaultLife is the lifetime of a renewable token whose server states none; longestLife is
	// the longest lifetime that a server may state.
	defaultLife = time.Hour
	longestLife = 365 * 24 * time.Hour
	// longestAfter is the longest Retry-After of a server that is used.
	longestAfter = time.Hour
)

// tokens requests tokens from the authorization server of one provider.
type tokens struct {
	oauth    OAuth2
	insecure bool
	base     http.RoundTripper
}

func (b *Broker) tokens(p Provider) tokens { return tokens{*p.OAuth2, p.Insecure, b.base} }

// fault is the reason why there is no token. Only the error code of the server is kept: the
// rest of its answer may contain secrets.
type fault struct {
	code string
	// lost says that a retry cannot succeed.
	lost bool
	// after is the minimum pause that the server asks for.
	after time.Duration
}

// Error names the code.
func (f *fault) Error() string { return "the authorization server gave no token: " + f.code }

// LogReason returns the code of the fault.
func (f *fault) LogReason() string { return f.code }

// grant describes the token that a server issued.
type grant struct {
	// lasts is the remaining lifetime; 0 means that the token does not expire.
	lasts  time.Duration
	scopes []string
}

// known are the error codes that may be logged and shown; passes marks a temporary error. They
// come from RFC 6749 section 5.2, RFC 8628, RFC 9700, and common servers.
var known = map[string]struct{ passes bool }{
	"invalid_request": {}, "invalid_client": {}, "invalid_grant": {}, "unauthorized_client": {}, "unsupported_grant_type": {}, "invalid_scope": {},
	"invalid_target": {}, "invalid_token": {}, "access_denied": {}, "interaction_required": {}, "login_required": {}, "consent_required": {},
	"account_selection_required": {}, "unsupported_response_type": {}, "bad_refresh_token": {}, "bad_verification_code": {},
	"incorrect_client_credentials": {}, "server_error": {true}, "temporarily_unavailable": {true}, "slow_down": {true}, "rate_limit_exceeded": {true},
}

// renewed returns a copy of the credential with a new token. It uses the refresh token, or, for
// the flow client_credentials, the credentials of the client.
func (t tokens) renewed(ctx context.Context, c Credential, scopes []string) (Credential, grant, *fault) {
	return t.got(ctx, c, func(ctx context.Context, o oauth2.Config) (*oauth2.Token, error) {
		if t.oauth.Flow == ClientCredentials {
			cc := clientcredentials.Config{
				ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: t.oauth.TokenURL, Scopes: scopes, AuthStyle: o.Endpoint.AuthStyle,
			}
			if t.oauth.Resource != "" {
				cc.EndpointParams = url.Values{resourceParameter: {t.oauth.Resource}}
			}
			return cc.Token(ctx)
		}
		if t.oauth.Resource != "" {
			// The library cannot add a parameter to a refresh, so this uses the configuration of another flow. It sends
			// the parameters that it gets, also their grant type in place of its own.
			refresh := clientcredentials.Config{
				ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: t.oauth.TokenURL, AuthStyle: o.Endpoint.AuthStyle,
				EndpointParams: url.Values{
					"grant_type": {"refresh_token"}, "refresh_token": {string(c.Get(FieldRefreshToken).Reveal())}, resourceParameter: {t.oauth.Resource},
				},
			}
			return refresh.Token(ctx)
		}
		// The source is used once: the token is kept in the record, not in the source.
		return o.TokenSource(ctx, &oauth2.Token{RefreshToken: string(c.Get(FieldRefreshToken).Reveal())}).Token()
	})
}

// exchanged returns a copy of the credential with the first token. code is the authorization
// code from a person's consent.
func (t tokens) exchanged(ctx context.Context, c Credential, code, verifier, redirect string) (Credential, grant, *fault) {
	return t.got(ctx, c, func(ctx context.Context, o oauth2.Config) (*oauth2.Token, error) {
		o.RedirectURL = redirect
		return o.Exchange(ctx, code, append(t.resource(), oauth2.VerifierOption(verifier))...)
	})
}

// resourceParameter names the service that a token is for (RFC 8707).
const resourceParameter = "resource"

// resource returns the parameter of a request to the authorization server that names the service.
func (t tokens) resource() []oauth2.AuthCodeOption {
	if t.oauth.Resource == "" {
		return nil
	}
	return []oauth2.AuthCodeOption{oauth2.SetAuthURLParam(resourceParameter, t.oauth.Resource)}
}

// config returns the settings of the oauth2 library for this client.
func (t tokens) config(c Credential) oauth2.Config {
	o := oauth2.Config{
		ClientID: string(c.Get(FieldClientID).Reveal()), ClientSecret: string(c.Get(FieldClientSecret).Reveal()),
		Endpoint: oauth2.Endpoint{AuthURL: t.oauth.AuthURL, TokenURL: t.oauth.TokenURL, AuthStyle: oauth2.AuthStyleInHeader},
	}
	if o.ClientSecret == "" || t.oauth.ClientAuth == "body" {
		o.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return o
}

func (t tokens) got(ctx context.Context, c Credential, ask func(context.Context, oauth2.Config) (*oauth2.Token, error)) (Credential, grant, *fault) {
	if checkURL(t.oauth.TokenURL, t.insecure) != nil {
		return Credential{}, grant{}, &fault{code: "token_url", lost: true}
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	began := time.Now()
	token, err := ask(context.WithValue(ctx, oauth2.HTTPClient, t.client()), t.config(c))
	if err != nil {
		return Credential{}, grant{}, faultOf(ctx, err)
	}
	if token.TokenType != "" && !strings.EqualFold(token.TokenType, "bearer") {
		return Credential{}, grant{}, &fault{code: "token_type"}
	}
	if !plain(token.AccessToken) || !plain(token.RefreshToken) {
		return Credential{}, grant{}, &fault{code: "malformed"}
	}
	next := c.copy().With(FieldAccessToken, secretOf(token.AccessToken))
	if token.RefreshToken != "" && t.oauth.Flow == AuthorizationCode {
		next = next.With(FieldRefreshToken, secretOf(token.RefreshToken))
	}
	g := grant{lasts: lifeOf(token, began)}
	if g.lasts == 0 && t.oauth.renews(next) {
		g.lasts = defaultLife
	}
	if text, ok := token.Extra("scope").(string); ok {
		g.scopes = strings.Fields(text)
	}
	return next, g, nil
}

// client returns an HTTP client that follows no redirects, so that a token request reaches only
// the configured URL.
func (t tokens) client() *http.Client {
	return &http.Client{
		Transport: t.base, Timeout: tokenTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// lifeOf returns the remaining lifetime of a token that was requested at began; 0 if its server
// states none.
func lifeOf(token *oauth2.Token, began time.Time) time.Duration {
	var life time.Duration
	switch {
	case token.ExpiresIn > 0:
		life = time.Duration(token.ExpiresIn)*time.Second - time.Since(began)
	case token.ExpiresIn == 0 && time.Since(token.Expiry) < 0 && !token.Expiry.IsZero(): // the answer was a form: the library sets only Expiry
		life = -time.Since(token.Expiry)
	default:
		return 0
	}
	return min(max(life, time.Second), longestLife)
}

// plain reports whether a token may be the value of a header.
func plain(token string) bool {
	return len(token) <= maxField && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// faultOf maps an error to a fault whose code may be logged and shown.
func faultOf(ctx context.Context, err error) *fault {
	var refused *oauth2.RetrieveError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &refused) && refused.Response != nil:
		return refusal(refused)
	case ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout():
		return &fault{code: "timeout"}
	case strings.HasPrefix(err.Error(), "oauth2: "):
		return &fault{code: "malformed"}
	}
	return &fault{code: "network"}
}

func refusal(refused *oauth2.RetrieveError) *fault {
	status := refused.Response.StatusCode
	f := &fault{code: refused.ErrorCode, after: retryAfter(refused.Response.Header)}
	what, isKnown := known[f.code]
	switch {
	case f.code == "":
		f.code = "http_" + strconv.Itoa(status)
	case !isKnown:
		f.code = "other"
	}
	// A server that fails or is overloaded has not decided about the refresh token.
	judged := status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout && (status < 300 || status >= 400)
	f.lost = judged && refused.ErrorCode != "" && !what.passes
	return f
}

// retryAfter returns the pause of a Retry-After header, at most longestAfter.
func retryAfter(h http.Header) time.Duration {
	after, _ := capability.RetryAfter(h)
	return min(after, longestAfter)
}

// copy returns a deep copy: destroying one does not change the other.
func (c Credential) copy() Credential {
	parts := make(map[string]Secret, len(c.parts))
	for name, s := range c.parts {
		parts[name] = secretOf(string(slices.Clone(s.Reveal())))
	}
	return Credential{parts}
}
