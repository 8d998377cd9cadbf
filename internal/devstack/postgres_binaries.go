package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// oldestPostgres is the oldest major version that Pawl supports.
const oldestPostgres = 14

// binaries is one installation of the Postgres server.
type binaries struct {
	dir   string // holds initdb and postgres
	major int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// findPostgres returns the installation on PATH, else the newest in the usual directories. A data directory works with one major version
// only: major selects it, and 0 accepts any version.
func findPostgres(ctx context.Context, major int) (binaries, error) {
	var others []int
	for _, dir := range postgresDirs() {
		found, err := inspectPostgres(ctx, dir)
		if err != nil {
			continue
		}
		if found.major == major || major == 0 && found.major >= oldestPostgres {
			return found, nil
		}
		others = append(others, found.major)
	}
	switch {
	case major != 0:
		return binaries{}, fmt.Errorf("the data is of Postgres %d, and only %v is installed: install Postgres %d, or delete the data directory to start afresh", major, others, major)
	case len(others) > 0:
		return binaries{}, fmt.Errorf("the installed Postgres %v is too old: install version %d or newer (%s)", others, oldestPostgres, installPostgres())
	}
	return binaries{}, fmt.Errorf("no Postgres server found: install one (%s), or run `docker compose up` in a checkout of Pawl and give its address", installPostgres())
}

// postgresDirs returns directories that may contain the server, in order of preference. Debian does not put them on PATH.
func postgresDirs() []string {
	var dirs []string
	if onPath, err := exec.LookPath("postgres"); err == nil {
		// The link on PATH may point to one program only; the others are beside its target.
		if real, err := filepath.EvalSymlinks(onPath); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	var usual []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
	} {
		found, _ := filepath.Glob(pattern) // the only error is a bad pattern
		usual = append(usual, found...)
	}
	slices.SortStableFunc(usual, func(a, b string) int { return versionIn(b) - versionIn(a) })
	return append(dirs, usual...)
}

// versionIn returns the major version in the path of a directory, 0 if there is none.
func versionIn(dir string) int {
	name := filepath.Base(filepath.Dir(dir))
	version, _ := strconv.Atoi(name[strings.LastIndexAny(name, "@-")+1:])
	return version
}

func inspectPostgres(ctx context.Context, dir string) (binaries, error) {
	if dir, err := filepath.Abs(dir); err == nil {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
			return binaries{}, err // the package has only clients
		}
	}
	output, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return binaries{}, err
	}
	// postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1); a beta is 18beta1.
	_, version, _ := strings.Cut(string(output), "(PostgreSQL) ")
	digits := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if digits <= 0 {
		return binaries{}, errors.New("not a Postgres server")
	}
	major, err := strconv.Atoi(version[:digits])
	return binaries{dir: dir, major: major}, err
}

func installPostgres() string {
	if runtime.GOOS == "darwin" {
		return "brew install postgresql@17"
	}
	for _, manager := range []struct{ program, command string }{
		{"apt-get", "apt-get install postgresql"},
		{"dnf", "dnf install postgresql-server"},
		{"apk", "apk add postgresql"},
		{"pacman", "pacman -S postgresql"},
		{"zypper", "zypper install postgresql-server"},
	} {
		if _, err := exec.LookPath(manager.program); err == nil {
			return manager.command
		}
	}
	return "your system's package postgresql"
}
