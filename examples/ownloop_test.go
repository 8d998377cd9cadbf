package examples_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
)

// ownLoop: a workflow of a user asks a model, which reads two files at once, one of them under a name that is no file,
// and answers. A worker that knows nothing of the loop runs the calls.
func ownLoop(t *testing.T, w *world) {
	if err := os.WriteFile(filepath.Join(w.workspace, "notes.txt"), []byte("buy milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.work("customtool")
	server := &scripted{script: []string{
		events("tool_calls",
			`{"role":"assistant","content":null}`,
			`{"tool_calls":[{"index":0,"id":"call_notes","type":"function","function":{"name":"core__read_file","arguments":"{\"path\":\"notes.txt\"}"}}]}`,
			`{"tool_calls":[{"index":1,"id":"call_none","type":"function","function":{"name":"core__read_file","arguments":"{\"path\":\"none.txt\"}"}}]}`,
			`{"tool_calls":[{"index":2,"id":"call_bad","type":"function","function":{"name":"core__read_file","arguments":"{\"pa"}}]}`,
			`{"tool_calls":[{"index":3,"id":"call_denied","type":"function","function":{"name":"secret__read","arguments":"{}"}}]}`),
		events("stop", `{"role":"assistant","content":"Your note "}`, `{"content":"says: buy milk."}`),
	}}
	http := httptest.NewServer(server)
	defer http.Close()
	ask := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), 2*waitTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(w.programs, "ownloop"), "-url", http.URL+"/v1", "-model", "scripted", "-run", "loop", "What", "do", "I", "need?")
		log := &devstacktest.Log{}
		cmd.Dir, cmd.Env, cmd.Stderr = w.workspace, w.env, log
		answer, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		return string(answer)
	}
	if answer := ask(); answer != "Your note says: buy milk.\n" {
		t.Fatalf("it answers %q", answer)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.requests) != 2 || len(server.wrong) > 0 {
		t.Fatalf("the server got %d requests, and %q", len(server.requests), server.wrong)
	}
	var names []string
	for _, tool := range server.requests[0].Tools {
		names = append(names, tool.Function.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "core__read_file") || !strings.Contains(got, "shop__order_status") {
		t.Errorf("the model is offered %q", got)
	}
	m := server.requests[1].Messages
	if len(m) != 6 || m[0].Content != "What do I need?" || len(m[1].ToolCalls) != 4 {
		t.Fatalf("the second request is %+v", m)
	}
	for i, want := range []struct{ id, content string }{
		{"call_notes", "buy milk"}, {"call_none", "Error executing tool"}, {"call_bad", `"errorCode":"invalid_json"`}, {"call_denied", `"errorCode":"unavailable"`},
	} {
		if got := m[i+2]; got.ToolCallID != want.id || !strings.Contains(got.Content, want.content) {
			t.Errorf("answer %d is %+v, want %s with %s", i, got, want.id, want.content)
		}
	}
	for call, result := range map[string]string{"call_notes": "ok", "call_bad": "invalid_json", "call_denied": "unavailable"} {
		if text := w.pawl("show", "tool:acme:loop:"+call); !strings.Contains(text, "result: "+result) {
			t.Errorf("%s is recorded as\n%s", call, text)
		}
	}
}
