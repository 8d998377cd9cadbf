package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/worker"
)

// devKeyRing is the key ring of the development servers of a directory, which is
// made where there is none; one that the environment names is used as it is.
func (a *app) devKeyRing(place string) (worker.KeyRing, error) {
	if file, text := os.Getenv("PAWL_KEYRING_FILE"), os.Getenv("PAWL_KEYRING"); file != "" || text != "" {
		return worker.KeyRing{File: file, Text: []byte(text), Wrapper: a.wrapper}, nil
	}
	if err := os.MkdirAll(place, 0o700); err != nil {
		return worker.KeyRing{}, err
	}
	own := worker.KeyRing{File: filepath.Join(place, "keyring.json"), Wrapper: a.wrapper}
	ring, err := seal.New()
	if pinner, ok := a.wrapper.(broker.KeyPinner); ok && err == nil {
		ring, err = ring.Wrap(pinner.Only()) // no other would open here
	}
	if err != nil {
		return own, err
	}
	if err := seal.Create(own.File, ring, a.wrapper); err != nil && !errors.Is(err, fs.ErrExist) {
		return own, err
	}
	return own, nil
}

// keyRingEnv is how a worker in a process of its own is told of a key ring.
func keyRingEnv(k worker.KeyRing) []string {
	return []string{"PAWL_KEYRING_FILE=" + k.File, "PAWL_KEYRING=" + string(k.Text)}
}
