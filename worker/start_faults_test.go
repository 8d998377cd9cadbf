package worker

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
)

// certificate is a self-signed certificate for 127.0.0.1, with its files.
type certificate struct {
	pair      tls.Certificate
	cert, key string
}

func newCertificate(t *testing.T) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := certificate{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	certText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	for name, text := range map[string][]byte{c.cert: certText, c.key: keyText} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c.pair, err = tls.X509KeyPair(certText, keyText); err != nil {
		t.Fatal(err)
	}
	return c
}

// withTLS returns the address of a proxy with TLS in front of a server.
func (c certificate) withTLS(t *testing.T, target string) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{c.pair}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				server, err := (&net.Dialer{}).DialContext(context.WithoutCancel(t.Context()), "tcp", target)
				if err != nil {
					return
				}
				defer server.Close()
				go func() {
					_, _ = io.Copy(server, conn)
					_ = server.Close()
				}()
				_, _ = io.Copy(conn, server)
			}()
		}
	}()
	return listener.Addr().String()
}

// postgresWithTLS starts a Postgres that has TLS.
func postgresWithTLS(t *testing.T, c certificate) *devstack.Postgres {
	t.Helper()
	own := devstacktest.OwnPostgres(t)
	settings := map[string]string{}
	conn, err := pgx.Connect(t.Context(), own.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	// The server reads its key from its own directory, because it may run under another account.
	for name, file := range map[string]string{"server.crt": c.cert, "server.key": c.key} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var loid uint32
		if err := conn.QueryRow(t.Context(), `SELECT lo_from_bytea(0, $1)`, text).Scan(&loid); err != nil {
			t.Fatal(err)
		}
		var dir string
		if err := conn.QueryRow(t.Context(), `SELECT current_setting('data_directory')`).Scan(&dir); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), `SELECT lo_export($1, $2)`, loid, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		settings[name] = filepath.Join(dir, name)
		if _, err := conn.Exec(t.Context(), `COPY (SELECT 1) TO PROGRAM 'cat >/dev/null && chmod 600 `+settings[name]+`'`); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{`ALTER SYSTEM SET ssl = on`, `SELECT pg_reload_conf()`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return own
}

// changeURL returns a database URL after the change.
func changeURL(t *testing.T, raw string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func parameter(name, value string) func(*url.URL) {
	return func(u *url.URL) {
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
	}
}

// makeRole makes a database role without privileges, and returns a change that makes a URL connect as this role.
func makeRole(t *testing.T, w *world, password string) func(*url.URL) {
	t.Helper()
	name := "r_" + strings.ToLower(rand.Text()[:12])
	execute := func(sql string) {
		conn, err := pgx.Connect(context.WithoutCancel(t.Context()), w.config.DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		if _, err := conn.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
			t.Fatal(err)
		}
	}
	execute(`CREATE ROLE ` + name + ` LOGIN PASSWORD '` + password + `'`)
	t.Cleanup(func() { execute(`DROP ROLE ` + name) })
	return func(u *url.URL) { u.User = url.UserPassword(name, password) }
}

// TestStartFaultsOfTheDatabase: each fault of the database at a start has its message: in the log while the
// worker waits, or in the error with which the start ends.
func TestStartFaultsOfTheDatabase(t *testing.T) {
	t.Parallel()
	const canary = "s3same-of-a-role"
	w := newWorld(t)
	secured := postgresWithTLS(t, newCertificate(t))
	for name, c := range map[string]struct {
		url   string
		waits bool
		says  string
	}{
		"wrong password": {changeURL(t, w.config.DatabaseURL, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), canary) }), true,
			"the database refuses the user or the password (28P01): correct them in PAWL_DATABASE_URL"},
		"unknown user": {changeURL(t, w.config.DatabaseURL, func(u *url.URL) { u.User = url.UserPassword("nobody", canary) }), true, "refuses the user or the password (28P01)"},
		"unknown database": {changeURL(t, w.config.DatabaseURL, func(u *url.URL) { u.Path = "/nowhere" }), true,
			"the database does not exist (3D000): create it"},
		"nothing listens": {changeURL(t, w.config.DatabaseURL, func(u *url.URL) { u.Host = "127.0.0.1:1" }), true, "no server listens at the address of PAWL_DATABASE_URL"},
		"no such host":    {changeURL(t, w.config.DatabaseURL, func(u *url.URL) { u.Host = "nowhere.invalid:5432" }), true, "the host of PAWL_DATABASE_URL does not exist"},
		"no TLS": {changeURL(t, w.config.DatabaseURL, parameter("sslmode", "require")), true,
			"the database has no TLS, and sslmode in PAWL_DATABASE_URL requires it"},
		"unknown authority": {changeURL(t, secured.URL(), parameter("sslmode", "verify-full")), true, "the certificate of the database is of an unknown authority"},
		"no such file":      {changeURL(t, secured.URL(), func(u *url.URL) { u.RawQuery = "sslmode=verify-full&sslrootcert=/nowhere/ca.pem" }), false, "names a file that does not exist: correct sslrootcert"},
		"no privilege":      {changeURL(t, w.config.DatabaseURL, makeRole(t, w, canary)), false, `lacks a privilege that "check schema" needs (42501): grant it`},
		"no address":        {"host", false, "the database URL cannot be read"},
		"older schema":      {devstacktest.Postgres(t), false, "run `pawl migrate up`"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *w
			own.t, own.log = t, &devstacktest.Log{}
			own.config.DatabaseURL = c.url
			own.refusesWith(c.waits, c.says)
			if strings.Contains(own.log.String(), canary) {
				t.Errorf("the password is in the log:\n%s", own.log)
			}
		})
	}
}

// refusesWith starts a worker. If waits is set, the log of the waiting worker must have the sentence. Otherwise
// the start must end with it.
func (w *world) refusesWith(waits bool, sentence string) {
	w.t.Helper()
	w.config.Log = logTo(w.log)
	r := w.start()
	if !waits {
		r.expectError(sentence)
		return
	}
	// The log has quoted texts.
	r.waitForLog(strings.ReplaceAll(sentence, `"`, `\"`))
	if err := r.stop(); err == nil || !strings.Contains(err.Error(), "stopped while waiting") {
		w.t.Errorf("it ended with %v", err)
	}
}

// TestANewerSchemaIsTaken: two releases share a database during an upgrade.
func TestANewerSchemaIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn, err := pgx.Connect(t.Context(), w.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`); err != nil {
		t.Fatal(err)
	}
	w.start().waitForLog(runs)
}

// TestStartFaultsOfTemporal: each fault of Temporal at a start has its message, as in
// TestStartFaultsOfTheDatabase.
func TestStartFaultsOfTemporal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secured := newCertificate(t)
	proxy := secured.withTLS(t, w.config.Temporal.HostPort)
	trusted := x509.NewCertPool()
	trusted.AddCert(secured.leaf(t))
	for name, c := range map[string]struct {
		change func(*client.Options)
		waits  bool
		says   string
	}{
		"nothing listens": {func(o *client.Options) { o.HostPort = "127.0.0.1:1" }, true, "no server listens at TEMPORAL_ADDRESS"},
		"no such host":    {func(o *client.Options) { o.HostPort = "nowhere.invalid:7233" }, true, "the host of TEMPORAL_ADDRESS does not exist"},
		"wrong namespace": {func(o *client.Options) { o.Namespace = "nowhere" }, false, `no namespace "nowhere": correct TEMPORAL_NAMESPACE`},
		"no TLS":          {func(o *client.Options) { o.ConnectionOptions.TLS = &tls.Config{} }, true, "Temporal has no TLS, and the client requires it"}, //nolint:gosec // a test
		"TLS by an API key": {func(o *client.Options) { o.Credentials = client.NewAPIKeyStaticCredentials("key") }, true,
			"Temporal has no TLS, and the client requires it"},
		"needs TLS": {func(o *client.Options) { o.HostPort = proxy }, true, "Temporal requires TLS, and the client has none"},
		"unknown authority": {func(o *client.Options) { o.HostPort, o.ConnectionOptions.TLS = proxy, &tls.Config{} }, true, //nolint:gosec // a test
			"the certificate of Temporal is of an unknown authority"},
		"another host": {func(o *client.Options) {
			o.HostPort, o.ConnectionOptions.TLS = proxy, &tls.Config{RootCAs: trusted, ServerName: "elsewhere.test"} //nolint:gosec // a test
		}, true, "the certificate of Temporal is for another host"},
		"refused credentials": {func(o *client.Options) { o.HostPort = refusingServer(t, codes.Unauthenticated) }, true,
			"Temporal refuses the credentials (Unauthenticated): correct TEMPORAL_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *w
			own.t, own.log = t, &devstacktest.Log{}
			c.change(&own.config.Temporal)
			own.refusesWith(c.waits, c.says)
		})
	}
	t.Run("all is right with TLS", func(t *testing.T) {
		t.Parallel()
		own := *w
		own.t, own.log = t, &devstacktest.Log{}
		own.config.Log = logTo(own.log)
		own.config.Temporal.HostPort, own.config.Temporal.ConnectionOptions.TLS = proxy, &tls.Config{RootCAs: trusted} //nolint:gosec // a test
		own.start().waitForLog(runs)
	})
}

func (c certificate) leaf(t *testing.T) *x509.Certificate {
	t.Helper()
	leaf, err := x509.ParseCertificate(c.pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// refusingServer returns the address of a gRPC server that refuses every request, as Temporal Cloud refuses a wrong API key.
func refusingServer(t *testing.T, code codes.Code) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return status.Error(code, "canary") }))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// TestANamespaceThatIsNew: only some seconds after a namespace was made, every part of Temporal knows it. The
// worker waits for this.
func TestANamespaceThatIsNew(t *testing.T) {
	t.Parallel()
	for _, attributes := range []bool{true, false} {
		w := newWorld(t)
		w.config.SearchAttributes = attributes
		w.config.Temporal.Namespace = "new-" + strings.ToLower(rand.Text()[:12])
		// If the server was asked for the namespace before it existed, it remembers this for a second.
		if _, err := w.temporal.WorkflowService().DescribeTaskQueue(t.Context(), &workflowservice.DescribeTaskQueueRequest{
			Namespace: w.config.Temporal.Namespace, TaskQueue: &taskqueue.TaskQueue{Name: toolspec.TaskQueue},
		}); err == nil {
			t.Fatal("there is a namespace that nobody has made")
		}
		if _, err := w.temporal.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
			Namespace: w.config.Temporal.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		}); err != nil {
			t.Fatal(err)
		}
		w.start().waitForLog(runs)
		if !w.log.Has("the worker cannot start yet", "is new") {
			t.Log("the server knew the namespace at once")
		}
	}
}

func logTo(log *devstacktest.Log) *slog.Logger { return slog.New(slog.NewTextHandler(log, nil)) }
