package broker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Retired is the outcome of the revocation of a connection's tokens at its provider.
type Retired string

// The outcomes.
const (
	// RetiredThere: the provider revoked the tokens.
	RetiredThere Retired = "retired"
	// RetiredNowhere: Pawl has nothing to revoke there, or no way to do it. A person must do it by
	// hand.
	RetiredNowhere Retired = "unsupported"
	// RetiredFailed: some tokens may still be valid there.
	RetiredFailed Retired = "failed"
)

// Retire revokes the tokens of a connection at its provider (RFC 7009), the refresh token first. r
// is the record that the revocation here has deleted before: the result of Retire does not change
// that revocation. If a refresh is running, the refresh revokes the tokens that it gets. Retire
// sends at most two requests, of ten seconds each, and its errors hold nothing of the credential.
func (b *Broker) Retire(ctx context.Context, r Record) (Retired, error) {
	if r.Provider.OAuth2 == nil || r.Provider.OAuth2.RevokeURL == "" {
		return RetiredNowhere, nil
	}
	c, err := b.open(r.Sealed)
	if err != nil {
		return RetiredFailed, ErrSealed
	}
	defer c.Destroy()
	return b.retire(ctx, r.Provider, c)
}

func (b *Broker) retire(ctx context.Context, p Provider, c Credential) (Retired, error) {
	if p.OAuth2 == nil || p.OAuth2.RevokeURL == "" {
		return RetiredNowhere, nil
	}
	t := b.tokens(p)
	outcome := RetiredNowhere
	for _, name := range []string{FieldRefreshToken, FieldAccessToken} {
		token := c.Get(name).Reveal()
		if len(token) == 0 {
			continue
		}
		if err := t.revoke(ctx, c, name, token); err != nil {
			return RetiredFailed, fmt.Errorf("the %s is not taken back: %w", strings.ReplaceAll(name, "_", " "), err)
		}
		outcome = RetiredThere
	}
	return outcome, nil
}

func (t tokens) revoke(ctx context.Context, c Credential, hint string, token []byte) error {
	if err := checkURL(t.oauth.RevokeURL, t.insecure); err != nil {
		return fmt.Errorf("oauth2.revokeUrl %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	form := url.Values{"token": {string(token)}, "token_type_hint": {hint}}
	id, secret := string(c.Get(FieldClientID).Reveal()), string(c.Get(FieldClientSecret).Reveal())
	header := secret != "" && t.oauth.ClientAuth != "body"
	if !header {
		form.Set("client_id", id)
		if secret != "" {
			form.Set("client_secret", secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.oauth.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("oauth2.revokeUrl is no URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if header {
		req.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret)) // as RFC 6749 section 2.3.1 wants it
	}
	resp, err := t.client().Do(req)
	if err != nil {
		return sendError(ctx, err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the authorization server answers %d", resp.StatusCode)
	}
	return nil
}
