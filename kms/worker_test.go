package kms_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// programs runs programs in one environment.
type programs struct {
	t   *testing.T
	env []string
	log devstacktest.Log
}

func (p *programs) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), os.Args[0], args...) //nolint:gosec // this binary
	cmd.Env = append(append(os.Environ(), p.env...), programEnv+"="+program)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// run runs a command and returns what it said, on both streams.
func (p *programs) run(program string, args ...string) (out, all string, err error) {
	var stdout bytes.Buffer
	var both devstacktest.Log
	cmd := p.command(program, args...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, &both), &both
	err = cmd.Run()
	return stdout.String(), both.String(), err
}

// must is run for what has to go well.
func (p *programs) must(args ...string) string {
	p.t.Helper()
	out, all, err := p.run("pawl-kms", args...)
	if err != nil {
		p.t.Fatalf("pawl-kms %s: %v\n%s", strings.Join(args, " "), err, all)
	}
	return out
}

// settles wants a ring that was just changed to be given more than the fifteen seconds that an answer costs which a KMS did not give.
func (p *programs) settles(ring string) {
	p.t.Helper()
	p.must("keyring", "add", ring)
	var keys []struct{ ID int64 }
	if err := json.Unmarshal([]byte(p.must("keyring", "list", ring, "--json")), &keys); err != nil || len(keys) != 3 {
		p.t.Fatalf("%v: %v", keys, err)
	}
	// Changed at the very moment that it is looked at, however long a program takes to start.
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(ring, later, later); err != nil {
		p.t.Fatal(err)
	}
	var said devstacktest.Log
	retire := p.command("pawl-kms", "keyring", "retire", ring, strconv.FormatInt(keys[1].ID, 10))
	retire.Stdout, retire.Stderr = &said, &said
	if err := retire.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- retire.Wait() }()
	const looking = "checking again in "
	for tick := time.NewTicker(50 * time.Millisecond); !strings.Contains(said.String(), looking); {
		select {
		case <-tick.C:
		case err := <-ended:
			p.t.Fatalf("the key is gone at once: %v\n%s", err, said.String())
		}
	}
	_ = retire.Process.Signal(syscall.SIGTERM)
	<-ended
	_, after, _ := strings.Cut(said.String(), looking)
	text, _, _ := strings.Cut(after, "\n")
	if wait, err := time.ParseDuration(text); err != nil || wait <= 15*time.Second {
		p.t.Errorf("it waits %q, %v", text, err)
	}
}

// TestWorkerOpensWrappedRing: a connection is sealed with a ring that a key of Vault wraps, a worker of its own process opens it with the
// ring and follows it to another key, and neither starts without the KMS, nor with another one.
func TestWorkerOpensWrappedRing(t *testing.T) {
	t.Parallel()
	const token = "ghp-not-really-a-token-1234"
	v := newTransit(t)
	var mu sync.Mutex
	var got []string
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("Authorization"))
	}))
	t.Cleanup(service.Close)
	dir := t.TempDir()
	ring := filepath.Join(dir, "ring.json")
	providers := filepath.Join(dir, "providers.yaml")
	secret := filepath.Join(dir, "token.txt")
	for file, text := range map[string]string{
		providers: fmt.Sprintf("id: test\nkind: bearer\ninsecure: true\nhosts: [%q]\n", strings.TrimPrefix(service.URL, "http://")), secret: token,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &programs{t: t, env: []string{
		"PAWL_DATABASE_URL=" + devstacktest.Postgres(t), "TEMPORAL_ADDRESS=" + devstacktest.Temporal(t), "TEMPORAL_CONFIG_FILE=" + os.DevNull,
		"PAWL_KEYRING_FILE=" + ring, "PAWL_KEYRING=", "PAWL_TENANT=acme", "XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "PAWL_SWEEP_EVERY=off",
		"PAWL_WORKSPACE=" + dir,
	}}
	for name, value := range v.env {
		p.env = append(p.env, name+"="+value)
	}
	p.must("migrate", "up")

	// A clear ring that becomes a wrapped one still opens what it has sealed.
	p.must("keyring", "new", ring)
	p.must("connections", "add", "c1", "--provider", "test", "--providers", providers, "--secret-file", secret)
	p.must("keyring", "wrap", ring, "--kms", v.key("one"))
	if text, err := os.ReadFile(ring); err != nil || strings.Contains(string(text), "primaryKeyId") {
		t.Fatalf("%s, %v", text, err)
	}
	p.must("connections", "test", "c1")
	mu.Lock()
	if len(got) != 1 || got[0] != "Bearer "+token {
		t.Errorf("the service got %q", got)
	}
	mu.Unlock()

	worker := p.command("pawl-kms", "worker")
	worker.Stdout, worker.Stderr = &p.log, &p.log
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		_ = worker.Process.Signal(syscall.SIGTERM)
		_ = worker.Wait()
	})
	t.Cleanup(stop)

	// The worker opens with the old key what it seals with one that came into the ring while it ran.
	var added struct{ KeyID int64 }
	if err := json.Unmarshal([]byte(p.must("keyring", "add", ring, "--json")), &added); err != nil {
		t.Fatal(err)
	}
	key := strconv.FormatInt(added.KeyID, 10)
	p.must("keyring", "promote", ring, key)
	deadline := time.Now().Add(3 * time.Minute)
	for tick := time.NewTicker(100 * time.Millisecond); ; <-tick.C { // until it has seen the file
		out, all, err := p.run("pawl-kms", "keyring", "rotate", ring, "--json")
		if err == nil && strings.Contains(out, `"resealed": 1`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v: %s\n%s", err, all, p.log.String())
		}
	}
	if out := p.must("keyring", "list", ring, "--count", "--json"); !strings.Contains(out, key) {
		t.Errorf("%s", out)
	}
	p.must("connections", "test", "c1")
	asked := v.times()
	p.must("connections", "list")
	if v.times() != asked {
		t.Error("the KMS is asked for what needs no key")
	}
	p.settles(ring)
	stop()
	for _, word := range []string{token, vaultToken} {
		if strings.Contains(p.log.String(), word) {
			t.Errorf("the worker logs %q:\n%s", word, p.log.String())
		}
	}

	// Who cannot unwrap the ring does not start, and says why.
	refused := func(program, want string, env ...string) {
		t.Helper()
		q := &programs{t: t, env: append(append([]string{}, p.env...), env...)}
		_, all, err := q.run(program, "worker")
		if err == nil || !strings.Contains(all, want) || strings.Contains(all, vaultToken) {
			t.Errorf("%v: %s, want %q", err, all, want)
		}
	}
	refused("pawl", "the key ring is wrapped by "+v.key("one")+", and this program speaks with no KMS: use pawl-kms")
	refused("pawl-kms", "PAWL_KMS_KEY names another key, hcvault://other/transit/keys/x", "PAWL_KMS_KEY=hcvault://other/transit/keys/x")
	refused("pawl-kms", "which does not unwrap it: the service answers 403", "VAULT_TOKEN=hvs.another")
}
