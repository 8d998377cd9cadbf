package devstate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-run/pawl/internal/filelock"
)

// State describes a running `pawl dev` to other commands in the same directory. It holds
// the password of the database, so only its owner may read the file.
type State struct {
	PID         int    `json:"pid"`
	Dir         string `json:"dir"`
	Temporal    string `json:"temporal"`
	Namespace   string `json:"namespace"`
	UI          string `json:"ui"`
	DatabaseURL string `json:"databaseUrl"`
	// ForeignDatabase says that `pawl dev` uses a database that it did not start.
	ForeignDatabase bool `json:"foreignDatabase,omitempty"`
	// KeyRing is the file of the key ring; empty if the key ring is not in a file.
	KeyRing string `json:"keyRing,omitempty"`
}

// ErrNoHome is the error of Dir if the environment names no directory for a cache.
var ErrNoHome = errors.New("no home directory: set XDG_CACHE_HOME")

// Dir returns the cache directory for the development servers of dir. The error is
// ErrNoHome if there is neither XDG_CACHE_HOME nor a home directory.
func Dir(dir string) (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", ErrNoHome
		}
		cache = filepath.Join(home, ".cache")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	// Every symbolic link to a directory must give the same cache directory.
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(cache, "pawl", "dev", hex.EncodeToString(sum[:8])), nil
}

// stateFile returns the file with the State of dir.
func stateFile(dir string) (string, error) {
	d, err := Dir(dir)
	return filepath.Join(d, "state.json"), err
}

// claimWait is how long Claim waits for a command that holds the claim for a moment in
// Find.
const claimWait = time.Second

// Claim makes this process the only `pawl dev` of place, a directory of Dir. The claim
// lasts until it is released or the process ends. Claim waits up to one second, and fails
// if another process still holds the claim.
func Claim(ctx context.Context, place string) (*filelock.Lock, error) {
	if err := os.MkdirAll(place, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	path := filepath.Join(place, claimName)
	claim, err := filelock.Wait(ctx, path, nil)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("`pawl dev` runs for this directory already (process %d)", filelock.HeldBy(path))
	}
	return claim, err
}

// claimName is the name of the lock file in the directory of Dir.
const claimName = "claim"

// Find returns the state of a `pawl dev` that runs for this directory, or nil.
func Find() (*State, error) { return find(".") }

func find(dir string) (*State, error) {
	path, err := stateFile(dir)
	if errors.Is(err, ErrNoHome) {
		return nil, nil // for example a container, in which no `pawl dev` runs
	}
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	// A service may run as a user who cannot read the home directory.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// The `pawl dev` is alive if its claim is held, because the claim ends with the process.
	// The process ID in the state proves nothing, because another process may have the same
	// ID by now.
	claim, err := filelock.Try(filepath.Join(filepath.Dir(path), claimName))
	if err == nil {
		return nil, claim.Release() // a killed `pawl dev` left the state behind
	}
	if !errors.Is(err, filelock.ErrHeld) {
		return nil, err
	}
	var s State
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged; remove it", path)
	}
	return &s, nil
}

// Announce writes the state to the file that Find reads. The returned function removes
// the file.
func (s State) Announce() (func(), error) {
	path, err := stateFile(s.Dir)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	// A rename is atomic, so no reader sees half of the file.
	fresh := path + ".new"
	if err := os.WriteFile(fresh, raw, 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, path); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(path) }, nil
}
