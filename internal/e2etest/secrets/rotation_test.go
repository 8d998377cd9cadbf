package secrets

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

// TestKeyRotation: all secrets are sealed with a new key while calls use them and workers refresh them. The worker that does it is killed half-way, and another
// worker continues. No call fails, and no version and no approval changes. The old key can be removed after the end of the rotation, and not earlier.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	const secrets = 4_000
	const used, refreshed = 20, 5 // calls use the first 20 connections, and the last 5 of these are also refreshed
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	v, token := e2etest.NewVault(w), e2etest.NewCanary()
	service := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+string(token) {
			rw.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(service.Close)
	u, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	for i := range used {
		id := fmt.Sprint("c", i)
		v.Add(id, broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{u.Host}, Insecure: true}, string(token))
		v.Grant(id, e2etest.Actor)
	}
	copies(v, "c0", string(token), secrets-used)
	old := v.Ring.Primary()
	children := map[int]*exec.Cmd{}
	for range 2 {
		child := w.ServeInChild()
		children[child.Process.Pid] = child
	}

	calls := callers(w, 3, func(n int) (id string, failed error) {
		id = fmt.Sprint("c", n%used)
		r, err := w.Pawl.Invoke(w.T.Context(), e2etest.Over(e2etest.Invocation(fmt.Sprint("call-", n), "test__read",
			fmt.Sprintf(`{"text":%q}`, service.URL)), id))
		if err == nil && string(r.Value) != `{"text":"200 "}` {
			err = fmt.Errorf("it answers %s", r.Value)
		}
		return id, err
	})
	w.Until(func() bool { return calls.ended.Load() > 10 }, "calls end")
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	refreshes := callers(w, 1, func(n int) (string, error) {
		select {
		case <-pace.C:
		case <-w.T.Context().Done(): // the test has failed, and its ticker has stopped
			return "", nil
		}
		id := fmt.Sprint("c", used-1-n%refreshed)
		return id, refresh(v, id, string(token))
	})

	began := time.Now()
	var added int64
	if err := seal.Change(v.File, nil, func(r *seal.Ring) (next *seal.Ring, err error) {
		next, added, err = r.Add()
		return next, err
	}); err != nil {
		t.Fatal(err)
	}
	if err := seal.Change(v.File, nil, func(r *seal.Ring) (*seal.Ring, error) { return r.Promote(added) }); err != nil {
		t.Fatal(err)
	}
	if text, err := pawlCommand(w, "keyring", "retire", v.File, fmt.Sprint(old)); err == nil || !strings.Contains(text, "is in use: ") {
		t.Errorf("the old key can go: %s", text)
	}
	release := holdSecret(w, copyID(secrets/2))
	ctx, cancel := context.WithTimeout(t.Context(), 5*e2etest.WaitTimeout)
	defer cancel()
	rotation := w.Child(ctx, e2etest.ChildCommand, "keyring", "rotate", v.File)
	var printed bytes.Buffer
	rotation.Stdout, rotation.Stderr = &printed, w.Log
	if err := rotation.Start(); err != nil {
		t.Fatal(err)
	}
	killed := killResealer(w, children, added)
	half := sealedWith(v, added)
	release()
	if half < int64(secrets)/4 || half > int64(secrets)*3/4 {
		t.Errorf("worker %d was killed when %d of %d secrets were sealed anew", killed, half, secrets)
	}
	if err := rotation.Wait(); err != nil {
		t.Errorf("pawl keyring rotate: %v", err)
	}
	took := time.Since(began)
	before := calls.ended.Load()
	w.Until(func() bool { return calls.ended.Load() > before+10 }, "calls go on")
	calls.stop()
	refreshes.stop()
	t.Logf("%d secrets in %s, the worker killed at %d; %d calls and %d refreshes meanwhile; %s",
		secrets, took.Round(time.Millisecond), half, calls.ended.Load(), refreshes.ended.Load(), strings.TrimSpace(printed.String()))
	if all := sealedWith(v, added); all != int64(secrets) || sealedWith(v, old) != 0 {
		t.Errorf("%d secrets are sealed with the new key, %d with the old one", all, sealedWith(v, old))
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM connection_secrets s JOIN connections n USING (tenant_id, connection_id)
		WHERE s.version <> n.secret_version OR n.generation <> 1 OR connection_id LIKE 'x%' AND s.version <> 1`); n != 0 {
		t.Errorf("%d secrets are not what they were", n)
	}
	// Every secret opens without the old key.
	if text, err := pawlCommand(w, "keyring", "retire", v.File, fmt.Sprint(old)); err != nil {
		t.Errorf("the old key cannot go: %v, %s", err, text)
	}
	ring, err := seal.Load(v.File, nil)
	if err != nil || len(ring.Keys()) != 1 {
		t.Fatalf("%v, %+v", err, ring.Keys())
	}
	var traces []e2etest.Trace
	for _, e := range w.History(upkeep.ResealID(added), "").GetEvents() {
		traces = append(traces, w.EventTraces(upkeep.ResealID(added), e)...)
	}
	traces = append(append(traces, w.Rows()...), e2etest.Trace{Where: "log", Text: []byte(w.Log.String())},
		e2etest.Trace{Where: "output", Text: printed.Bytes()})
	if where := token.Find(traces); len(where) > 0 {
		t.Errorf("the token stands in %q", where)
	}
	if len(traces) < secrets {
		t.Errorf("only %d traces were searched", len(traces))
	}
	for _, id := range []string{"c0", "c19"} {
		opens(w, ring, id)
	}
}

// copyID returns the id of connection number n that copies has made.
func copyID(n int) string { return fmt.Sprintf("x%06d", n) }

// copies makes n connections like another one, each with its own sealed secret.
func copies(v *e2etest.Vault, like, token string, n int) {
	v.W.T.Helper()
	b := broker.New(nil, v.Ring, broker.Options{})
	r, _, err := v.W.Store.ConnectionSecret(v.W.T.Context(), "acme", like)
	if err != nil {
		v.W.T.Fatal(err)
	}
	var ids []string
	var bytes [][]byte
	for i := range n {
		credential := broker.NewCredential(map[string]broker.Secret{broker.FieldToken: capability.NewSecret([]byte(token))})
		sealed, err := b.Seal(credential, broker.At("acme", copyID(i), r.Provider, r.Hosts, 1), time.Time{})
		if err != nil {
			v.W.T.Fatal(err)
		}
		ids, bytes = append(ids, copyID(i)), append(bytes, sealed.Bytes)
	}
	e2etest.Query[int](v.W, `INSERT INTO connections (tenant_id, connection_id, provider, settings, hosts, scopes, added_by)
		SELECT tenant_id, id, provider, settings, hosts, scopes, added_by FROM connections, unnest($2::text[]) id WHERE connection_id = $1 RETURNING 1`, like, ids)
	e2etest.Query[int](v.W, `INSERT INTO connection_secrets (tenant_id, connection_id, version, key_id, sealed)
		SELECT 'acme', id, 1, $1, sealed FROM unnest($2::text[], $3::bytea[]) s (id, sealed) RETURNING 1`, v.Ring.Primary(), ids, bytes)
}

// refresh seals the same secret of a connection as a new version, as a worker does when it refreshes a token. A secret that was replaced meanwhile is not
// changed.
func refresh(v *e2etest.Vault, connectionID, token string) error {
	sealer, err := seal.OpenFile(v.File, nil, nil)
	if err != nil {
		return err
	}
	ctx := v.W.T.Context()
	r, _, err := v.W.Store.ConnectionSecret(ctx, "acme", connectionID)
	if err != nil {
		return err
	}
	if _, err := sealer.Open(r.Sealed.Bytes, r.Sealed.Binding); err != nil {
		return err
	}
	at := r.Sealed.Binding
	at.Version++
	credential := broker.NewCredential(map[string]broker.Secret{broker.FieldToken: capability.NewSecret([]byte(token))})
	sealed, err := broker.New(nil, sealer, broker.Options{}).Seal(credential, at, time.Time{})
	if err != nil {
		return err
	}
	_, err = v.W.Store.ReplaceSecret(ctx, sealed, 0, false, "e2etest")
	return err
}

// sealedWith counts the secrets that are sealed with a key.
func sealedWith(v *e2etest.Vault, keyID int64) int64 {
	v.W.T.Helper()
	uses, err := v.W.Store.SecretsByKey(v.W.T.Context())
	if err != nil {
		v.W.T.Fatal(err)
	}
	if i := slices.IndexFunc(uses, func(u connections.KeyUse) bool { return u.KeyID == keyID }); i >= 0 {
		return uses[i].Secrets
	}
	return 0
}

// opens fails the test unless the secret of a connection opens with a key ring.
func opens(w *e2etest.World, ring *seal.Ring, connectionID string) {
	w.T.Helper()
	r, _, err := w.Store.ConnectionSecret(w.T.Context(), "acme", connectionID)
	if err == nil {
		_, err = ring.Open(r.Sealed.Bytes, r.Sealed.Binding)
	}
	if err != nil {
		w.T.Errorf("%s: %v", connectionID, err)
	}
}

// pawlCommand runs one command of the pawl program and returns everything that it printed.
func pawlCommand(w *e2etest.World, args ...string) (string, error) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	text, err := w.Child(ctx, e2etest.ChildCommand, args...).CombinedOutput()
	return string(text), err
}

// calling counts what several callers have done, and stops them.
type calling struct {
	ended atomic.Int64
	stop  func()
}

// callers starts n goroutines that call do until stop is called. The test fails if do fails.
func callers(w *e2etest.World, n int, do func(n int) (string, error)) *calling {
	c, stopped := &calling{}, make(chan struct{})
	var numbers atomic.Int64
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for {
				select {
				case <-stopped:
					return
				case <-w.T.Context().Done():
					return
				default:
				}
				number := int(numbers.Add(1))
				if what, err := do(number); err != nil && w.T.Context().Err() == nil {
					w.T.Errorf("%d, %s: %v", number, what, err)
				}
				c.ended.Add(1)
			}
		})
	}
	c.stop = sync.OnceFunc(func() {
		close(stopped)
		all.Wait()
	})
	w.T.Cleanup(c.stop)
	return c
}

// holdSecret locks the row of a secret until release is called.
func holdSecret(w *e2etest.World, connectionID string) (release func()) {
	w.T.Helper()
	ctx := context.WithoutCancel(w.T.Context())
	conn, err := pgx.Connect(ctx, w.Database)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = conn.Close(ctx) })
	if _, err := conn.Exec(ctx, `BEGIN`); err != nil {
		w.T.Fatal(err)
	}
	if _, err := conn.Exec(ctx, `SELECT FROM connection_secrets WHERE connection_id = $1 FOR UPDATE`, connectionID); err != nil {
		w.T.Fatal(err)
	}
	return func() {
		if _, err := conn.Exec(ctx, `COMMIT`); err != nil {
			w.T.Fatal(err)
		}
	}
}

// killResealer kills the worker that seals the secrets again, when it waits for a locked secret.
func killResealer(w *e2etest.World, children map[int]*exec.Cmd, keyID int64) (pid int) {
	w.T.Helper()
	meets := func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR NO KEY UPDATE OF s%'`) > 0
	}
	// The worker seals half of the secrets before it reaches the locked one, which takes time.
	if !e2etest.Eventually(w.T.Context(), meets) {
		w.Until(meets, "a worker meets the secret that is held")
	}
	for _, a := range w.Describe(upkeep.ResealID(keyID)).GetPendingActivities() {
		_, rest, _ := strings.Cut(a.GetLastWorkerIdentity(), ":")
		number, _, _ := strings.Cut(rest, "@")
		pid, _ = strconv.Atoi(number)
	}
	child, ok := children[pid]
	if !ok {
		w.T.Fatalf("worker %d is none of ours", pid)
	}
	e2etest.Kill(child)
	return pid
}
