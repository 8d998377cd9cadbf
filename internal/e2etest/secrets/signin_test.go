package secrets

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/oauthtest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestSignInByCommand: a call with a connection without tokens fails with the error that a person must sign in. `pawl connections signin` gets the tokens, and
// `pawl connections revoke` revokes them at the service.
func TestSignInByCommand(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	auth := oauthtest.New(t)
	v, s := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	w.Keyring = v.File
	v.AddOAuth("c1", s.Provider(), nil, 0)
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.FetchAt, e2etest.Connected)))
	e2etest.WantCode(t, w.Invoke(e2etest.Over(e2etest.Invocation("before", "test__read", fetchFrom(s)), "c1")), toolspec.CodeNeedsReauth)

	c := w.Command("connections", "signin", "c1")
	link := regexp.MustCompile(`http://\S+/authorize\?\S+`)
	w.Until(func() bool { return link.MatchString(c.Err.String()) }, "the command says where to go")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link.FindString(c.Err.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, page.Body)
	_ = page.Body.Close()
	if status := c.Wait(); status != 0 || page.StatusCode != http.StatusOK || !strings.Contains(c.Out.String(), "acme: c1 is signed in") {
		t.Fatalf("it ended with %d and said %s%s; the page is %d", status, c.Out, c.Err, page.StatusCode)
	}
	e2etest.WantText(t, w.Invoke(e2etest.Over(e2etest.Invocation("after", "test__read", fetchFrom(s)), "c1")), "200 welcome")
	used := s.Seen[len(s.Seen)-1]
	w.Secrets.Never("the token", []byte(used))
	if said := c.Out.String() + c.Err.String(); len(w.Secrets.FindString(said)) > 0 {
		t.Error("the command prints a secret")
	}

	w.Keyring = "" // only the flag names the key ring
	texts := w.PawlCLI("connections revoke c1 --yes --keyring " + v.File)
	if !strings.Contains(texts[0], "the service has revoked its tokens") || auth.Valid(used) {
		t.Errorf("it says %q; the token is good: %t", texts[0], auth.Valid(used))
	}
}
