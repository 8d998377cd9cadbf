package devcli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// onlyKey is a KMS with one key, which encrypts nothing.
type onlyKey struct{}

func (onlyKey) Only() string { return "test-kms://key" }

func (onlyKey) Wrap(_ context.Context, _ string, plain, _ []byte) ([]byte, error) {
	return append([]byte(nil), plain...), nil
}

func (onlyKey) Unwrap(_ context.Context, _ string, wrapped, _ []byte) ([]byte, error) {
	return append([]byte(nil), wrapped...), nil
}

// TestDevKeyRingOfTheOneKey: if only one key of a KMS is allowed, `pawl dev` makes a ring that its worker opens. An earlier ring in clear is
// refused, with advice.
func TestDevKeyRingOfTheOneKey(t *testing.T) {
	t.Setenv("PAWL_KEYRING_FILE", "")
	t.Setenv("PAWL_KEYRING", "")
	a := devApp{&app.App{Wrapper: onlyKey{}}}
	place := filepath.Join(t.TempDir(), "new")
	for range 2 { // the second call finds the ring of the first call
		ring, err := a.devKeyRing(place)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ring.Open(); err != nil {
			t.Error(err)
		}
	}
	place = t.TempDir()
	if _, err := (devApp{&app.App{}}).devKeyRing(place); err != nil {
		t.Fatal(err)
	}
	ring, err := a.devKeyRing(place)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Open(); err == nil || !strings.Contains(err.Error(), "`pawl keyring wrap` wraps it") {
		t.Errorf("%v", err)
	}
}
