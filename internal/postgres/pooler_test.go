package postgres_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// pooled starts PgBouncer in transaction mode in front of the database of b, and returns the address of the database through it.
func (b bench) pooled() string {
	b.t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		b.t.Skip("PgBouncer is not installed: apt-get install pgbouncer")
	}
	u, err := url.Parse(b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	free, err := (&net.ListenConfig{}).Listen(b.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	address := free.Addr().(*net.TCPAddr)
	if err := free.Close(); err != nil {
		b.t.Fatal(err)
	}
	password, _ := u.User.Password()
	file := filepath.Join(b.t.TempDir(), "pgbouncer.ini")
	// The pool has fewer sessions of the server than there are clients, so that a client gets sessions that other clients have used.
	config := fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s password='%s'\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nauth_type = any\n"+
		"pool_mode = transaction\ndefault_pool_size = 2\nunix_socket_dir =\n", u.Hostname(), u.Port(), u.User.Username(), password, address.Port)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		b.t.Fatal(err)
	}
	args := []string{file}
	if os.Getuid() == 0 {
		args = []string{"-u", "nobody", file}
	}
	// The context of the test ends before the cleanups of the test, and its end stops the process.
	process := exec.CommandContext(b.t.Context(), program, args...)
	if err := process.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = process.Wait() })
	u.Host = address.String()
	until(b.t, "PgBouncer listens", func() bool {
		conn, err := (&net.Dialer{}).DialContext(b.t.Context(), "tcp", u.Host)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return u.String()
}

// TestThroughAPooler checks that a store works through PgBouncer in transaction mode, with and without the address of the server itself.
func TestThroughAPooler(t *testing.T) {
	b := open(t)
	address := b.pooled()
	for name, direct := range map[string]string{"pooler": "", "direct": b.url} {
		s, err := postgres.Open(t.Context(), address, postgres.Options{MaxConns: 8, DirectURL: direct})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Notifies() != (direct != "") {
			t.Errorf("%s: notifies: %v", name, s.Notifies())
		}
		_, err = s.Migrate(t.Context())
		if direct == "" && !errors.Is(err, db.ErrPooler) || direct != "" && err != nil {
			t.Errorf("%s: migrate: %v", name, err)
		}
		if err := s.EnsurePartitions(t.Context(), 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// More clients than sessions of the server, so that they change between transactions.
		together(8, func(i int) {
			call := fmt.Sprint(name, i)
			if _, err := s.Admit(t.Context(), admitRow(call)); err != nil {
				t.Errorf("%s: %v", call, err)
				return
			}
			if _, err := s.Settle(own(t), settleIn(call, 1)); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		})
		s.Close()
	}
	if n := value[int](b, `SELECT count(*) FROM invocations WHERE state = 'settled'`); n != 16 {
		t.Errorf("%d settled calls", n)
	}
}
