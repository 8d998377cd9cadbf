package devcli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/worker"
)

// devKeyRing returns the key ring of the development servers whose directory is place. It
// creates the key ring if the directory has none. If the environment names a key ring,
// devKeyRing returns that key ring and creates none.
func (a devApp) devKeyRing(place string) (worker.KeyRing, error) {
	if file, text := os.Getenv("PAWL_KEYRING_FILE"), os.Getenv("PAWL_KEYRING"); file != "" || text != "" {
		return worker.KeyRing{File: file, Text: []byte(text), Wrapper: a.Wrapper}, nil
	}
	if err := os.MkdirAll(place, 0o700); err != nil {
		return worker.KeyRing{}, err
	}
	own := worker.KeyRing{File: filepath.Join(place, "keyring.json"), Wrapper: a.Wrapper}
	ring, err := seal.New()
	if pinner, ok := a.Wrapper.(broker.KeyPinner); ok && err == nil {
		// A worker whose wrapper pins a key opens only a key ring that this key wraps.
		ring, err = ring.Wrap(pinner.Only())
	}
	if err != nil {
		return own, err
	}
	// Create never replaces a key ring: the stored secrets open with the existing one only.
	if err := seal.Create(own.File, ring, a.Wrapper); err != nil && !errors.Is(err, fs.ErrExist) {
		return own, err
	}
	return own, nil
}

// keyRingEnv returns the environment variables that give a key ring to a worker in a
// process of its own.
func keyRingEnv(k worker.KeyRing) []string {
	return []string{"PAWL_KEYRING_FILE=" + k.File, "PAWL_KEYRING=" + string(k.Text)}
}
