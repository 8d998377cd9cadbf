package skew

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// httpTools is a document whose tool sends its requests to a path.
const httpTools = `
format: 1
name: test
tools:
  - id: test__post
    description: Posts an issue.
    version: "1"
    effect: external_side_effect
    risk: high
    connection: required
    redaction: {allow: [/title]}
    input: {type: object, properties: {}}
    request: {method: POST, path: %s}
    response:
      type: json
      schema: {type: object, properties: {title: {type: string}}, required: [title]}
`

// TestToolsOfBuilds: an HTTP tool has another request in the next build. A call that has an approval for the request of the build before does not send the
// new one: it ends with approval_stale. A call goes on with the definition that it has if the next build has the same.
func TestToolsOfBuilds(t *testing.T) {
	t.Parallel()
	v := &versions{e2etest.NewWorld(t, e2etest.PlainPolicy)}
	var mu sync.Mutex
	var paths []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"title":"a"}`)
	}))
	t.Cleanup(api.Close)
	at, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	vault := e2etest.NewVault(v.World)
	vault.Add("c1", broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{at.Host}, Insecure: true}, string(e2etest.NewCanary()))
	vault.Grant("c1", e2etest.Actor)
	serve := func(build, path string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "tools.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, httpTools, path), 0o600); err != nil {
			t.Fatal(err)
		}
		v.serve("pawl", build, "PAWL_HTTP_TOOLS="+file)
		v.makeCurrent("pawl", build)
	}
	asks := func(name string) string {
		t.Helper()
		inv := e2etest.Over(e2etest.Invocation(name, "test__post", `{}`), "c1")
		v.Start(inv)
		return inv.Identity().WorkflowID()
	}
	serve("a", "/a")
	same := asks("same")
	v.Waiting(same)
	serve("b", "/a")
	v.Approve(same)
	if r := v.ResultOf(same, ""); !r.OK {
		t.Fatalf("the call ended %+v", r)
	}

	changed := asks("changed")
	v.Waiting(changed)
	serve("c", "/c")
	v.Approve(changed)
	if r := v.ResultOf(changed, ""); r.ErrorCode != toolspec.CodeApprovalStale {
		t.Errorf("the call ended %+v", r)
	}
	again := asks("again")
	v.Approve(again)
	if r := v.ResultOf(again, ""); !r.OK {
		t.Errorf("the call ended %+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"/a", "/c"}; !slices.Equal(paths, want) {
		t.Errorf("the requests went to %q, want %q", paths, want)
	}
}
