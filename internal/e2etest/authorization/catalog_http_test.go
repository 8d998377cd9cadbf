package authorization

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/worker"
)

const catalogHTTPPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    permissions: relations
  globex:
    allowedTools: [test__read]
    mode: auto
`

// named is an authenticator that uses the token as the identity.
type named struct{}

func (named) Authenticate(_ context.Context, _, token string) (runhttp.Viewer, error) {
	return runhttp.Viewer{Identity: token}, nil
}

// TestCatalogOverHTTP: the list of tools depends on the tenant, the actor and the graph (RG-22).
func TestCatalogOverHTTP(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, catalogHTTPPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__asks", e2etest.Echo, e2etest.Risky), e2etest.Tool("test__other", e2etest.Echo)))
	inv := e2etest.Invocation("call", "test__read", `{"text":"hello"}`)
	inv.Context.TenantID = "globex"
	e2etest.WantText(t, w.Invoke(inv), "hello") // after this the worker runs and has published its tools
	w.Relate("acme", authz.Relation{Kind: authz.Executes, Subject: "user:ann", Tools: "test__read"})
	w.Relate("acme", authz.Relation{Kind: authz.Executes, Subject: "user:ann", Tools: "test__asks", GraphID: "support"})
	w.Relate("acme", authz.Relation{Kind: authz.Executes, Subject: "user:ben", Tools: "test__other"})

	db := clientpg.Of(w.Store)
	handler, err := runhttp.New(runhttp.Options{Watcher: pawl.New(w.Temporal, db.Options()), Owners: db, Catalogs: db, Authenticator: named{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query, identity string
		want            []string
	}{
		{"tenant=acme", "user:ann", []string{"test__asks", "test__read"}},
		{"tenant=acme&graph=support", "user:ann", []string{"test__asks", "test__read"}},
		{"tenant=acme&graph=sales", "user:ann", []string{"test__read"}},
		{"tenant=acme", "user:ben", []string{"test__other"}},
		{"tenant=acme&actor=user:ann", "user:cyd", nil},
		{"tenant=globex", "user:ann", []string{"test__read"}},
		{"tenant=nobody", "user:ann", nil},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/catalog?"+c.query, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+c.identity)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		var offered runhttp.Offered
		if err := json.Unmarshal(answer.Body.Bytes(), &offered); err != nil || answer.Code != http.StatusOK {
			t.Fatalf("%s: %d, %v", c.query, answer.Code, err)
		}
		var names []string
		for _, e := range offered.Tools {
			names = append(names, e.Name)
			if e.NeedsApproval != (e.Name == "test__asks") || len(e.InputSchema) == 0 {
				t.Errorf("%s: %+v", c.query, e)
			}
		}
		if !reflect.DeepEqual(names, c.want) {
			t.Errorf("%s as %s: %v, want %v", c.query, c.identity, names, c.want)
		}
	}
}
