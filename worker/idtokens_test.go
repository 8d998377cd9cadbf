package worker

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestLoadOIDC: variables configure one issuer, and a file configures several. Incomplete settings are an
// error.
func TestLoadOIDC(t *testing.T) {
	file := filepath.Join(t.TempDir(), "issuers.json")
	write := func(text string) map[string]string {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return map[string]string{"PAWL_OIDC_FILE": file}
	}
	one := OIDCIssuer{Name: "sso", URL: "https://id.example.com", ClientIDs: []string{"pawl"}, Tenants: []string{"acme", "globex"}}
	full := one
	full.Name, full.ClientIDs, full.Claim, full.As = "corp", []string{"pawl", "pawl-cli"}, "sub", "user:"
	filed := one
	filed.Require = map[string]string{"hd": "example.com"}
	const text = `{"issuers":[{"name":"sso","issuer":"https://id.example.com","clientIds":["pawl"],"tenants":["acme","globex"],"require":{"hd":"example.com"}}]}`
	for _, tc := range []struct {
		name  string
		set   func() map[string]string
		want  []OIDCIssuer
		fault string
	}{
		{"none", func() map[string]string { return nil }, nil, ""},
		{"one", func() map[string]string {
			return map[string]string{"PAWL_OIDC_ISSUER": one.URL, "PAWL_OIDC_CLIENT_ID": "pawl", "PAWL_OIDC_TENANTS": "acme, globex"}
		}, []OIDCIssuer{one}, ""},
		{"all of one", func() map[string]string {
			return map[string]string{
				"PAWL_OIDC_ISSUER": one.URL, "PAWL_OIDC_CLIENT_ID": "pawl,pawl-cli", "PAWL_OIDC_TENANTS": "acme,globex", "PAWL_OIDC_NAME": "corp",
				"PAWL_OIDC_CLAIM": "sub", "PAWL_OIDC_AS": "user:",
			}
		}, []OIDCIssuer{full}, ""},
		{"a file", func() map[string]string { return write(text) }, []OIDCIssuer{filed}, ""},
		{"a client of nobody", func() map[string]string { return map[string]string{"PAWL_OIDC_CLIENT_ID": "pawl"} }, nil, "PAWL_OIDC_ISSUER is missing"},
		{"both", func() map[string]string {
			return map[string]string{"PAWL_OIDC_FILE": file, "PAWL_OIDC_ISSUER": one.URL}
		}, nil, "leave out the other"},
		{"no file", func() map[string]string { return map[string]string{"PAWL_OIDC_FILE": file + ".none"} }, nil, "no such file"},
		{"an unknown member", func() map[string]string { return write(`{"issuers":[{"clientId":"pawl"}]}`) }, nil, "clientId"},
		{"no JSON", func() map[string]string { return write(`issuers:`) }, nil, "PAWL_OIDC_FILE"},
		{"two documents", func() map[string]string { return write(text + text) }, nil, "more than one document"},
		{"a large file", func() map[string]string { return write(strings.Repeat(" ", maxOIDCFile+1)) }, nil, "larger than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			setEnvironment(t, tc.set())
			c, err := LoadConfig()
			if (err == nil) != (tc.fault == "") || err != nil && (!strings.Contains(err.Error(), tc.fault) || !strings.HasPrefix(err.Error(), "config: ")) {
				t.Fatalf("%v, want %q", err, tc.fault)
			}
			if !reflect.DeepEqual(c.OIDC, tc.want) {
				t.Errorf("got %+v, want %+v", c.OIDC, tc.want)
			}
		})
	}
}

// TestIDTokens: a worker without issuers has no verifier. A worker with issuers logs them. A worker with an
// invalid issuer does not start.
func TestIDTokens(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	o := &opened{}
	defer o.close()
	if got, err := idTokens(o, Config{}, log); got != nil || err != nil {
		t.Errorf("without issuers: %v, %v", got, err)
	}
	good := OIDCIssuer{Name: "corp", URL: "https://id.example.com", ClientIDs: []string{"pawl"}, Tenants: []string{"acme"}}
	if got, err := idTokens(o, Config{OIDC: []OIDCIssuer{good}}, log); got == nil || err != nil || !strings.Contains(out.String(), "issuer=corp tenants=[acme] as=oidc:corp:") {
		t.Errorf("with one: %v, %v, %s", got, err, &out)
	}
	bad := good
	bad.URL = "http://id.example.com"
	if got, err := idTokens(o, Config{OIDC: []OIDCIssuer{bad}}, log); got != nil || err == nil || !strings.HasPrefix(err.Error(), "config: PAWL_OIDC_*: oidc: the issuer corp: ") {
		t.Errorf("in clear: %v, %v", got, err)
	}
}
