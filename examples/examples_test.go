package examples_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestExamples compiles the examples and runs each as its comment says, with the
// stock pawl in processes of its own.
func TestExamples(t *testing.T) {
	t.Parallel()
	dir := programs(t)
	for name, test := range map[string]func(*testing.T, *world){
		"customtool": customTool, "ratelimit": rateLimit, "timing": timing, "toolhook": toolHook, "durablehook": durableHook,
		"connection": connection, "openai": openAI, "ownloop": ownLoop, "watch": watch, "samples": samples, "phrases": phrases,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, dir))
		})
	}
}

// customTool: the stock program, which has never seen the tool's code, lists,
// shows and invokes it.
func customTool(t *testing.T, w *world) {
	log := w.work("customtool")
	for _, args := range [][]string{{"tools", "list"}, {"tools", "show", "shop__order_status"}} {
		if text := w.pawl(args...); !strings.Contains(text, "shop__order_status") || !strings.Contains(text, "how far an order is") {
			t.Errorf("pawl %s prints\n%s", strings.Join(args, " "), text)
		}
	}
	var spec toolspec.Spec
	if err := json.Unmarshal([]byte(w.pawl("tools", "show", "shop__order_status", "--json")), &spec); err != nil {
		t.Fatal(err)
	}
	if spec.Origin != "worker" || len(spec.Digest) != 64 || !strings.Contains(string(compact(t, spec.InputSchema)), `"pattern":"^[A-Z]-[0-9]+$"`) ||
		!strings.Contains(string(spec.OutputSchema), `"email"`) {
		t.Errorf("the published spec is %+v with the input %s", spec, spec.InputSchema)
	}
	if got := w.invoke("shop__order_status", `{"orderId":"A-1001"}`); string(compact(t, got.Value)) != `{"status":"shipped"}` {
		t.Errorf("got %s, want nothing but the status", got.Value)
	}
	if got := w.invoke("shop__order_status", `{"orderId":"none"}`); got.ErrorCode != toolspec.CodeValidation || got.Details.Path != "/orderId" {
		t.Errorf("bad arguments: %+v", got)
	}
	if got := w.invoke("shop__order_status", `{"orderId":"A-1"}`); got.ErrorCode != toolspec.CodeExecution || got.SafeMessage != "Error executing tool: there is no such order" {
		t.Errorf("no such order: %+v", got)
	}
	if got := w.invoke("shop__order_status", `{"orderId":"A-1001"}`, "--tenant", "globex"); got.ErrorCode != toolspec.CodePolicyDenied {
		t.Errorf("a tenant that policy does not name: %+v", got)
	}
	if text := log.String(); !strings.Contains(text, "order found") || strings.Contains(text, "example.com") {
		t.Errorf("the worker logs\n%s", text)
	}
}

// phrases: the tools follow the file, and the worker runs without it.
func phrases(t *testing.T, w *world) {
	log := w.work("phrases")
	for _, c := range [][3]string{{"hello", "Good morning.", "bye"}, {"bye", "Good night.", "hello"}} {
		if err := os.WriteFile(filepath.Join(w.workspace, "phrases.json"), []byte(`{"`+c[0]+`":"`+c[1]+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		var list string
		if !devstacktest.Eventually(t.Context(), waitTimeout, func() bool {
			list = w.pawl("tools", "list")
			return strings.Contains(list, "phrase__"+c[0])
		}) {
			t.Fatalf("pawl tools list prints\n%s", list)
		}
		if strings.Contains(list, "phrase__"+c[2]) || !strings.Contains(list, "extension phrases") {
			t.Errorf("pawl tools list prints\n%s", list)
		}
		if got := w.invoke("phrase__"+c[0], `{}`); string(compact(t, got.Value)) != `"`+c[1]+`"` {
			t.Errorf("got %+v", got)
		}
	}
	if text := log.String(); !strings.Contains(text, "the file of phrases cannot be read") || !strings.Contains(text, "a source of tools works again") {
		t.Errorf("the worker logs\n%s", text)
	}
}

// samples (BT-27 to BT-29): tools of one file each, with nothing but their names in main.go.
func samples(t *testing.T, w *world) {
	w.work("samples")
	for _, call := range [][3]string{
		{"core__sum", `{"a":1,"b":2}`, `{"sum":3}`}, {"core__generate_title", `{"message":"hi"}`, `"Hi"`},
		{"core__get_current_weather", `{"location":"Paris","format":"celsius"}`, `{"format":"celsius","temperature":14}`},
	} {
		if got := w.invoke(call[0], call[1]); string(compact(t, got.Value)) != call[2] {
			t.Errorf("%s: %+v", call[0], got)
		}
	}
}

// rateLimit (HK-12): a burst of one actor is told to come back in a second, and
// then served. Nobody else notices.
func rateLimit(t *testing.T, w *world) {
	w.work("ratelimit")
	const burst, most = 8, 3
	results := make(chan toolspec.Result, burst)
	var calls sync.WaitGroup
	for n := range burst {
		calls.Go(func() {
			// By the client: so many processes would take longer to start than a call holds its slot.
			result, err := w.client.Invoke(t.Context(), toolspec.Invocation{
				ToolID: "report__build", ToolCallID: fmt.Sprintf("burst-%d", n), Args: json.RawMessage(`{"milliseconds":20000}`),
				Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: "agent:cli"},
			})
			var ended *pawl.CallError
			if errors.As(err, &ended) {
				result, err = ended.Result, nil
			}
			if err != nil {
				t.Error(err)
			}
			results <- result
		})
	}
	// Somebody holds slots as soon as somebody is refused.
	served := 0
	first := <-results
	limited(t, first)
	if got := w.invoke("report__build", `{"milliseconds":0}`, "--actor", "agent:other"); !got.OK {
		t.Errorf("another actor: %+v", got)
	}
	calls.Wait()
	close(results)
	for got := range results {
		if got.OK {
			served++
			continue
		}
		limited(t, got)
	}
	if served != most {
		t.Errorf("%d of %d calls were served at once, want %d", served, burst, most)
	}
	if got := w.invoke("report__build", `{"milliseconds":0}`); !got.OK {
		t.Errorf("after the burst: %+v", got)
	}
}

func limited(t *testing.T, got toolspec.Result) {
	t.Helper()
	if got.ErrorCode != toolspec.CodeRateLimited || got.RetryAfterMs != 1000 || got.SafeMessage != "Rate limit" {
		t.Errorf("got %+v, want to be told to come back in a second", got)
	}
}

func timing(t *testing.T, w *world) {
	log := w.work("timing")
	for toolID, ok := range map[string]bool{"core__ls": true, "core__read_file": false} {
		got := w.invoke(toolID, map[bool]string{true: `{}`, false: `{"path":"nothing-here"}`}[ok])
		if got.OK != ok {
			t.Errorf("%s: %+v", toolID, got)
		}
		var line struct {
			Took time.Duration
			OK   bool
		}
		w.until(func() bool {
			for text := range strings.Lines(log.String()) {
				if strings.Contains(text, "tool timed") && strings.Contains(text, got.InvocationID) && strings.Contains(text, toolID) {
					return json.Unmarshal([]byte(text), &line) == nil
				}
			}
			return false
		}, toolID+" is timed", log)
		if line.OK != ok || line.Took <= 0 || line.Took > waitTimeout {
			t.Errorf("%s: logged %+v", toolID, line)
		}
	}
}

func toolHook(t *testing.T, w *world) {
	for _, name := range []string{".env", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(w.workspace, name), []byte("hello"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.work("toolhook")
	got := w.invoke("core__read_file", `{"path":".env"}`)
	if got.ErrorCode != toolspec.CodeAborted || got.Details.Code != "hidden_file" || got.HTTPStatus != 403 || got.SafeMessage != "hidden files are not read here" {
		t.Errorf("a hidden file: %+v", got)
	}
	if got := w.invoke("core__read_file", `{"path":"notes.txt"}`); !got.OK {
		t.Errorf("another file: %+v", got)
	}
	if got := w.invoke("core__ls", `{"path":"."}`); !got.OK {
		t.Errorf("another tool: %+v", got)
	}
}

// durableHook: the service is away first, and then told once more under the same
// key.
func durableHook(t *testing.T, w *world) {
	type request struct{ key, body string }
	var mu sync.Mutex
	var all []request
	service := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, request{r.Header.Get("Idempotency-Key"), string(body)})
		if len(all) == 1 {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer service.Close()
	w.work("durablehook", "-url", service.URL)
	got := w.invoke("core__ls", `{}`)
	if !got.OK {
		t.Errorf("got %+v", got)
	}
	mu.Lock()
	defer mu.Unlock()
	// Twice, or a little more often where a busy machine did not hear the answer.
	if len(all) < 2 || len(all) > 4 || len(slices.Compact(slices.Clone(all))) != 1 ||
		all[0].key != got.InvocationID+"/didAudit/notify/1" || !strings.Contains(all[0].body, `"ok":true`) {
		t.Errorf("the service was told %q", all)
	}
}

func compact(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
