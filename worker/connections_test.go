package worker

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/seal"
)

// plainly is a KMS that encrypts nothing.
type plainly struct{}

func (plainly) Wrap(_ context.Context, _ string, plain, _ []byte) ([]byte, error) { return plain, nil }
func (plainly) Unwrap(_ context.Context, _ string, wrapped, _ []byte) ([]byte, error) {
	return wrapped, nil
}

// pinned is a plainly that may use one key only.
type pinned struct{ plainly }

func (pinned) Only() string { return "test-kms://key" }

// TestKeyWrapper: a worker opens a wrapped ring, from a file or a text, with the one wrapper that it was given.
// Without the wrapper it does not start.
func TestKeyWrapper(t *testing.T) {
	t.Parallel()
	ring, err := seal.New()
	if err == nil {
		ring, err = ring.Wrap("test-kms://key")
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ring.json")
	if err := seal.Create(file, ring, plainly{}); err != nil {
		t.Fatal(err)
	}
	text, err := ring.Encode(plainly{})
	if err != nil {
		t.Fatal(err)
	}
	inClear, err := seal.New()
	if err != nil {
		t.Fatal(err)
	}
	clearFile := filepath.Join(t.TempDir(), "ring.json")
	if err := seal.Create(clearFile, inClear, nil); err != nil {
		t.Fatal(err)
	}
	clearText, err := inClear.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		ring    KeyRing
		options []Option
		want    string
	}{
		"a file":                {KeyRing{File: file}, []Option{KeyWrapper(plainly{})}, ""},
		"a text":                {KeyRing{Text: text}, []Option{KeyWrapper(plainly{})}, ""},
		"of the config":         {KeyRing{File: file, Wrapper: plainly{}}, nil, ""},
		"none":                  {KeyRing{File: file}, nil, "wrapped by test-kms://key, and this program speaks with no KMS"},
		"none for a text":       {KeyRing{Text: text}, nil, "wrapped by test-kms://key, and this program speaks with no KMS"},
		"nil":                   {KeyRing{File: file}, []Option{KeyWrapper(nil)}, "KeyWrapper wants one wrapper"},
		"two":                   {KeyRing{File: file}, []Option{KeyWrapper(plainly{}), KeyWrapper(plainly{})}, "KeyWrapper wants one wrapper"},
		"a file by the one key": {KeyRing{File: file}, []Option{KeyWrapper(pinned{})}, ""},
		"a text by the one key": {KeyRing{Text: text}, []Option{KeyWrapper(pinned{})}, ""},
		"a file in clear":       {KeyRing{File: clearFile}, []Option{KeyWrapper(pinned{})}, "the key ring is not wrapped by test-kms://key"},
		"a text in clear":       {KeyRing{Text: clearText}, []Option{KeyWrapper(pinned{})}, "the key ring is not wrapped by test-kms://key"},
		"no ring needs one":     {KeyRing{}, nil, ""},
	} {
		var a additions
		for _, option := range tc.options {
			option(&a)
		}
		_, err := newConnections(Config{KeyRing: tc.ring}, a)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
