package registry_test

import (
	"context"

	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// anybody has no runs, and is whoever its token says.
type anybody struct{}

func (anybody) Watch(context.Context, string, string, int64) iter.Seq2[toolspec.RunEvent, error] {
	return func(func(toolspec.RunEvent, error) bool) {}
}

func (anybody) OwnsRun(context.Context, string, string, string, int64) (int64, bool, error) {
	return 0, false, nil
}

func (anybody) Authenticate(_ context.Context, _, token string) (runhttp.Viewer, error) {
	if !strings.HasPrefix(token, "user:") {
		return runhttp.Viewer{}, runhttp.ErrUnauthenticated
	}
	return runhttp.Viewer{Identity: token}, nil
}

// TestHTTP: over HTTP, the holders of the role register tools of their tenant, and nobody else does or reads what is registered.
func TestHTTP(t *testing.T) {
	t.Parallel()
	r, store := open(t)
	h, err := runhttp.New(runhttp.Options{Watcher: anybody{}, Owners: anybody{}, Authenticator: anybody{}, Registry: r, Origins: []string{"https://app.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	ask := func(method, path, token, body string, status int, says string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status || !strings.Contains(string(text), says) {
			t.Errorf("%s %s as %q: %d %s, %v; want %d %s", method, path, token, resp.StatusCode, text, err, status, says)
		}
	}
	const all, one = "/v1/tools?tenant=acme", "/v1/tools/shop?tenant=acme"
	ask("POST", all, "user:ann", shop, http.StatusForbidden, "role") // no policy
	p, err := policy.Parse("policy.yaml", []byte(`
version: 1
tenants:
  acme: {allowedTools: ["*"], mode: auto, roles: {tool-admin: ["user:ann"], other: ["user:*"]}}
  globex: {allowedTools: ["*"], mode: auto, roles: {tool-admin: ["user:bob"]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.ApplyPolicy(t.Context(), p, "user:ops"); err != nil {
		t.Fatal(err)
	}
	ask("POST", all, "user:ann", shop, http.StatusOK, `"name":"shop","version":1,"tools":["tenant-acme__get"],"changed":true`)
	ask("POST", all, "user:ann", shop, http.StatusOK, `"changed":false`)
	ask("GET", all, "user:ann", "", http.StatusOK, `"registeredBy":"user:ann"`)
	ask("GET", one, "user:ann", "", http.StatusOK, `"version":1`)
	for _, method := range []string{"GET", "POST", "DELETE"} {
		path := all
		if method == "DELETE" {
			path = one
		}
		ask(method, path, "user:bob", shop, http.StatusForbidden, "authz_denied")
		ask(method, path, "", shop, http.StatusUnauthorized, "")
		ask(method, path, "nobody", shop, http.StatusUnauthorized, "")
		ask(method, strings.Replace(path, "acme", "globex", 1), "user:ann", shop, http.StatusForbidden, "authz_denied")
		ask(method, strings.Replace(path, "acme", "acme&tenant=globex", 1), "user:ann", shop, http.StatusUnprocessableEntity, "one tenant")
	}
	ask("POST", all, "user:ann", "format: 1\nname: [", http.StatusUnprocessableEntity, "document:")
	ask("POST", all+"&kind=mcp", "user:ann", "mcpServers: {tenant-acme_a: {command: sh}}", http.StatusUnprocessableEntity, "streamable HTTP")
	ask("POST", all, "user:ann", strings.Repeat(" ", 1<<20+1), http.StatusUnprocessableEntity, "at most 1 MiB")
	ask("POST", all, "user:ann", strings.Replace(shop, "name: shop", "name: other", 1), http.StatusConflict, "shop")
	ask("PUT", all, "user:ann", shop, http.StatusMethodNotAllowed, "GET, POST")
	ask("GET", "/v1/tools/nothing?tenant=acme", "user:ann", "", http.StatusNotFound, "no such registration")
	ask("DELETE", one, "user:ann", "", http.StatusOK, `"version":1`)
	ask("DELETE", one, "user:ann", "", http.StatusNotFound, "no such registration")
	store.Close()
	ask("GET", all, "user:ann", "", http.StatusServiceUnavailable, "try again")
}
