package broker

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	// tokenTime bounds one request to an authorization server.
	tokenTime = 10 * time.Second
	// defaultLife is that of a token whose server does not say, where another can be
	// got; longestLife is the most that is believed.
	defaultLife = time.Hour
	longestLife = 365 * 24 * time.Hour
	// longestAfter is the longest pause that a server is granted.
	longestAfter = time.Hour
)

// tokens asks an authorization server.
type tokens struct {
	oauth    OAuth2
	insecure bool
	base     http.RoundTripper
}

func (b *Broker) tokens(p Provider) tokens { return tokens{*p.OAuth2, p.Insecure, b.base} }

// fault is why there is no token. What a server says besides its code goes
// nowhere: it may hold anything.
type fault struct {
	code string
	// lost says that to ask again is of no use.
	lost bool
	// after is how long the server wants to be left alone.
	after time.Duration
}

// Error names the code.
func (f *fault) Error() string { return "the authorization server gave no token: " + f.code }

// LogReason is the code.
func (f *fault) LogReason() string { return f.code }

// grant is what a server says of its token.
type grant struct {
	// lasts is 0 for good.
	lasts  time.Duration
	scopes []string
}

// known are the codes that may be told. What passes by itself says so (RFC 6749
// section 5.2, RFC 8628, RFC 9700, and what is common).
var known = map[string]struct{ passes bool }{
	"invalid_request": {}, "invalid_client": {}, "invalid_grant": {}, "unauthorized_client": {}, "unsupported_grant_type": {}, "invalid_scope": {},
	"invalid_target": {}, "invalid_token": {}, "access_denied": {}, "interaction_required": {}, "login_required": {}, "consent_required": {},
	"account_selection_required": {}, "unsupported_response_type": {}, "bad_refresh_token": {}, "bad_verification_code": {},
	"incorrect_client_credentials": {}, "server_error": {true}, "temporarily_unavailable": {true}, "slow_down": {true}, "rate_limit_exceeded": {true},
}

// renewed is the credential with a new token, got with its refresh token or, where
// that is the flow, with the client's own credentials. It is a copy.
func (t tokens) renewed(ctx context.Context, c Credential, scopes []string) (Credential, grant, *fault) {
	return t.got(ctx, c, func(ctx context.Context, o oauth2.Config) (*oauth2.Token, error) {
		if t.oauth.Flow == ClientCredentials {
			cc := clientcredentials.Config{
				ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: t.oauth.TokenURL, Scopes: scopes, AuthStyle: o.Endpoint.AuthStyle,
			}
			return cc.Token(ctx)
		}
		// A source of one token: the record is what remembers.
		return o.TokenSource(ctx, &oauth2.Token{RefreshToken: string(c.Get(FieldRefreshToken).Reveal())}).Token()
	})
}

// exchanged is the credential with the first token, for the code that a person's
// consent came with.
func (t tokens) exchanged(ctx context.Context, c Credential, code, verifier, redirect string) (Credential, grant, *fault) {
	return t.got(ctx, c, func(ctx context.Context, o oauth2.Config) (*oauth2.Token, error) {
		o.RedirectURL = redirect
		return o.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	})
}

// config is how a library knows the client.
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

// client follows no redirects: a token goes where the description says.
func (t tokens) client() *http.Client {
	return &http.Client{
		Transport: t.base, Timeout: tokenTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// lifeOf is how long a token lasts, counted from when it was asked for; 0 where its
// server does not say.
func lifeOf(token *oauth2.Token, began time.Time) time.Duration {
	var life time.Duration
	switch {
	case token.ExpiresIn > 0:
		life = time.Duration(token.ExpiresIn)*time.Second - time.Since(began)
	case token.ExpiresIn == 0 && time.Since(token.Expiry) < 0 && !token.Expiry.IsZero(): // of a form; the library has added it to the clock
		life = -time.Since(token.Expiry)
	default:
		return 0
	}
	return min(max(life, time.Second), longestLife)
}

// plain reports whether a token can stand in a header.
func plain(token string) bool {
	return len(token) <= maxField && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// faultOf keeps of an error what can be told.
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
	// A server that fails, or has too much to do, has not judged.
	judged := status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout && (status < 300 || status >= 400)
	f.lost = judged && refused.ErrorCode != "" && !what.passes
	return f
}

// retryAfter reads how long a server wants to be left alone.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, longestAfter) //nolint:gosec // 31 bits
	}
	// A date counts by the server's own clock.
	at, err := http.ParseTime(text)
	serverTime, dateErr := http.ParseTime(h.Get("Date"))
	if err != nil || dateErr != nil {
		return 0
	}
	return min(max(at.Sub(serverTime), 0), longestAfter)
}

// copy shares nothing with the credential.
func (c Credential) copy() Credential {
	parts := make(map[string]Secret, len(c.parts))
	for name, s := range c.parts {
		parts[name] = secretOf(string(slices.Clone(s.Reveal())))
	}
	return Credential{parts}
}
