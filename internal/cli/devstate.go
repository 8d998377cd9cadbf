package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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
}

// devDir is the place of the development servers of a directory, in the cache.
func devDir(dir string) (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no home directory: set XDG_CACHE_HOME: %w", err)
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

// findDev returns the state of a `pawl dev` that runs for this directory, or nil.
func findDev() (*devState, error) {
	path, err := stateFile(".")
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
	var s devState
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged; remove it", path)
	}
	if alive := s.PID > 0 && syscall.Kill(s.PID, 0) == nil; !alive {
		return nil, nil // left behind by a dev that was killed
	}
	return &s, nil
}

// announce writes the state; the returned function takes it back.
func (s devState) announce() (func(), error) {
	path, err := stateFile(s.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(path) }, nil
}
