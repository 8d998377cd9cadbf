package devstack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/internal/devstack/supervise"
)

const (
	passwordName = "password"      // the superuser's password, beside the data
	locationName = "data-location" // contains the path of a data directory that is not in the home
	superuser    = "pawl"
)

// dataDir returns the path of the data directory. It is in the home if the account can reach it. Otherwise it is under /var/tmp or the
// temporary directory, with a name that depends on the home, and the home records the path.
func dataDir(h *home, account *supervise.Account) (string, error) {
	if canReach(account, h.dir) {
		return h.path("data"), nil
	}
	if noted, err := os.ReadFile(h.path(locationName)); err == nil {
		return strings.TrimSpace(string(noted)), nil
	}
	name := sha256.Sum256([]byte(h.dir))
	for _, parent := range []string{"/var/tmp", os.TempDir(), "/tmp"} {
		if !canReach(account, parent) {
			continue
		}
		dir := filepath.Join(parent, "pawl-data-"+hex.EncodeToString(name[:8]))
		if err := os.WriteFile(h.path(locationName), []byte(dir+"\n"), 0o600); err != nil {
			return "", fmt.Errorf("note where the Postgres data is: %w", err)
		}
		return dir, nil
	}
	return "", fmt.Errorf("the user that Postgres runs as can reach neither %s nor a temporary directory: choose another directory, or run pawl as an ordinary user", h.dir)
}

// dataMajor returns the major version of a data directory, 0 if there is none yet.
func dataMajor(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the Postgres data: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s is not a Postgres data directory: move it away and start again", data)
	}
	return major, nil
}

// initialise creates a data directory with one superuser, and writes the superuser's new password
// to the home.
func (p *Postgres) initialise(ctx context.Context, fsync bool) error {
	p.password = rand.Text()
	if err := os.WriteFile(p.home.path(passwordName), []byte(p.password), 0o600); err != nil {
		return fmt.Errorf("keep the Postgres password: %w", err)
	}
	// Create it under another name, so that a start that is killed leaves no incomplete data
	// directory.
	fresh := p.data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("clear an unfinished Postgres data directory (delete %s by hand): %w", fresh, err)
	}
	if err := makeFor(p.account, fresh); err != nil {
		return err
	}
	handed := fresh + ".password" // initdb runs as the account, which cannot read the password file of the home
	if err := p.handOver(handed); err != nil {
		return err
	}
	defer os.Remove(handed)
	args := []string{
		"--pgdata=" + fresh, "--username=" + superuser, "--pwfile=" + handed,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-instructions",
	}
	if !fsync {
		args = append(args, "--no-sync")
	}
	err := p.run(ctx, supervise.Command{
		Path: p.binaries.path("initdb"), Args: args, Env: serverEnv(fresh), Account: p.account, Group: true,
	})
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, p.data); err != nil {
		return fmt.Errorf("put the Postgres data in place: %w", err)
	}
	return nil
}

func (p *Postgres) handOver(path string) error {
	_ = os.Remove(path) // left by a start that was killed
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("hand the password to initdb: %w", err)
	}
	_, err = file.WriteString(p.password + "\n")
	if p.account != nil {
		err = errors.Join(err, file.Chown(int(p.account.UID), int(p.account.GID)))
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("hand the password to initdb: %w", err)
	}
	return nil
}

// recall reads the password of an existing data directory.
func (p *Postgres) recall() error {
	text, err := os.ReadFile(p.home.path(passwordName))
	if err != nil {
		return fmt.Errorf("the password of the Postgres data in %s is lost; delete that directory to start afresh: %w", p.data, err)
	}
	p.password = strings.TrimSpace(string(text))
	return nil
}
