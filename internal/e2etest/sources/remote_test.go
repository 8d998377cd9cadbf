package sources

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

const remotePolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["stock__*", "test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h}
`

// anyone is an authenticator that uses the token as the identity.
type anyone struct{}

func (anyone) Authenticate(_ context.Context, _, token string) (runhttp.Viewer, error) {
	return runhttp.Viewer{Identity: token}, nil
}

// TestTypeScriptExample runs the example worker and the client of clients/typescript with a worker of Pawl between them. It makes a read, a call with an error,
// an effect with a signed approval and a call that is cancelled, and watches the run.
//
// PAWL_TEST_TYPESCRIPT is the directory in which clients/typescript was installed and compiled: see step_typescript of .ci/run.
func TestTypeScriptExample(t *testing.T) {
	t.Parallel()
	n := newNode(t, remotePolicy)
	n.key("stock-1")
	orders := filepath.Join(t.TempDir(), "orders.jsonl")
	address := n.serve("dist/examples/worker.js", "ORDERS="+orders)
	text, err := os.ReadFile(filepath.FromSlash("../../../examples/remotetools/tools.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n.work(strings.Replace(string(text), "http://127.0.0.1:8300/pawl", address, 1))

	w := n.World
	signer, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Store.RegisterKey(t.Context(), "acme", e2etest.Ann, signer.Key(), "user:root"); err != nil {
		t.Fatal(err)
	}
	pem, err := signer.Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.Secrets.Never("the key of Ann", signer.Private().Seed())
	keyFile := filepath.Join(t.TempDir(), "ann.pem")
	if err := os.WriteFile(keyFile, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	db := clientpg.Of(w.Store)
	handler, err := runhttp.New(runhttp.Options{Watcher: pawl.New(w.Temporal, db.Options()), Owners: db, Authenticator: anyone{}})
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(handler)
	defer pages.Close()

	client := func(script string) string {
		ctx, cancel := context.WithTimeout(t.Context(), e2etest.WaitTimeout)
		defer cancel()
		cmd := n.command(ctx, script, "TEMPORAL_ADDRESS="+w.Address, "TEMPORAL_NAMESPACE="+w.Namespace,
			"APPROVER_KEY="+keyFile, "PAWL_SERVE="+pages.URL, "PAWL_TOKEN=agent:buyer", "RUN=run-ts")
		var faults bytes.Buffer
		cmd.Stderr = &faults
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, faults.String())
		}
		return string(out)
	}
	out := client("dist/examples/order.js")
	order := toolspec.Invocation{ToolCallID: "order", Context: toolspec.Context{TenantID: "acme", RunID: "run-ts"}}
	for _, want := range []string{
		`item {"pieces":1200,"sku":"bolts"}`,
		"failed execution Error executing tool: there is no such item",
		"decided true",
		`ordered {"orderId":"o-` + order.Identity().InvocationID()[:8] + `"}`,
		"second cancelled",
		"tool-approval-request", "data-result",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the client does not print %q:\n%s", want, out)
		}
	}
	want := "again true\nother input: CallError conflict\nbad input: CallError validation\nno call: CallError conflict\n" +
		"unsigned: false true\nanother tenant: false\nsigned: true\ndenied: CallError approval_denied\n"
	if story := client("dist/test/story.js"); story != want {
		t.Errorf("the story is\n%s", story)
	}
	if text, err := os.ReadFile(orders); err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("the orders are %s, %v", text, err)
	}
}

const testTools = `
format: 1
workers:
  - {name: direct, url: "%[1]s", key: test-1}
  - {name: tapped, url: "%[2]s", key: test-1}
  - {name: stranger, url: "%[1]s", key: unknown-1}
tools:
  - {worker: direct, id: test__look, effect: read_only, result: text, <<}
  - {worker: direct, id: test__big, effect: read_only, result: text, <<}
  - {worker: direct, id: test__canary, effect: read_only, output: {type: object}, <<}
  - {worker: direct, id: test__leak, effect: read_only, output: {type: object}, <<}
  - {worker: direct, id: test__fetch, effect: read_only, result: text, connection: required, <<}
  - {worker: direct, id: test__steal, effect: read_only, result: text, connection: required, <<}
  - {worker: direct, id: test__bug, effect: external_side_effect, output: {type: object}, <<}
  - {worker: direct, id: test__hang, effect: read_only, result: text, timeoutSeconds: 2, <<}
  - {worker: direct, id: test__slow, effect: external_side_effect, result: text, probe: true, fences: true, <<}
  - {worker: tapped, id: test__tick, effect: external_side_effect, result: text, <<}
  - {worker: stranger, id: test__read, effect: read_only, result: text, <<}
  - {worker: stranger, id: test__write, effect: external_side_effect, result: text, <<}
`

// tap is a proxy in front of a worker. It keeps the last request, and can change the body of requests.
type tap struct {
	proxy  *httputil.ReverseProxy
	tamper atomic.Bool
	last   atomic.Pointer[http.Request]
	body   atomic.Pointer[[]byte]
}

func (p *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.last.Store(r.Clone(context.WithoutCancel(r.Context())))
	p.body.Store(&body)
	if p.tamper.Load() {
		body = bytes.Replace(body, []byte(`"args":{}`), []byte(`"args":[]`), 1)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.proxy.ServeHTTP(w, r)
}

// TestTypeScriptFaults: a worker in TypeScript is killed during a call, hangs, gives an answer that is too large or has another key, or a request to it is
// changed or sent again. Each call ends with a named error or after its probe, no effect happens twice, and text that redaction removes is not stored
// anywhere.
func TestTypeScriptFaults(t *testing.T) {
	t.Parallel()
	n := newNode(t, remotePolicy)
	n.key("test-1")
	canary := e2etest.NewCanary()
	n.Secrets.Never("the canary", []byte(canary)) // the world searches for it at its end
	ledger := filepath.Join(t.TempDir(), "ledger")
	environment := []string{"LEDGER=" + ledger, "CANARY=" + string(canary)}
	address := n.serve("dist/test/worker.js", environment...)
	n.addKey("unknown-1") // after the worker has read its keys
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	tapped := &tap{proxy: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})}
	proxy := httptest.NewServer(tapped)
	defer proxy.Close()
	common := `description: A test., version: "1", risk: low, redaction: {allow: [""]}, input: {type: object, properties: {}}`
	shown := strings.Replace(common, `""`, "/shown", 1)
	doc := strings.Replace(fmt.Sprintf(testTools, address, proxy.URL+"/pawl"), "test__canary, effect: read_only, output: {type: object}, <<",
		"test__canary, effect: read_only, output: {type: object}, "+shown, 1)
	w := n.World
	v, api := e2etest.NewVault(w), e2etest.NewService(t, "tok-"+string(e2etest.NewCanary()))
	v.Add("api", api.Provider(), api.Token)
	v.Grant("api", e2etest.Actor)
	n.work(strings.ReplaceAll(doc, "<<", common))

	call := func(id, tool string) toolspec.Invocation { return e2etest.Invocation(id, tool, `{}`) }
	want := func(inv toolspec.Invocation, code toolspec.Code, message string) {
		t.Helper()
		if r := w.Invoke(inv); r.OK || r.ErrorCode != code || !strings.Contains(r.SafeMessage, message) {
			t.Errorf("%s ends with %+v, want %s %q", inv.ToolID, r, code, message)
		}
	}
	if r := w.Invoke(call("look", "test__look")); !r.OK || string(r.Value) != `"seen"` {
		t.Errorf("%+v", r)
	}
	if r := w.Invoke(call("canary", "test__canary")); !r.OK || string(r.Value) != `{"shown":"yes"}` {
		t.Errorf("%+v", r)
	}
	if r := w.Invoke(call("leak", "test__leak")); strings.Contains(string(r.Value), n.secrets[0]) {
		t.Error("a result has the key of the worker")
	}
	connected := func(id, tool string) toolspec.Invocation {
		inv := call(id, tool)
		inv.Context.ConnectionID, inv.AllowedConnectionIDs = "api", []string{"api"}
		return inv
	}
	if r := w.Invoke(connected("fetch", "test__fetch")); !r.OK || string(r.Value) != `"welcome, refused"` || api.Requests() != 1 {
		t.Errorf("%+v", r)
	}
	if r := w.Invoke(connected("steal", "test__steal")); strings.Contains(string(r.Value), api.Token) {
		t.Error("a result has the token of the connection")
	}
	want(call("bug", "test__bug"), toolspec.CodeOutcomeUnknown, "")
	want(call("big", "test__big"), toolspec.CodeExecution, "too large")
	want(call("hang", "test__hang"), toolspec.CodeTimeout, "")
	w.Until(func() bool { return slices.Contains(w.Effects(ledger), "aborted") }, "the worker learns that nobody waits")
	want(call("read", "test__read"), toolspec.CodeExecution, "not signed")
	want(call("write", "test__write"), toolspec.CodeOutcomeUnknown, "")

	if r := w.Invoke(call("tick", "test__tick")); !r.OK {
		t.Errorf("%+v", r)
	}
	again, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(*tapped.body.Load()))
	if err != nil {
		t.Fatal(err)
	}
	again.Header = tapped.last.Load().Header
	resp, err := http.DefaultClient.Do(again)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Signature") != "" {
		t.Errorf("a request that is sent again gets %s", resp.Status)
	}
	tapped.tamper.Store(true)
	want(call("tampered", "test__tick"), toolspec.CodeOutcomeUnknown, "")
	if ticks := e2etest.AsJSON(w.Effects(ledger)); strings.Count(ticks, "tick") != 1 {
		t.Errorf("the ledger has %s", ticks)
	}

	slow := w.Start(call("slow", "test__slow"))
	effect := func() bool {
		return slices.ContainsFunc(w.Effects(ledger), func(line string) bool { return strings.HasPrefix(line, "effect-") })
	}
	w.Until(effect, "the tool has its effect")
	n.kill()
	n.serve("dist/test/worker.js", environment...)
	if r := w.Result(slow); !r.OK || string(r.Value) != `"made"` {
		t.Errorf("the call whose worker was killed ends with %+v", r)
	}
	if effects := e2etest.AsJSON(w.Effects(ledger)); strings.Count(effects, "effect-") != 1 {
		t.Errorf("the ledger has %s", effects)
	}
}

// node runs programs of clients/typescript.
type node struct {
	*e2etest.World
	root    string
	keys    string
	secrets []string
	port    string
	cmd     *exec.Cmd
}

func newNode(t *testing.T, policy string) *node {
	t.Helper()
	root := os.Getenv("PAWL_TEST_TYPESCRIPT")
	if root == "" {
		t.Skip("PAWL_TEST_TYPESCRIPT is not set: `.ci/run typescript` compiles clients/typescript and sets it")
	}
	return &node{World: e2etest.NewWorld(t, policy), root: root, keys: filepath.Join(t.TempDir(), "keys"), port: "0"}
}

// key writes the first key. The worker and Pawl read the same file.
func (n *node) key(id string) { n.addKey(id) }

func (n *node) addKey(id string) {
	n.T.Helper()
	raw := make([]byte, 32)
	_, _ = rand.Read(raw)
	text := base64.StdEncoding.EncodeToString(raw)
	n.secrets = append(n.secrets, text)
	n.Secrets.Never("the key "+id, []byte(text))
	if err := e2etest.Enter(n.keys, id+" "+text); err != nil {
		n.T.Fatal(err)
	}
}

func (n *node) command(ctx context.Context, script string, environment ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "node", filepath.FromSlash(script))
	cmd.Dir = n.root
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.T.TempDir()}, environment...)
	return cmd
}

// serve starts a worker and returns its address. A worker that is started again has the same address.
func (n *node) serve(script string, environment ...string) string {
	n.T.Helper()
	n.cmd = n.command(context.WithoutCancel(n.T.Context()), script, append(environment, "KEYS="+n.keys, "PORT="+n.port)...)
	n.cmd.Stderr = n.Log
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		n.T.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		n.T.Fatal(err)
	}
	n.T.Cleanup(n.kill)
	var address string
	if _, err := fmt.Fscanf(out, "listening %s\n", &address); err != nil {
		n.T.Fatalf("%s does not listen: %v\n%s", script, err, n.Log)
	}
	u, err := url.Parse(address)
	if err != nil {
		n.T.Fatal(err)
	}
	n.port = u.Port()
	return address
}

func (n *node) kill() { e2etest.Kill(n.cmd) }

// work starts a worker of Pawl with these tools.
func (n *node) work(doc string) {
	n.T.Helper()
	c := n.Config()
	c.RemoteTools, c.RemoteKeysFile = filepath.Join(n.T.TempDir(), "tools.yaml"), n.keys
	c.RemoteListen, c.KeyRing.File = "127.0.0.1:0", n.Keyring
	if err := os.WriteFile(c.RemoteTools, []byte(doc), 0o600); err != nil {
		n.T.Fatal(err)
	}
	n.WorkWith(c)
}
