package broker_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec/capability"
)

const token = "s3same-of-a-test"

// clearly is a sealer that seals nothing, and knows its key.
type clearly struct{ key int64 }

func (c clearly) Seal(plain []byte, at broker.Binding) ([]byte, int64, error) {
	return fmt.Appendf(nil, "%v %s", at, plain), c.key, nil
}

func (c clearly) Open(sealed []byte, at broker.Binding) ([]byte, error) {
	plain, found := strings.CutPrefix(string(sealed), fmt.Sprintf("%v ", at))
	if !found {
		return nil, broker.ErrSealed
	}
	return []byte(plain), nil
}

var at = broker.Binding{TenantID: "acme", ConnectionID: "c1", Provider: "test", Version: 2}

func sealedParts(t *testing.T, parts map[string]string) broker.Sealed {
	t.Helper()
	secrets := map[string]broker.Secret{}
	for name, value := range parts {
		secrets[name] = capability.NewSecret([]byte(value))
	}
	s, err := broker.New(nil, clearly{1}, broker.Options{}).Seal(broker.NewCredential(secrets), at, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestProbe: one GET with the credential to one of the connection's hosts, whose redirects nobody follows; what goes wrong names no
// credential and no path.
func TestProbe(t *testing.T) {
	t.Parallel()
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/cut":
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	record := broker.Record{
		Provider: broker.Provider{ID: "test", Kind: broker.Bearer, Insecure: true}, Hosts: []string{u.Host, "*.example.com"},
		Sealed: sealedParts(t, map[string]string{broker.FieldToken: token}),
	}
	b := broker.New(nil, clearly{1}, broker.Options{})
	for path, want := range map[string]int{"/": 418, "/a%2Fb?q=1": 418, "/moved": 302} {
		got = nil
		code, err := b.Probe(t.Context(), record, "", path)
		if err != nil || code != want || len(got) != 1 || got[0] != "GET "+path+" Bearer "+token {
			t.Errorf("%s: %d, %v after %q", path, code, err, got)
		}
	}
	if _, err := b.Probe(t.Context(), record, "example.org", "/"); err == nil || !strings.Contains(err.Error(), "none of the connection's hosts: "+u.Host) {
		t.Errorf("%v", err)
	}
	got = nil
	for name, try := range map[string]struct{ host, path string }{
		"another host": {"example.org", "/"}, "many hosts": {"*.example.com", "/"}, "no path": {"", "x"}, "another host in the path": {"", "//example.org/"},
		"a fragment": {"", "/#x"}, "a user": {"x@" + u.Host, "/"}, "another port": {"127.0.0.1:1", "/"},
	} {
		if code, err := b.Probe(t.Context(), record, try.host, try.path); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %d, %v", name, code, err)
		}
	}
	if len(got) != 0 {
		t.Errorf("requests: %q", got)
	}
	if _, err := b.Probe(t.Context(), record, "", "/cut?hush"); err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), token) {
		t.Errorf("%v", err)
	}
	record.Sealed.ConnectionID = "c2"
	if _, err := b.Probe(t.Context(), record, "", "/"); !errors.Is(err, broker.ErrSealed) {
		t.Errorf("%v", err)
	}
}

// TestReseal: the same credential for the same place, by another key and no other.
func TestReseal(t *testing.T) {
	t.Parallel()
	was := sealedParts(t, map[string]string{broker.FieldToken: token})
	was.ExpiresAt = time.Unix(1, 0)
	now, err := broker.Reseal(clearly{2}, was, 2)
	if err != nil || now.KeyID != 2 || now.Binding != was.Binding || now.ExpiresAt != was.ExpiresAt || string(now.Bytes) != string(was.Bytes) {
		t.Errorf("%+v, %v", now.Binding, err)
	}
	if _, err := broker.Reseal(clearly{3}, was, 2); !errors.Is(err, broker.ErrOtherKey) {
		t.Errorf("%v", err)
	}
	was.Version++
	if _, err := broker.Reseal(clearly{2}, was, 2); !errors.Is(err, broker.ErrSealed) {
		t.Errorf("%v", err)
	}
}

// TestKeep: named parts go over, others do not, and one that is not there is said.
func TestKeep(t *testing.T) {
	t.Parallel()
	old := sealedParts(t, map[string]string{broker.FieldUsername: "ann", broker.FieldPassword: token})
	fresh := broker.NewCredential(map[string]broker.Secret{broker.FieldPassword: capability.NewSecret([]byte("new"))})
	whole, err := fresh.Keep(clearly{1}, old, []string{broker.FieldUsername})
	if err != nil || string(whole.Get(broker.FieldUsername).Reveal()) != "ann" || string(whole.Get(broker.FieldPassword).Reveal()) != "new" {
		t.Errorf("%v, %v", whole, err)
	}
	if _, err := fresh.Keep(clearly{1}, old, []string{"pasword"}); err == nil || !strings.Contains(err.Error(), "password, username") || strings.Contains(err.Error(), token) {
		t.Errorf("%v", err)
	}
}
