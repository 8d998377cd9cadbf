package runhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// tools says for whom it is asked, in the name of its one tool.
type tools struct{ err error }

func (c tools) Catalog(_ context.Context, by catalog.Viewer) (catalog.Catalog, error) {
	spec := toolspec.Spec{Name: strings.Join([]string{by.TenantID, by.ActorID, by.GraphID}, " "), InputSchema: json.RawMessage(`{}`), OutputSchema: json.RawMessage(`{}`)}
	return catalog.New([]toolspec.Spec{spec}, func(toolspec.Spec) catalog.Visibility { return catalog.VisibleWithApproval }), c.err
}

// TestCatalog: the catalog is that of the identity of the token, and of nobody else (RG-22).
func TestCatalog(t *testing.T) {
	t.Parallel()
	const path = "/v1/catalog?tenant=acme"
	server := serve(t, newRun(), func(o *runhttp.Options) { o.Catalogs = tools{} })
	for where, want := range map[string]string{path: "acme user:ann ", path + "&graph=g1": "acme user:ann g1", path + "&actor=user:bob": "acme user:ann "} {
		response := get(t, server, where, "Authorization", "Bearer user:ann")
		var got runhttp.Offered
		if err := json.Unmarshal([]byte(body(t, response)), &got); err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%s: %d, %v", where, response.StatusCode, err)
		}
		if len(got.Tools) != 1 || got.Tools[0].Name != want || !got.Tools[0].NeedsApproval {
			t.Errorf("%s: %+v", where, got)
		}
	}
	for _, tc := range []struct {
		where  string
		header []string
		status int
	}{
		{path, nil, http.StatusUnauthorized},
		{path, []string{"Authorization", "Bearer nobody"}, http.StatusUnauthorized},
		{"/v1/catalog?tenant=globex", []string{"Authorization", "Bearer user:ann"}, http.StatusUnauthorized},
		{path + "&access_token=user:ann", nil, http.StatusUnauthorized},
		{"/v1/catalog", []string{"Authorization", "Bearer user:ann"}, http.StatusUnprocessableEntity},
		{path + "&tenant=globex", []string{"Authorization", "Bearer user:ann"}, http.StatusUnprocessableEntity},
		{path + "&graph=a%00b", []string{"Authorization", "Bearer user:ann"}, http.StatusUnprocessableEntity},
		{path, []string{"Authorization", "Bearer user:ann", "Origin", "https://evil.example.com"}, http.StatusForbidden},
		{path, []string{"Authorization", "Bearer away"}, http.StatusServiceUnavailable},
	} {
		response := get(t, server, tc.where, tc.header...)
		if text := body(t, response); response.StatusCode != tc.status || strings.Contains(text, "user:ann") || strings.Contains(text, "canary") {
			t.Errorf("%s %q: %d, want %d: %s", tc.where, tc.header, response.StatusCode, tc.status, text)
		}
	}
	if response := do(t, server, http.MethodPost, path, "Authorization", "Bearer user:ann"); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", response.StatusCode)
	}
	away := serve(t, newRun(), func(o *runhttp.Options) { o.Catalogs = tools{errors.New("canary")} })
	if response := get(t, away, path, "Authorization", "Bearer user:ann"); response.StatusCode != http.StatusServiceUnavailable || strings.Contains(body(t, response), "canary") {
		t.Errorf("a database that is away: %d", response.StatusCode)
	}
	if response := get(t, serve(t, newRun(), nil), path, "Authorization", "Bearer user:ann"); response.StatusCode != http.StatusNotFound {
		t.Errorf("without Catalogs: %d", response.StatusCode)
	}
}
