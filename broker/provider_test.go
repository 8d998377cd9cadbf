package broker

import (
	"net/url"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	own := hosts{patterns: []string{"api.example.com", "*.example.org", "other.example:8443", "127.0.0.1:9000", "[::1]:9000"}}
	for target, want := range map[string]bool{
		"https://api.example.com/x": true, "https://API.example.com./x": true, "https://api.example.com:443": true,
		"https://api.example.com:8443": false, "http://api.example.com": false, "https://api.example.com.evil.test": false, "https://xapi.example.com": false,
		"https://a.example.org": true, "https://a.b.example.org": true, "https://example.org": false, "https://.example.org": false, "https://aexample.org": false,
		"https://other.example:8443": true, "https://other.example": false, "https://127.0.0.1:9000": true, "https://[::1]:9000": true, "http://127.0.0.1:9000": false,
		"ftp://api.example.com": false, "https:///x": false,
	} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := own.allow(u); got != want {
			t.Errorf("%s: %t", target, got)
		}
	}
	insecure := hosts{patterns: []string{"localhost:8080", "127.0.0.1"}, insecure: true}
	for target, want := range map[string]bool{
		"http://localhost:8080": true, "https://localhost:8080": true, "http://localhost": false, "http://127.0.0.1": true, "http://127.0.0.1:80": true,
	} {
		u, _ := url.Parse(target)
		if got := insecure.allow(u); got != want {
			t.Errorf("%s: %t", target, got)
		}
	}
}

const described = `
id: github
kind: bearer
hosts: [api.github.com]
---
id: search
kind: api_key
hosts: ["*.search.example"]
place: {query: key}
---
id: mail
kind: oauth2
hosts: [mail.example]
oauth2: {flow: authorization_code, authUrl: "https://id.example/auth", tokenUrl: "https://id.example/token", revokeUrl: "https://id.example/revoke", scopes: [read]}
`

func TestReadProviders(t *testing.T) {
	all, err := ReadProviders([]byte(described))
	if err != nil || len(all) != 3 || all[1].Place.Query != "key" || all[2].OAuth2.Flow != AuthorizationCode {
		t.Fatalf("got %+v, %v", all, err)
	}
	one := func(more string) string { return "id: a\nkind: bearer\nhosts: [a.example]\n" + more }
	for source, want := range map[string]string{
		"":                                               "no provider is described",
		one("kinds: x"):                                  "kinds",
		one("---\n" + one("")):                           "described twice",
		"id: A\nkind: bearer\nhosts: [a.b]":              "id must match",
		"id: a\nkind: token\nhosts: [a.b]":               `kind "token" is none of`,
		"id: a\nkind: bearer":                            "hosts must have",
		one("place: {header: X}"):                        "place belongs to",
		one("signer: x"):                                 "signer belongs to",
		one("insecure: true"):                            "insecure is for loopback addresses only",
		"id: a\nkind: bearer\nhosts: [\"*.com\"]":        "at least two parts",
		"id: a\nkind: bearer\nhosts: [\"*\"]":            "must be a name",
		"id: a\nkind: bearer\nhosts: [\"https://a.b/\"]": "no URL",
		"id: a\nkind: bearer\nhosts: [A.b]":              "lower case",
		"id: a\nkind: bearer\nhosts: [\"a.b:0\"]":        "no valid port",
		"id: a\nkind: api_key\nhosts: [a.b]\nplace: {header: X, query: y}":                                                  "either header or query",
		"id: a\nkind: api_key\nhosts: [a.b]\nplace: {header: \"X Y\"}":                                                      "no name of a header",
		"id: a\nkind: api_key\nhosts: [a.b]\nplace: {header: Host}":                                                         "not the credential's",
		"id: a\nkind: api_key\nhosts: [a.b]\nplace: {header: X, template: none}":                                            "{key} once",
		"id: a\nkind: oauth2\nhosts: [a.b]\noauth2: {flow: implicit, tokenUrl: \"https://a.b\"}":                            "oauth2.flow",
		"id: a\nkind: oauth2\nhosts: [a.b]\noauth2: {flow: authorization_code, tokenUrl: \"https://a.b\"}":                  "oauth2.authUrl",
		"id: a\nkind: oauth2\nhosts: [a.b]\noauth2: {flow: client_credentials, tokenUrl: \"http://a.b\"}":                   "must be https",
		"id: a\nkind: oauth2\nhosts: [a.b]\noauth2: {flow: client_credentials, tokenUrl: \"https://u:p@a.b\"}":              "neither user",
		"id: a\nkind: oauth2\nhosts: [a.b]\noauth2: {flow: client_credentials, tokenUrl: token}":                            "absolute URL",
		"id: a\nkind: oauth2\nhosts: [a.b]\noauth2: {flow: client_credentials, tokenUrl: \"https://a.b\", clientAuth: jwt}": "clientAuth",
		strings.Repeat("# long\n", MaxProvider):                                                                             "more than",
	} {
		if _, err := ReadProviders([]byte(source)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", source, err, want)
		}
	}
}

// TestCheckCredential: parts that do not fit are named, and never shown.
func TestCheckCredential(t *testing.T) {
	signers, err := NewSigners()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		p     Provider
		parts map[string]string
		want  string
	}{
		"whole":           {Provider{Kind: Bearer}, map[string]string{"token": "t"}, ""},
		"signed":          {Provider{Kind: Signed, Signer: "hmac-sha256"}, map[string]string{"secret": "s\n", "key_id": "k"}, ""},
		"missing":         {Provider{Kind: Basic}, map[string]string{"username": "u"}, "needs password"},
		"empty":           {Provider{Kind: Bearer}, map[string]string{"token": ""}, "needs token"},
		"too many":        {Provider{Kind: Bearer}, map[string]string{"token": "t", "other": "canary"}, `no part "other"`},
		"a line too many": {Provider{Kind: Bearer}, map[string]string{"token": "canary\n"}, "control character"},
		"not UTF-8":       {Provider{Kind: Bearer}, map[string]string{"token": "canary\xff"}, "control character"},
		"huge":            {Provider{Kind: Bearer}, map[string]string{"token": strings.Repeat("canary", 4096)}, "more than"},
		"a colon":         {Provider{Kind: Basic}, map[string]string{"username": "canary:", "password": "p"}, "no colon"},
		"no such signer":  {Provider{Kind: Signed, Signer: "sigv9"}, nil, `no signer "sigv9"`},
	} {
		err := tc.p.CheckCredential(credential(tc.parts), signers)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
