package examples_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// scripted is a server that speaks Chat Completions, and answers each request with the next stream of a script. It keeps the requests.
type scripted struct {
	mu       sync.Mutex
	script   []string
	requests []chatRequest
	wrong    []string
}

type chatRequest struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role       string
		Content    string
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Tools []struct {
		Function struct {
			Name       string
			Parameters json.RawMessage
		}
	}
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var request chatRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" || len(s.requests) == len(s.script) {
		s.wrong = append(s.wrong, fmt.Sprintf("%s %s: %v", r.Method, r.URL, err))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.requests = append(s.requests, request)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, piece := range strings.SplitAfter(s.script[len(s.requests)-1], "\n\n") {
		_, _ = w.Write([]byte(piece))
		w.(http.Flusher).Flush() //nolint:forcetypeassert // the test's server is one
	}
}

// events are the deltas of one answer as a server sends them.
func events(reason string, deltas ...string) string {
	var b strings.Builder
	for _, delta := range append(deltas, `{}`) {
		why := "null"
		if delta == `{}` {
			why = `"` + reason + `"`
		}
		fmt.Fprintf(&b, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, why)
	}
	return b.String() + "data: [DONE]\n\n"
}

// openAI: a model calls two tools at once, one of them with arguments that are no JSON; corrects itself; and answers. (AG-07)
func openAI(t *testing.T, w *world) {
	if err := os.WriteFile(filepath.Join(w.workspace, "notes.txt"), []byte("buy milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := &scripted{script: []string{
		events("tool_calls",
			`{"role":"assistant","content":null}`,
			`{"tool_calls":[{"index":0,"id":"call_ls","type":"function","function":{"name":"core__ls","arguments":""}}]}`,
			`{"tool_calls":[{"index":1,"id":"call_bad","type":"function","function":{"name":"core__read_file","arguments":"{\"pa"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":"th\": notes.txt"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"\".\"}"}}]}`),
		events("tool_calls",
			`{"role":"assistant","content":"I try again."}`,
			`{"tool_calls":[{"index":0,"id":"call_good","type":"function","function":{"name":"core__read_file","arguments":"{\"path\":\"notes.txt\"}"}}]}`),
		events("stop", `{"role":"assistant","content":"Your note "}`, `{"content":"says: buy milk."}`),
	}}
	http := httptest.NewServer(server)
	defer http.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(w.programs, "openai"), "-url", http.URL+"/v1", "-model", "scripted", "-run", "talk", "What", "do", "I", "need?")
	log := &devstacktest.Log{}
	cmd.Dir, cmd.Env, cmd.Stderr = w.workspace, w.env, log
	answer, err := cmd.Output()
	if err != nil || string(answer) != "Your note says: buy milk.\n" {
		t.Fatalf("it answers %q, %v\n%s", answer, err, log)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.requests) != 3 || len(server.wrong) > 0 {
		t.Fatalf("the server got %d requests, and %q", len(server.requests), server.wrong)
	}
	first, second, last := server.requests[0], server.requests[1], server.requests[2]
	var names []string
	for _, tool := range first.Tools {
		names = append(names, tool.Function.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "core__ls") || !strings.Contains(got, "core__read_file") || !first.Stream || first.Model != "scripted" {
		t.Errorf("the model is offered %q", got)
	}
	if len(first.Messages) != 1 || first.Messages[0].Content != "What do I need?" {
		t.Errorf("the model is asked %+v", first.Messages)
	}
	// The assistant's message with both calls, then one answer for each, in their order.
	m := second.Messages
	if len(m) != 4 || m[1].Role != "assistant" || len(m[1].ToolCalls) != 2 || m[2].ToolCallID != "call_ls" || m[3].ToolCallID != "call_bad" {
		t.Fatalf("the second request is %+v", m)
	}
	if !strings.Contains(m[2].Content, "notes.txt") || !strings.HasPrefix(m[3].Content, `Error executing tool: {"ok":false,"errorCode":"invalid_json","message":"Invalid tool arguments JSON"}`) {
		t.Errorf("the answers are %q and %q", m[2].Content, m[3].Content)
	}
	m = last.Messages
	if len(m) != 6 || m[4].Content != "I try again." || m[5].ToolCallID != "call_good" || !strings.Contains(m[5].Content, "buy milk") {
		t.Errorf("the last request is %+v", m)
	}
	// What the model did is on record, what it did wrong too.
	for call, result := range map[string]string{"call_ls": "ok", "call_bad": "invalid_json", "call_good": "ok"} {
		if text := w.pawl("show", "tool:acme:talk:"+call); !strings.Contains(text, "result: "+result) {
			t.Errorf("%s is recorded as\n%s", call, text)
		}
	}
}
