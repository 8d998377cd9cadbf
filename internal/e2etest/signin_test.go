package e2etest

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/oauthtest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestSignInByCommand: a connection without tokens says that somebody has to sign in, `pawl connections signin` brings them, and `revoke`
// takes them back at the service.
func TestSignInByCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	auth := oauthtest.New(t)
	v, s := newVault(w), newAPI(t, auth)
	w.keyring = v.file
	v.addToken("c1", s.provider(), nil, 0)
	w.workWith(v.config(), worker.Tools(tool("test__read", fetchAt, connected)))
	wantCode(t, w.invoke(over(invocation("before", "test__read", fetchFrom(s)), "c1")), toolspec.CodeNeedsReauth)

	c := w.command("connections", "signin", "c1")
	link := regexp.MustCompile(`http://\S+/authorize\?\S+`)
	w.until(func() bool { return link.MatchString(c.err.String()) }, "the command says where to go")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link.FindString(c.err.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, page.Body)
	_ = page.Body.Close()
	if status := c.wait(); status != 0 || page.StatusCode != http.StatusOK || !strings.Contains(c.out.String(), "acme: c1 is signed in") {
		t.Fatalf("it ended with %d and said %s%s; the page is %d", status, c.out, c.err, page.StatusCode)
	}
	wantText(t, w.invoke(over(invocation("after", "test__read", fetchFrom(s)), "c1")), "200 welcome")
	used := s.seen[len(s.seen)-1]
	w.secrets.never("the token", []byte(used))
	if said := c.out.String() + c.err.String(); len(w.secrets.FindString(said)) > 0 {
		t.Error("the command prints a secret")
	}

	w.keyring = "" // the flag alone says where it is
	texts := w.pawlCLI("connections revoke c1 --yes --keyring " + v.file)
	if !strings.Contains(texts[0], "the service has taken its tokens back") || auth.Valid(used) {
		t.Errorf("it says %q; the token is good: %t", texts[0], auth.Valid(used))
	}
}
