package secrets

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/codec"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// codecKey returns a line of a key ring with a new key.
func codecKey(id string) string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	return id + " " + base64.StdEncoding.EncodeToString(secret) + "\n"
}

// encrypting makes the client of the world and its later workers use these keys, and returns their codec.
func encrypting(w *e2etest.World, keys string) converter.PayloadCodec {
	w.T.Helper()
	ring, err := codec.ParseRing([]byte(keys))
	if err != nil {
		w.T.Fatal(err)
	}
	for key := range ring.Secrets() {
		w.Secrets.Never(key.Label, key.Secret)
	}
	c := codec.New(ring, codec.Options{})
	data, failures := codec.Converters(c)
	temporal, err := client.NewClientFromExistingWithContext(w.T.Context(), w.Temporal, client.Options{
		Namespace: w.Namespace, DataConverter: data, FailureConverter: failures,
	})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(temporal.Close)
	w.Pawl = pawl.New(temporal, pawl.Options{Outputs: w.Store, DataConverter: data})
	w.Codec, w.Keys, w.Sealed = c, keys, temporal
	return c
}

// raw returns the history of a call as the server stores it.
func raw(w *e2etest.World, workflowID string) []byte {
	w.T.Helper()
	text, err := proto.Marshal(w.History(workflowID, ""))
	if err != nil {
		w.T.Fatal(err)
	}
	return text
}

// TestPayloadsAreEncrypted: with keys, Temporal stores only the id, the kind and the search attributes of a call unencrypted.
func TestPayloadsAreEncrypted(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	encrypting(w, codecKey("k1")+codecKey("globex/g1"))
	w.Work(worker.Tools(
		e2etest.Tool("test__fast", e2etest.Echo, e2etest.Fast), e2etest.Tool("test__risky", e2etest.Echo, e2etest.Idempotent, e2etest.Risky),
		e2etest.Tool("test__broken", func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{}, toolspec.Safef("it says no")
		}, e2etest.Idempotent, e2etest.Attempts(1)),
	))
	asked := map[string]string{}
	call := func(id, toolID, tenant string) (string, *pawl.Call) {
		inv := e2etest.Invocation(id, toolID, "")
		text := "plaintext-" + string(e2etest.NewCanary())
		inv.Args, inv.Context.TenantID = json.RawMessage(`{"text":"`+text+`"}`), tenant
		started := w.Start(inv)
		asked[started.WorkflowID] = text
		return text, started
	}
	text, started := call("fast", "test__fast", "acme")
	e2etest.WantText(t, w.Result(started), text)
	text, started = call("other", "test__fast", "globex")
	e2etest.WantText(t, w.Result(started), text)
	_, started = call("broken", "test__broken", "acme")
	e2etest.WantCode(t, w.Result(started), toolspec.CodeExecution)
	text, started = call("risky", "test__risky", "acme")
	w.Approve(started.WorkflowID) // this makes a query, and an update with an answer
	e2etest.WantText(t, w.Result(started), text)

	for workflowID, text := range asked {
		history := raw(w, workflowID)
		for _, clear := range []string{text, "safeMessage", "inputDigest", "willAuthorize", "find or make the record", "it says no", e2etest.Ann,
			e2etest.Actor} {
			if bytes.Contains(history, []byte(clear)) {
				t.Errorf("%s has %q in clear", workflowID, clear)
			}
		}
		var events any
		if err := json.Unmarshal([]byte(protojson.Format(w.History(workflowID, ""))), &events); err != nil {
			t.Fatal(err)
		}
		if where := plainPayloads(events, ""); len(where) > 0 {
			t.Errorf("%s has payloads in clear: %q", workflowID, where)
		}
		tenant := strings.Split(workflowID, ":")[1]
		want := map[string]string{"acme": "k1", "globex": "globex/g1"}[tenant]
		if !bytes.Contains(history, []byte(want)) || !bytes.Contains(history, []byte(codec.Encoding)) {
			t.Errorf("%s is not encrypted by %s", workflowID, want)
		}
	}
	// The search attributes and the description have the values that the contract lists, and no argument.
	described := w.Describe("tool:acme:run:risky")
	if text, _ := proto.Marshal(described); bytes.Contains(text, []byte("plaintext-")) {
		t.Error("the description has an argument in clear")
	}
	if got := w.Attributes("tool:acme:run:risky"); got["PawlTenant"] != "acme" || got["PawlTool"] != "test__risky" {
		t.Errorf("the search attributes are %v", got)
	}
}

// plainPayloads returns the paths of the payloads of a history that are not encrypted. It skips search attributes, which the server must read.
func plainPayloads(v any, path string) (found []string) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			found = append(found, plainPayloads(item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case map[string]any:
		if metadata, ok := v["metadata"].(map[string]any); ok && metadata["encoding"] != nil {
			if metadata["encoding"] != base64.StdEncoding.EncodeToString([]byte(codec.Encoding)) {
				return []string{path}
			}
			return nil
		}
		for name, item := range v {
			if name != "searchAttributes" {
				found = append(found, plainPayloads(item, path+"."+name)...)
			}
		}
	}
	return found
}

// TestRotationMidFlight (fault 52): a waiting call goes on after a new key is added, a worker without the key of a call does not change it, and a call from
// before the encryption goes on too.
func TestRotationMidFlight(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	tools := worker.Tools(e2etest.Tool("test__risky", e2etest.Echo, e2etest.Idempotent, e2etest.Risky))
	stop := w.Work(tools)
	before := w.Start(e2etest.Invocation("before", "test__risky", `{"text":"before"}`))
	w.Waiting(before.WorkflowID)
	stop()

	k1, k2 := codecKey("k1"), codecKey("k2")
	encrypting(w, k1)
	stop = w.Work(tools)
	old := w.Start(e2etest.Invocation("old", "test__risky", `{"text":"old"}`))
	w.Waiting(old.WorkflowID)
	stop()

	// A worker without the key fails the workflow task, and the call stays as it is.
	encrypting(w, k2)
	stop = w.Work(tools)
	if err := w.Temporal.SignalWorkflow(t.Context(), old.WorkflowID, "", toolspec.RecheckName, nil); err != nil {
		t.Fatal(err)
	}
	w.Until(func() bool {
		return e2etest.CountEvents(w.History(old.WorkflowID, ""), enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED) > 0
	}, "the task fails for want of the key")
	stop()

	encrypting(w, k2+k1)
	w.Work(tools)
	fresh := w.Start(e2etest.Invocation("fresh", "test__risky", `{"text":"fresh"}`))
	for call, text := range map[*pawl.Call]string{before: "before", old: "old", fresh: "fresh"} {
		w.Approve(call.WorkflowID)
		got, err := w.Pawl.Attach(t.Context(), e2etest.Invocation(text, "test__risky", `{"text":"`+text+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		e2etest.WantText(t, w.Result(got), text)
	}
	history := raw(w, old.WorkflowID)
	if !bytes.Contains(history, []byte("k1")) || !bytes.Contains(history, []byte("k2")) {
		t.Error("the call was not written by both keys")
	}
}

// TestEncryptedInputThatNobodyOpens: a call whose encrypted input cannot be opened, because it was changed, completes with the code `validation`, like every
// invalid input.
func TestEncryptedInputThatNobodyOpens(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	c := encrypting(w, codecKey("k1"))
	w.Work(worker.Tools(e2etest.Tool("test__fast", e2etest.Echo, e2etest.Fast)))
	// The input is encrypted for a call of globex, and is sent as a call of acme.
	inv := e2etest.Invocation("moved", "test__fast", `{"text":"hello"}`)
	p, err := converter.GetDefaultDataConverter().ToPayload(inv)
	if err != nil {
		t.Fatal(err)
	}
	aware, ok := c.(converter.PayloadCodecWithSerializationContext)
	if !ok {
		t.Fatal("the codec knows no workflows")
	}
	sealed, err := aware.WithSerializationContext(converter.WorkflowSerializationContext{WorkflowID: "tool:globex:run:moved"}).Encode([]*common.Payload{p})
	if err != nil {
		t.Fatal(err)
	}
	run, err := w.Temporal.ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue},
		toolspec.WorkflowType, converter.NewRawValue(sealed[0]))
	if err != nil {
		t.Fatal(err)
	}
	call, err := w.Pawl.Attach(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	e2etest.WantCode(t, w.Result(call), toolspec.CodeValidation)
	if n := len(e2etest.Query[string](w, `SELECT tool_call_id FROM invocations`)); n != 0 || run.GetRunID() == "" {
		t.Errorf("%d calls are recorded", n)
	}
}

// TestProgramWithKeys: the commands of the program encrypt and decrypt with the same keys.
func TestProgramWithKeys(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	encrypting(w, codecKey("k1"))
	w.Work(worker.Tools(e2etest.Tool("test__fast", e2etest.Echo, e2etest.Fast)))
	text := "plaintext-" + string(e2etest.NewCanary())
	c := w.Command("invoke", "test__fast", "--args", `{"text":"`+text+`"}`, "--run", "run", "--call", "one")
	if status := c.Wait(); status != 0 || !c.Out.Has(text) {
		t.Fatalf("exit status %d: %s%s", status, c.Out, c.Err)
	}
	if bytes.Contains(raw(w, "tool:acme:run:one"), []byte(text)) {
		t.Error("the program sends in clear")
	}
	shown := w.PawlCLI("show one", "show --json one")
	if !strings.Contains(shown[0], "test__fast") || !strings.Contains(shown[1], text) {
		t.Errorf("it shows %q", shown)
	}
	// The search finds a text in an encrypted history. Without the keys it does not report the history as clean.
	file := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := []string{"verify-history", "--skip-tables", "--tenant", "acme", "--secrets", file}
	w.Until(func() bool {
		c = w.Command(verify...)
		return c.Wait() == 1 && c.Out.Has("workflow tool:acme:run:one") && c.Out.Has("(decoded)") && c.Out.Has(" 0 not read")
	}, "the program finds it")
	w.Keys = ""
	c = w.Command(verify...)
	if status := c.Wait(); status != 1 || c.Out.Has("stands in") || !c.Err.Has("not read:") {
		t.Errorf("without keys: exit status %d: %s%s", status, c.Out, c.Err)
	}
}

// TestCodecServer runs the codec server of the program, and makes the requests that the UI of Temporal makes.
func TestCodecServer(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	encrypting(w, codecKey("k1"))
	w.Work(worker.Tools(e2etest.Tool("test__fast", e2etest.Echo, e2etest.Fast)))
	text := "plaintext-" + string(e2etest.NewCanary())
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("one", "test__fast", `{"text":"`+text+`"}`)), text)

	token := filepath.Join(t.TempDir(), "token")
	bearer := rand.Text()
	if err := os.WriteFile(token, []byte(bearer+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.Command("codec-server", "--listen", "127.0.0.1:0", "--token-file", token, "--origin", "http://ui.example.com")
	var address string
	w.Until(func() bool {
		_, rest, _ := strings.Cut(c.Err.String(), "codec server on ")
		var whole bool
		address, _, whole = strings.Cut(rest, ",")
		return whole
	}, "the codec server listens")
	ask := func(authorization string) (int, string) {
		body, err := protojson.Marshal(w.History("tool:acme:run:one", "").GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput())
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/decode", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", authorization)
		r.Header.Set("Origin", "http://ui.example.com")
		answer, err := (&http.Client{Timeout: e2etest.WaitTimeout}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		got, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(got)
	}
	if status, got := ask("Bearer " + bearer); status != http.StatusOK || !strings.Contains(decodedData(t, got), text) {
		t.Errorf("it answers %d %s", status, got)
	}
	if status, got := ask("Bearer " + bearer[1:]); status != http.StatusUnauthorized || strings.Contains(got, text) {
		t.Errorf("without the token it answers %d %s", status, got)
	}
	// The temporal program can decrypt with the codec server.
	shown := w.MustCLI("workflow", "show", "--workflow-id", "tool:acme:run:one", "--codec-endpoint", "http://"+address, "--codec-auth",
		"Bearer "+bearer)
	if e2etest.Canary(text).Find([]e2etest.Trace{{Where: "shown", Text: []byte(shown)}}) == nil {
		t.Error("the temporal program does not read through the codec server")
	}
	if strings.Contains(c.Err.String()+c.Out.String(), text) {
		t.Error("the server prints what it reads")
	}
	c.Interrupt()
	if status := c.Wait(); status != 0 {
		t.Errorf("exit status %d: %s", status, c.Err)
	}
	// The codec server does not start without TLS on an address that other machines reach, without a token, or with an invalid origin.
	for _, args := range [][]string{{"--listen", "0.0.0.0:0", "--token-file", token}, {"--listen", "127.0.0.1:0"},
		{"--token-file", token, "--origin", "http://x/path"}} {
		c := w.Command(append([]string{"codec-server"}, args...)...)
		if status := c.Wait(); status == 0 {
			t.Errorf("%q: exit status %d: %s", args, status, c.Err)
		}
	}
}

// decodedData returns the data of the payloads in an answer.
func decodedData(t *testing.T, answer string) string {
	t.Helper()
	var payloads struct{ Payloads []struct{ Data []byte } }
	if err := json.Unmarshal([]byte(answer), &payloads); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	var all []byte
	for _, p := range payloads.Payloads {
		all = append(all, p.Data...)
	}
	return string(all)
}
