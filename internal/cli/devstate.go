package cli

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

	"github.com/pawl-run/pawl/internal/devstack/filelock"
)

// devState tells other commands in the same directory of a running `pawl dev`.
// It holds the password of the throwaway database: the file is the owner's only.
type devState struct {
	PID         int    `json:"pid"`
	Dir         string `json:"dir"`
	Temporal    string `json:"temporal"`
	Namespace   string `json:"namespace"`
	UI          string `json:"ui"`
	DatabaseURL string `json:"databaseUrl"`
	// KeyRing is the file of the key ring, if it is in one.
	KeyRing string `json:"keyRing,omitempty"`
}

// errNoHome says that there is no place for a cache.
var errNoHome = errors.New("no home directory: set XDG_CACHE_HOME")

// devDir is the place of the development servers of a directory, in the cache.
func devDir(dir string) (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errNoHome
		}
		cache = filepath.Join(home, ".cache")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(cache, "pawl", "dev", hex.EncodeToString(sum[:8])), nil
}

func stateFile(dir string) (string, error) {
	d, err := devDir(dir)
	return filepath.Join(d, "state.json"), err
}

// claimWait is how long a command that looks may hold the claim.
const claimWait = time.Second

// claimDev makes this process the one `pawl dev` of the place, until it ends.
func claimDev(ctx context.Context, place string) (*filelock.Lock, error) {
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

const claimName = "claim"

// findDev returns the state of a `pawl dev` that runs for this directory, or nil.
func findDev() (*devState, error) {
	path, err := stateFile(".")
	if errors.Is(err, errNoHome) {
		return nil, nil // a container: nobody runs `pawl dev` there
	}
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// The claim ends with its process; a process id may by now be another's.
	claim, err := filelock.Try(filepath.Join(filepath.Dir(path), claimName))
	if err == nil {
		return nil, claim.Release() // left behind by a dev that was killed
	}
	if !errors.Is(err, filelock.ErrHeld) {
		return nil, err
	}
	var s devState
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged; remove it", path)
	}
	return &s, nil
}

// announce writes the state; the returned function takes it back.
func (s devState) announce() (func(), error) {
	path, err := stateFile(s.Dir)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	// Renamed, so that nobody reads half of it.
	fresh := path + ".new"
	if err := os.WriteFile(fresh, raw, 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, path); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(path) }, nil
}
