package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

// postgresAccount returns the account that runs Postgres, nil for the current user. Postgres refuses to run as root, so for root it is
// another user. The user needs a passwd entry, because initdb looks up its name.
func postgresAccount() (*supervise.Account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		// On macOS the user id of nobody is -2.
		uid, uidErr := strconv.ParseInt(found.Uid, 10, 64)
		gid, gidErr := strconv.ParseInt(found.Gid, 10, 64)
		if uidErr != nil || gidErr != nil || uid == 0 {
			continue
		}
		return &supervise.Account{UID: uint32(uid), GID: uint32(gid)}, nil
	}
	return nil, errors.New("Postgres does not run as root, and there is no user postgres or nobody to run it as: run pawl as an ordinary user")
}

// canReach reports whether the account may traverse dir and every directory above it.
func canReach(account *supervise.Account, dir string) bool {
	if account == nil {
		return true
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || !mayEnter(account, info) {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

// makeFor creates a directory that only the account may use. It accepts an existing directory only with this owner and mode, because every
// user may be able to write to the parent directory.
func makeFor(account *supervise.Account, dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		if account != nil {
			err = os.Lchown(dir, int(account.UID), int(account.GID))
		}
	} else if errors.Is(err, os.ErrExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("make a directory for Postgres: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("make a directory for Postgres: %w", err)
	}
	owner := uint32(os.Geteuid())
	if account != nil {
		owner = account.UID
	}
	if uid, known := ownerOf(info); !info.IsDir() || info.Mode().Perm() != 0o700 || known && uid != owner {
		return fmt.Errorf("%s exists but is not a private directory of user id %d: move it away and start again", dir, owner)
	}
	return nil
}
