package broker

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker/oauthtest"
)

// TestToken: what an authorization server may answer, and what is made of it.
func TestToken(t *testing.T) {
	const secret = "at-4Hq9VxPz5LrT2mWd"
	ok := `"access_token":"` + secret + `"`
	for name, tc := range map[string]struct {
		answer oauthtest.Answer
		// want is "ok" and the life, or the fault.
		want string
	}{
		"plain":             {oauthtest.Answer{Status: 200, Body: `{` + ok + `,"token_type":"bearer","expires_in":600}`}, "ok 10m"},
		"text for a number": {oauthtest.Answer{Status: 200, Body: `{` + ok + `,"token_type":"BEARER","expires_in":"600"}`}, "ok 10m"},
		"no life":           {oauthtest.Answer{Status: 200, Body: `{` + ok + `}`}, "ok 60m"},
		"negative life":     {oauthtest.Answer{Status: 200, Body: `{` + ok + `,"expires_in":-1}`}, "ok 60m"},
		"endless life":      {oauthtest.Answer{Status: 200, Body: `{` + ok + `,"expires_in":99999999999}`}, "ok 525600m"},
		"another type":      {oauthtest.Answer{Status: 200, Body: `{` + ok + `,"token_type":"mac"}`}, "token_type passes"},
		"no token":          {oauthtest.Answer{Status: 200, Body: `{"token_type":"bearer"}`}, "malformed passes"},
		"no JSON":           {oauthtest.Answer{Status: 200, Body: `<html>` + secret}, "malformed passes"},
		"a line break":      {oauthtest.Answer{Status: 200, Body: `{"access_token":"a\r\nX-Evil: b"}`}, "malformed passes"},
		"too much":          {oauthtest.Answer{Status: 200, Body: `{` + ok + `,"x":"` + strings.Repeat("x", 1<<20) + `"}`}, "malformed passes"},
		"a redirect":        {oauthtest.Answer{Status: 307, Body: `{` + ok + `}`, Location: "/token"}, "http_307 passes"},
		"refused grant":     {oauthtest.Answer{Status: 400, Body: `{"error":"invalid_grant","error_description":"` + secret + `"}`}, "invalid_grant lost"},
		"refused client":    {oauthtest.Answer{Status: 401, Body: `{"error":"invalid_client"}`}, "invalid_client lost"},
		"refused with 200":  {oauthtest.Answer{Status: 200, Body: `{"error":"bad_refresh_token"}`}, "bad_refresh_token lost"},
		"an unknown code":   {oauthtest.Answer{Status: 400, Body: `{"error":"` + secret + `"}`}, "other lost"},
		"no code":           {oauthtest.Answer{Status: 403, Body: `{"message":"` + secret + `"}`}, "http_403 passes"},
		"busy":              {oauthtest.Answer{Status: 429, Body: `{"error":"invalid_request"}`, RetryAfter: "7"}, "invalid_request passes 7s"},
		"for a long time":   {oauthtest.Answer{Status: 503, RetryAfter: "999999"}, "http_503 passes 1h0m0s"},
		"until a date":      {oauthtest.Answer{Status: 503, RetryAfter: time.Now().Add(30 * time.Minute).UTC().Format(http.TimeFormat)}, "http_503 passes date"},
		"broken":            {oauthtest.Answer{Status: 500, Body: `{"error":"invalid_grant"}`}, "invalid_grant passes"},
		"in passing":        {oauthtest.Answer{Status: 400, Body: `{"error":"temporarily_unavailable"}`}, "temporarily_unavailable passes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := oauthtest.New(t)
			s.Instead = func(int) *oauthtest.Answer { return &tc.answer }
			c := theClient().With(FieldRefreshToken, secretOf("rt-old"))
			next, got, f := New(nil, nil, Options{}).tokens(describe(s)).renewed(t.Context(), c, nil)
			said := fmt.Sprintf("ok %.0fm", got.lasts.Minutes())
			switch {
			case f == nil:
				if string(next.Get(FieldAccessToken).Reveal()) != secret || string(next.Get(FieldRefreshToken).Reveal()) != "rt-old" {
					t.Errorf("got %s", next)
				}
			case f.lost:
				said = f.code + " lost"
			default:
				said = f.code + " passes"
				if f.after > 25*time.Minute && f.after < 35*time.Minute {
					said += " date"
				} else if f.after > 0 {
					said += " " + f.after.String()
				}
			}
			if said != tc.want {
				t.Errorf("got %s, want %s", said, tc.want)
			}
			if f != nil && strings.Contains(fmt.Sprintf("%v %+v %#v", f, f, *f), secret) {
				t.Errorf("it tells %+v", f)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestTokenRequests: what the server is asked, by both flows and both ways to say who asks.
func TestTokenRequests(t *testing.T) {
	for _, flow := range []Flow{AuthorizationCode, ClientCredentials} {
		for _, how := range []string{"", "header", "body"} {
			s := oauthtest.New(t)
			p := describe(s)
			p.OAuth2.Flow, p.OAuth2.ClientAuth = flow, how
			c := theClient()
			old := s.Grant()
			if flow == AuthorizationCode {
				c = c.With(FieldRefreshToken, secretOf(old))
			}
			next, got, f := New(nil, nil, Options{}).tokens(p).renewed(t.Context(), c, []string{"read", "write"})
			if f != nil {
				t.Fatal(flow, how, f)
			}
			asked := s.Requests()[0]
			if inBody := asked.Get("client_secret") != ""; inBody != (how == "body") {
				t.Errorf("%s, %s: asked with %v", flow, how, asked)
			}
			if rotated := string(next.Get(FieldRefreshToken).Reveal()); flow == AuthorizationCode && (rotated == "" || rotated == old) {
				t.Errorf("the refresh token is %q", rotated)
			}
			if flow == ClientCredentials && (asked.Get("scope") != "read write" || len(next.Get(FieldRefreshToken).Reveal()) != 0 || len(missing([]string{"read", "write"}, got.scopes)) != 0) {
				t.Errorf("%s: asked with %v, got %+v", how, asked, got)
			}
			if !s.Valid(string(next.Get(FieldAccessToken).Reveal())) {
				t.Errorf("%s, %s: the token is not valid", flow, how)
			}
		}
	}
	gone := describe(oauthtest.New(t))
	gone.OAuth2.TokenURL = "http://tokens.example/token"
	if _, _, f := New(nil, nil, Options{}).tokens(gone).renewed(t.Context(), theClient(), nil); f == nil || f.code != "token_url" || !f.lost {
		t.Errorf("plain http: %v", f)
	}
}
