package kms_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/testing/fakekms"

	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/kms"
)

// fakes are the services of a test, whose keys stand in their names.
var fakes = map[string]kms.Opener{
	"fake-kms": func(_ context.Context, key string) (registry.KMSClient, error) { return fakekms.NewClient(key) },
}

func newFake(t *testing.T) string {
	t.Helper()
	key, err := fakekms.NewKeyURI()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestWrapper: what a key wraps unwraps with that key and the same purpose, and with nothing else.
func TestWrapper(t *testing.T) {
	t.Parallel()
	w, key, other := kms.New("", fakes), newFake(t), newFake(t)
	wrapped, err := w.Wrap(t.Context(), key, []byte("canary"), []byte("for a test"))
	if err != nil || strings.Contains(string(wrapped), "canary") {
		t.Fatalf("%q, %v", wrapped, err)
	}
	if plain, err := w.Unwrap(t.Context(), key, wrapped, []byte("for a test")); err != nil || string(plain) != "canary" {
		t.Errorf("%q, %v", plain, err)
	}
	for name, tc := range map[string]struct {
		w            *kms.Wrapper
		key, purpose string
		want         string
	}{
		"another purpose": {w, key, "for another", "the service refuses"},
		"another key":     {w, other, "for a test", "the service refuses"},
		"no key":          {w, "fake-kms://none", "for a test", "no name of a key"},
		"another scheme":  {w, "acme-kms://key", "for a test", "no service is known by the scheme acme-kms: there are fake-kms"},
		"not that one":    {kms.New(other, fakes), key, "for a test", "PAWL_KMS_KEY names another key"},
	} {
		plain, err := tc.w.Unwrap(t.Context(), tc.key, wrapped, []byte(tc.purpose))
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %q, %v, want %q", name, plain, err, tc.want)
		}
	}
}

// keeps wraps a ring by a key, in a file, and opens it again.
func keeps(t *testing.T, w *kms.Wrapper, key string) (file string) {
	t.Helper()
	ring, err := seal.New()
	for range 20 { // more than a service would encrypt by itself
		if err == nil {
			ring, _, err = ring.Add()
		}
	}
	if err == nil {
		ring, err = ring.Wrap(key)
	}
	file = filepath.Join(t.TempDir(), "ring.json")
	if err == nil {
		err = seal.Create(file, ring, w)
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := seal.Load(file, w)
	if err != nil || again.Primary() != ring.Primary() || again.WrappedBy() != key {
		t.Fatalf("%v", err)
	}
	return file
}

// TestRings: every service keeps rings, of any size.
func TestRings(t *testing.T) {
	t.Run("fake", func(t *testing.T) { keeps(t, kms.New("", fakes), newFake(t)) })
	t.Run("aws", func(t *testing.T) {
		newAWS(t)
		file := keeps(t, kms.FromEnv(), awsKey)
		newAWS(t) // another one, with another key
		if _, err := seal.Load(file, kms.FromEnv()); err == nil || !strings.Contains(err.Error(), "the service answers InvalidCiphertextException") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v", err)
		}
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		if _, err := seal.Load(file, kms.FromEnv()); err == nil {
			t.Error("without credentials it opens")
		}
		ring, err := seal.New()
		if err == nil {
			ring, err = ring.Wrap("aws-kms://key/1")
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ring.Encode(kms.FromEnv()); err == nil || !strings.Contains(err.Error(), "no ARN") {
			t.Errorf("%v", err)
		}
	})
	t.Run("vault", func(t *testing.T) {
		v := newTransit(t)
		for name, value := range v.env {
			t.Setenv(name, value)
		}
		file := keeps(t, kms.FromEnv(), v.key("one"))
		load := func(want string) {
			t.Helper()
			if _, err := seal.Load(file, kms.FromEnv()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%v, want %q", err, want)
			}
		}
		v.answers("canary " + vaultToken)
		load("the service answers 400")
		v.answers("")
		t.Setenv("VAULT_TOKEN", "hvs.canary")
		load("the service answers 403")
		t.Setenv("VAULT_TOKEN", "")
		load("VAULT_TOKEN is missing")
		t.Setenv("VAULT_TOKEN", vaultToken)
		t.Setenv("PAWL_KMS_KEY", v.key("two"))
		load("PAWL_KMS_KEY names another key")
		t.Setenv("PAWL_KMS_KEY", "")
		t.Setenv("VAULT_CACERT", "")
		load("its certificate is not trusted")
		t.Setenv("VAULT_ADDR", "https://vault.example")
		load("VAULT_ADDR, or VAULT_AGENT_ADDR, names another server")
	})
}

// TestVaultTokenStays: a ring that says it is of another server has nobody sent there.
func TestVaultTokenStays(t *testing.T) {
	v, stranger := newTransit(t), newTransit(t)
	for name, value := range v.env {
		t.Setenv(name, value)
	}
	_, err := kms.FromEnv().Unwrap(t.Context(), stranger.key("one"), []byte("vault:v1:AAAA"), nil)
	if err == nil || stranger.times() != 0 || v.times() != 0 {
		t.Errorf("%v; asked %d and %d times", err, stranger.times(), v.times())
	}
	// Where there is an agent, that is asked, whatever VAULT_ADDR says: a ring has to name it.
	t.Setenv("VAULT_AGENT_ADDR", stranger.URL)
	t.Setenv("VAULT_CACERT", stranger.env["VAULT_CACERT"])
	if _, err := kms.FromEnv().Wrap(t.Context(), v.key("one"), []byte("canary"), nil); err == nil || stranger.times() != 0 || v.times() != 0 {
		t.Errorf("%v; asked %d and %d times", err, stranger.times(), v.times())
	}
	if _, err := kms.FromEnv().Wrap(t.Context(), stranger.key("one"), []byte("canary"), nil); err != nil || stranger.times() != 1 || v.times() != 0 {
		t.Errorf("%v; asked %d and %d times", err, stranger.times(), v.times())
	}
}

// TestServiceHangs: who does not answer is not waited for.
func TestServiceHangs(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	t.Setenv("VAULT_ADDR", "https://"+listener.Addr().String())
	t.Setenv("VAULT_TOKEN", vaultToken)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = kms.FromEnv().Unwrap(ctx, "hcvault://"+listener.Addr().String()+"/transit/keys/one", []byte("vault:v1:AAAA"), nil)
	if err == nil || !strings.Contains(err.Error(), "does not answer in time") || errors.Is(err, context.Canceled) || time.Since(began) > 30*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}
