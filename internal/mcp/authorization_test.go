package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestFindAuthorization: what a server says about its authorization is followed only as far as it is about this server.
func TestFindAuthorization(t *testing.T) {
	t.Parallel()
	var foreign atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	t.Cleanup(other.Close)
	type answers struct {
		status    int
		challenge string
		resource  map[string]any
		issuer    map[string]any
	}
	for name, c := range map[string]struct {
		change func(a *answers, self string)
		// fault is in the error; empty means none.
		fault string
	}{
		"well":                         {func(*answers, string) {}, ""},
		"of its origin":                {func(a *answers, self string) { a.resource["resource"] = self }, ""},
		"without a challenge":          {func(a *answers, _ string) { a.challenge = "" }, ""},
		"refuses calls only":           {func(a *answers, _ string) { a.status, a.challenge = 200, "" }, ""},
		"asks for nothing":             {func(a *answers, _ string) { a.status, a.resource = 200, nil }, "gives no metadata"},
		"redirects":                    {func(a *answers, _ string) { a.status = 307 }, ""},
		"is another resource":          {func(a *answers, _ string) { a.resource["resource"] = "https://bank.example.com/mcp" }, "another resource"},
		"has its metadata elsewhere":   {func(a *answers, _ string) { a.challenge = `Bearer resource_metadata="` + other.URL + `/m"` }, "another host"},
		"has metadata in the network":  {func(a *answers, _ string) { a.challenge = `Bearer resource_metadata="http://169.254.169.254/m"` }, "another host"},
		"names no issuer":              {func(a *answers, _ string) { delete(a.resource, "authorization_servers") }, "no authorization server"},
		"names an issuer in a network": {func(a *answers, _ string) { a.resource["authorization_servers"] = []string{"https://10.0.0.1"} }, "no valid metadata"},
		"names a script as issuer":     {func(a *answers, _ string) { a.resource["authorization_servers"] = []string{"javascript:alert(1)"} }, "no valid metadata"},
		"is another issuer":            {func(a *answers, _ string) { a.issuer["issuer"] = "https://id.example.com" }, "may not be asked"},
		"has no PKCE":                  {func(a *answers, _ string) { a.issuer["code_challenge_methods_supported"] = []string{"plain"} }, "PKCE"},
		"has a script as endpoint":     {func(a *answers, _ string) { a.issuer["authorization_endpoint"] = "javascript:alert(1)" }, "may not be asked"},
		"has escapes in a scope":       {func(a *answers, _ string) { a.challenge = ""; a.resource["scopes_supported"] = []string{"\x1b[2J"} }, "not visible"},
		"has escapes in an endpoint":   {func(a *answers, self string) { a.issuer["revocation_endpoint"] = self + "/\u202er" }, "no absolute URL"},
		"sends garbage as a challenge": {func(a *answers, _ string) { a.challenge = `"` }, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a answers
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reply := func(v any) {
					w.Header().Set("Content-Type", "application/json")
					_ = json.NewEncoder(w).Encode(v)
				}
				switch r.URL.Path {
				case "/mcp":
					if a.challenge != "" {
						w.Header().Set("WWW-Authenticate", a.challenge)
					}
					w.Header().Set("Location", other.URL)
					w.WriteHeader(a.status)
				case "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource":
					reply(a.resource)
				case "/.well-known/oauth-authorization-server":
					reply(a.issuer)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			t.Cleanup(s.Close)
			a = answers{
				status: http.StatusUnauthorized, challenge: `Bearer resource_metadata="` + s.URL + `/.well-known/oauth-protected-resource", scope="read write"`,
				resource: map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}, "scopes_supported": []string{"read", "write"}},
				issuer: map[string]any{
					"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "response_types_supported": []string{"code"},
					"code_challenge_methods_supported": []string{"S256"}, "client_id_metadata_document_supported": true,
				},
			}
			c.change(&a, s.URL)
			found, err := FindAuthorization(t.Context(), s.URL+"/mcp", http.DefaultClient)
			switch {
			case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
				t.Errorf("it returns %+v, %v, want a fault with %q", found, err, c.fault)
			case c.fault != "":
			case err != nil:
				t.Error(err)
			case found.TokenURL != s.URL+"/token" || !slices.Equal(found.Scopes, []string{"read", "write"}) || !found.ClientDocuments || !strings.HasPrefix(found.Resource, s.URL):
				t.Errorf("it returns %+v", found)
			}
		})
	}
	t.Cleanup(func() {
		if n := foreign.Load(); n > 0 {
			t.Errorf("another server got %d requests", n)
		}
	})
}
