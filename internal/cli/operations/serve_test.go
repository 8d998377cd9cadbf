package operations

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/oidc/oidctest"
	"github.com/pawl-run/pawl/worker"
)

// TestIDTokenViewers: an ID token of a provider that the tenant trusts gives its owner the identity of an actor. Other tokens are refused.
func TestIDTokenViewers(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	by, who, end, err := idTokenViewers([]worker.OIDCIssuer{{
		Name: "corp", URL: p.URL(), ClientIDs: []string{oidctest.ClientID}, As: "user:", Tenants: []string{"acme"},
	}})
	if err != nil || who != "people with ID tokens of corp" {
		t.Fatal(who, err)
	}
	t.Cleanup(end)
	now := time.Now()
	token := p.Token("ann@example.com", "n-0S6", now)
	// On a busy machine, the provider may not answer in time.
	var viewer runhttp.Viewer
	for range 100 {
		if viewer, err = by.Authenticate(t.Context(), "acme", token); err == nil {
			break
		}
	}
	if err != nil || viewer.Identity != "user:ann@example.com" || viewer.Expires.Unix() != now.Add(time.Hour).Unix() {
		t.Errorf("%+v, %v", viewer, err)
	}
	for name, token := range map[string]string{
		"a decision": p.Token("ann@example.com", strings.Repeat("0f", 32), now), "expired": p.Token("ann@example.com", "", now.Add(-2*time.Hour)), "no token": "canary",
	} {
		if viewer, err := by.Authenticate(t.Context(), "acme", token); !errors.Is(err, runhttp.ErrUnauthenticated) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %+v, %v", name, viewer, err)
		}
	}
	if viewer, err := by.Authenticate(t.Context(), "globex", token); !errors.Is(err, runhttp.ErrUnauthenticated) {
		t.Errorf("another tenant: %+v, %v", viewer, err)
	}
}

// TestOwnerOfFile: the token is created once, only its owner can read its file, and it gives the identity.
func TestOwnerOfFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if _, _, err := ownerOfFile(file, "user:ann"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(text))
	by, who, err := ownerOfFile(file, "user:ann")
	if err != nil || strings.Contains(who, token) {
		t.Fatal(who, err)
	}
	if viewer, err := by.Authenticate(t.Context(), "acme", token); err != nil || viewer.Identity != "user:ann" {
		t.Errorf("%+v, %v", viewer, err)
	}
	for _, other := range []string{"", token[1:], token + "x", strings.ToLower(token)} {
		if viewer, err := by.Authenticate(t.Context(), "acme", other); !errors.Is(err, runhttp.ErrUnauthenticated) || viewer.Identity != "" {
			t.Errorf("%+v, %v", viewer, err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for name, change := range map[string]func() error{
		"readable by others": func() error { return os.Chmod(file, 0o644) },
		"short":              func() error { return errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte("short\n"), 0o600)) },
		"empty":              func() error { return os.WriteFile(file, nil, 0o600) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ownerOfFile(file, "user:ann"); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServeRefuses: flags that would open the server to other people are refused before it listens or connects.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]served{
		"a token of nobody":      {tokenFile: "token"},
		"development in public":  {as: "user:ann", listenerFlags: listenerFlags{behindProxy: true}},
		"development with a key": {as: "user:ann", listenerFlags: listenerFlags{cert: "cert", key: "key"}},
		"no origin":              {origins: []string{"https://app.example.com/page"}},
		"every origin":           {origins: []string{"*"}},
	} {
		if err := runServe(t.Context(), &app.App{}, o); !app.IsUsage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, f := range map[string]listenerFlags{
		"everybody in clear":          {listen: "0.0.0.0:0"},
		"a certificate without a key": {listen: "127.0.0.1:0", cert: "cert"},
	} {
		if listener, err := f.open(t.Context()); !app.IsUsage(err) || listener != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
