package sources

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// chat is a server for Chat Completions without streams. It answers each request with the next message, and records the requests.
type chat struct {
	mu       sync.Mutex
	messages []string
	requests []chatRequest
}

type chatRequest struct {
	Messages []struct {
		Role       string
		Content    json.RawMessage
		ToolCallID string `json:"tool_call_id"`
	}
	Tools []struct {
		Function struct {
			Name       string
			Parameters json.RawMessage
		}
	}
}

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var request chatRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" || len(c.requests) == len(c.messages) {
		http.Error(w, "no such request", http.StatusBadRequest)
		return
	}
	c.requests = append(c.requests, request)
	reason, message := "stop", c.messages[len(c.requests)-1]
	if strings.Contains(message, "tool_calls") {
		reason = "tool_calls"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"x","object":"chat.completion","created":1,"model":"scripted","choices":[{"index":0,"finish_reason":%q,"message":%s}],`+
		`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, reason, message)
}

// TestTypeScriptAgent runs the example with the package ai. The model is offered the tools that policy allows, and its calls are calls of Pawl. A person
// approves one of them, and the model can correct a wrong call.
func TestTypeScriptAgent(t *testing.T) {
	t.Parallel()
	n := newNode(t, e2etest.PlainPolicy)
	w := n.World
	var effects e2etest.Ledger
	w.Work(worker.Tools(
		e2etest.Tool("test__look", e2etest.Echo), e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
		e2etest.Tool("hidden__tool", e2etest.Echo),
	))
	db := clientpg.Of(w.Store)
	handler, err := runhttp.New(runhttp.Options{Watcher: pawl.New(w.Temporal, db.Options()), Owners: db, Catalogs: db, Authenticator: anyone{}})
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(handler)
	defer pages.Close()
	model := &chat{messages: []string{
		`{"role":"assistant","content":null,"tool_calls":[` +
			`{"id":"look","type":"function","function":{"name":"test__look","arguments":"{\"text\":\"seen\"}"}},` +
			`{"id":"send","type":"function","function":{"name":"test__send","arguments":"{\"text\":\"sent\"}"}},` +
			`{"id":"wrong","type":"function","function":{"name":"test__look","arguments":"{\"text\":7}"}}]}`,
		`{"role":"assistant","content":"It is done."}`,
	}}
	provider := httptest.NewServer(model)
	defer provider.Close()

	ctx, cancel := context.WithTimeout(t.Context(), e2etest.WaitTimeout)
	defer cancel()
	cmd := n.command(ctx, "dist/examples/agent.js", "TEMPORAL_ADDRESS="+w.Address, "TEMPORAL_NAMESPACE="+w.Namespace, "PAWL_SERVE="+pages.URL,
		"PAWL_TOKEN="+e2etest.Actor, "ACTOR="+e2etest.Actor, "MODEL_URL="+provider.URL+"/v1", "MODEL=scripted", "RUN=run")
	cmd.Args = append(cmd.Args, "Look", "and", "send.")
	var faults, out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &faults
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Approve(toolspec.Identity{TenantID: "acme", RunID: "run", ToolCallID: "send"}.WorkflowID())
	if err := cmd.Wait(); err != nil || out.String() != "It is done.\n" {
		t.Fatalf("it prints %q, %v\n%s", &out, err, &faults)
	}
	model.mu.Lock()
	defer model.mu.Unlock()
	if len(model.requests) != 2 {
		t.Fatalf("the model is asked %d times", len(model.requests))
	}
	var offered []string
	for _, tool := range model.requests[0].Tools {
		offered = append(offered, tool.Function.Name)
	}
	if got := strings.Join(offered, " "); !strings.Contains(got, "test__look") || !strings.Contains(got, "test__send") || strings.Contains(got, "hidden__tool") {
		t.Errorf("the model is offered %q", got)
	}
	answers := model.requests[1].Messages
	for i, want := range []struct{ id, content string }{{"look", "seen"}, {"send", "sent"}, {"wrong", "Invalid type for field: text"}} {
		got := answers[len(answers)-3+i]
		if got.Role != "tool" || got.ToolCallID != want.id || !strings.Contains(string(got.Content), want.content) {
			t.Errorf("answer %d is %s %s %s, want %s with %s", i, got.Role, got.ToolCallID, got.Content, want.id, want.content)
		}
	}
	for id, outcome := range map[string]string{"look": "ok", "send": "ok", "wrong": "validation"} {
		if record := w.Record(e2etest.Invocation(id, "test__look", `{}`)); record.Outcome != outcome {
			t.Errorf("%s ended %q, want %q", id, record.Outcome, outcome)
		}
	}
	if effects.Of("send") != 1 {
		t.Errorf("the tool ran %d times", effects.Of("send"))
	}
}
