package devstacktest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// poolerStart is how long PgBouncer may take to listen.
const poolerStart = time.Minute

// Pooler starts PgBouncer in transaction mode in front of a database, and returns the URL of the database through it. Without PgBouncer it skips the
// test, and in CI the test fails.
//
// The pool has only two sessions of the server, so that a client gets sessions that other clients have used.
func Pooler(t testing.TB, database string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("PgBouncer is not installed: apt-get install pgbouncer")
	}
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	address := FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	password, _ := u.User.Password()
	file := filepath.Join(t.TempDir(), "pgbouncer.ini")
	config := fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s password='%s'\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nauth_type = any\n"+
		"pool_mode = transaction\ndefault_pool_size = 2\nunix_socket_dir =\n", u.Hostname(), u.Port(), u.User.Username(), password, port)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{file}
	if os.Getuid() == 0 {
		args = []string{"-u", "nobody", file}
	}
	// The context of the test ends before the cleanups of the test, and its end stops the process.
	process := exec.CommandContext(t.Context(), program, args...)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Wait() })
	u.Host = address
	listens := func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	if !Eventually(t.Context(), poolerStart, listens) {
		t.Fatal("PgBouncer does not listen")
	}
	return u.String()
}
