package toolspec_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

func invocation() toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: "core__read_file", ToolCallID: "call-1", Args: json.RawMessage(`{"path":"a.txt"}`),
		Context: toolspec.Context{
			TenantID: "acme", RunID: "run-1", ActorID: "user:ann", SubjectID: "user:sue", SessionID: "s", RequestID: "r",
			GraphID: "g", ConnectionID: "c", VirtualKeyID: "v", ToolIDs: []string{"core__read_file"},
		},
		AllowedConnectionIDs: []string{"c"},
		Provider:             &toolspec.Provider{Name: "openai", ToolCall: json.RawMessage(`{"id":"x"}`)},
	}
}

func TestInvocationCheck(t *testing.T) {
	long := strings.Repeat("x", 201)
	for _, tc := range []struct {
		name   string
		change func(*toolspec.Invocation)
		want   string
	}{
		{"all of it", func(*toolspec.Invocation) {}, ""},
		{"the least of it", func(inv *toolspec.Invocation) {
			inv.Args, inv.AllowedConnectionIDs, inv.Provider = nil, nil, nil
			inv.Context = toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}
		}, ""},
		{"no tenant", func(inv *toolspec.Invocation) { inv.Context.TenantID = "" }, "context.tenantId is missing"},
		{"no run", func(inv *toolspec.Invocation) { inv.Context.RunID = "" }, "context.runId is missing"},
		{"no call id", func(inv *toolspec.Invocation) { inv.ToolCallID = "" }, "toolCallId is missing"},
		{"no tool", func(inv *toolspec.Invocation) { inv.ToolID = "" }, "toolId is missing"},
		{"tool without namespace", func(inv *toolspec.Invocation) { inv.ToolID = "ls" }, "toolId must be namespaced"},
		{"no actor", func(inv *toolspec.Invocation) { inv.Context.ActorID = "" }, "context.actorId is missing"},
		{"an actor without a kind", func(inv *toolspec.Invocation) { inv.Context.ActorID = "ann" }, "context.actorId must be user:NAME, agent:NAME or service:NAME"},
		{"an actor without a name", func(inv *toolspec.Invocation) { inv.Context.ActorID = "user:" }, "context.actorId must be user:NAME"},
		{"a role as the actor", func(inv *toolspec.Invocation) { inv.Context.ActorID = "role:ops" }, "context.actorId must be user:NAME"},
		{"long actor", func(inv *toolspec.Invocation) { inv.Context.ActorID = long }, "context.actorId must be at most 200"},
		{"long subject", func(inv *toolspec.Invocation) { inv.Context.SubjectID = long }, "context.subjectId must be at most 200"},
		{"long session", func(inv *toolspec.Invocation) { inv.Context.SessionID = long }, "context.sessionId must be at most 200"},
		{"long request", func(inv *toolspec.Invocation) { inv.Context.RequestID = long }, "context.requestId must be at most 200"},
		{"long graph", func(inv *toolspec.Invocation) { inv.Context.GraphID = long }, "context.graphId must be at most 200"},
		{"long connection", func(inv *toolspec.Invocation) { inv.Context.ConnectionID = long }, "context.connectionId must be at most 200"},
		{"long key id", func(inv *toolspec.Invocation) { inv.Context.VirtualKeyID = long }, "context.virtualKeyId must be at most 200"},
		{"subject with a tab", func(inv *toolspec.Invocation) { inv.Context.SubjectID = "a\tb" }, "context.subjectId may hold only printable"},
		{"args as large as they may be", func(inv *toolspec.Invocation) { inv.Args = make([]byte, toolspec.MaxInline) }, ""},
		{"args too large", func(inv *toolspec.Invocation) { inv.Args = make([]byte, toolspec.MaxInline+1) }, "args are larger than 65536 bytes"},
		{"many connections", func(inv *toolspec.Invocation) { inv.AllowedConnectionIDs = make([]string, 257) }, "allowedConnectionIds has more than 256"},
		{"many tools", func(inv *toolspec.Invocation) { inv.Context.ToolIDs = make([]string, 1025) }, "context.toolIds has more than 1024"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inv := invocation()
			tc.change(&inv)
			sameError(t, inv.Check(), tc.want)
		})
	}
}

func TestInvocationClone(t *testing.T) {
	inv, before := invocation(), invocation()
	c := inv.Clone()
	if !reflect.DeepEqual(c, inv) {
		t.Fatalf("the copy differs: %+v", c)
	}
	c.Args[0], c.AllowedConnectionIDs[0], c.Context.ToolIDs[0] = 'X', "X", "X"
	c.Provider.Name, c.Provider.ToolCall[0] = "X", 'X'
	if !reflect.DeepEqual(inv, before) {
		t.Errorf("a write into the copy reached the original: %+v", inv)
	}
}

func TestIdentityOfInvocation(t *testing.T) {
	if got := invocation().Identity(); got != (toolspec.Identity{TenantID: "acme", RunID: "run-1", ToolCallID: "call-1"}) {
		t.Errorf("got %+v", got)
	}
}
