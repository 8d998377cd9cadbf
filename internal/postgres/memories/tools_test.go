package memories_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// The tools are tested here, because their capabilities need Postgres.

var plainContext = toolspec.Context{SessionID: "s"}

func (b bench) call(tool toolspec.Tool, args string) pawltest.Call {
	return pawltest.Call{
		Tool: tool, Args: args, Context: plainContext, Capabilities: []toolspec.Provided{capability.MemoryKey.Provide(b), capability.PlansKey.Provide(b)},
	}
}

// wants runs a call, and fails unless it succeeds or fails as ok says and its value, or its error message, contains each of these parts.
func (b bench) wants(call pawltest.Call, ok bool, parts ...string) pawltest.Answer {
	b.t.Helper()
	a := call.Run(b.t)
	text := string(a.Value)
	if !a.Result.OK {
		text = a.Result.SafeMessage
	}
	for _, part := range parts {
		if a.Result.OK != ok || !strings.Contains(text, part) {
			b.t.Errorf("%s %s: %+v %s, want %q", call.Tool.Definition().ID, call.Args, a.Result, text, part)
		}
	}
	return a
}

func TestMemoryTool(t *testing.T) {
	b := newBench(t)
	memory := func(args string) pawltest.Call { return b.call(tools.Memory(), args) }
	b.wants(memory(`{"action":"view"}`), true, `"entries":[]`)
	create := memory(`{"action":"create","path":"/notes/a","content":"The fox is red."}`)
	create.ToolCallID = "lost"
	first := b.wants(create, true, `"version":1`, `"trust":"model"`, `"author":"agent:test"`, `"kind":"note"`)
	create.Attempt = 2
	if second := create.Run(t); string(second.Value) != string(first.Value) {
		t.Errorf("a repeated attempt answers %s, not %s", second.Value, first.Value)
	}
	b.wants(memory(`{"action":"create","path":"/notes/a","content":"x"}`), false, "there is an entry at this path already")
	b.wants(memory(`{"action":"append","path":"/notes/a","content":" It is quick."}`), true, `"version":2`)
	b.wants(memory(`{"action":"replace","path":"/notes/a","oldText":"red","content":"grey","ifVersion":1}`), false, "another version")
	b.wants(memory(`{"action":"replace","path":"/notes/a","oldText":"red","content":"grey","ifVersion":2,"ttlSeconds":60}`), true, `"version":3`)
	b.wants(memory(`{"action":"view","path":"/notes/a"}`), true, `"content":"The fox is grey. It is quick."`, `"version":3`, `"trust":"model"`)
	b.wants(memory(`{"action":"view","path":"/notes"}`), true, `"path":"/notes/a"`)
	b.wants(memory(`{"action":"view","path":"/none"}`), false, "there is no entry at this path")
	b.wants(memory(`{"action":"search","query":"fox grey"}`), true, `"excerpt":"The fox is grey. It is quick`, `"trust":"model"`)
	b.wants(memory(`{"action":"search"}`), false, "search needs query")
	b.wants(memory(`{"action":"append","path":"/notes/a"}`), false, "append needs content")
	b.wants(memory(`{"action":"delete"}`), false, "delete needs path")
	b.wants(memory(`{"action":"delete","path":"/notes/a","content":"x"}`), false, "delete does not take content")
	b.wants(memory(`{"action":"rename","path":"/notes/a"}`), false, "")
	b.wants(memory(`{"action":"create","path":"/goals/x","content":"x"}`), false, "the path is reserved")
	other := memory(`{"action":"view","path":"/notes/a"}`)
	other.Context.SessionID = "other"
	b.wants(other, false, "there is no entry at this path")
	other.Context = toolspec.Context{SessionID: "s", TenantID: "globex"}
	b.wants(other, false, "there is no entry at this path")
	b.wants(memory(`{"action":"delete","path":"/notes/a","ifVersion":3}`), true, `"path":"/notes/a"`)

	// A large content is shortened, and a long list goes on.
	text := strings.Repeat("0123456789abcde\n", 2<<10)
	b.wants(memory(fmt.Sprintf(`{"action":"create","path":"/large","content":%q}`, text)), true, `"bytes":32768`)
	large := memory(`{"action":"view","path":"/large"}`).Run(t)
	if !large.Result.Truncated || len(large.Result.Value) > 8<<10 || !strings.Contains(string(large.Value), "abcde") {
		t.Errorf("a large content ends with %.300v", large.Result)
	}
	for i := range capability.MaxMemoryList {
		b.do(capability.MemoryCaller{TenantID: pawltest.Tenant, Session: capability.SessionName("s"), ActorID: "agent:a"},
			capability.MemoryWrite{Action: put, Path: fmt.Sprintf("/n/%03d", i), Content: "x"}, nil)
	}
	b.wants(memory(`{"action":"view","path":"/"}`), true, `"next":"/n/098"`)
	b.wants(memory(`{"action":"view","after":"/n/098"}`), true, `"path":"/n/099"`)
}

// TestSecretsAreRefused: no tool stores a value with the shape of a credential.
func TestSecretsAreRefused(t *testing.T) {
	b := newBench(t)
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	for tool, args := range map[string]string{
		"memory": `{"action":"create","path":"/a","content":"the key is ` + secret + `"}`, "remember": `{"text":"` + secret + `"}`,
		"dump": `{"title":"x","content":"` + secret + `"}`, "goal": `{"title":"` + secret + `"}`, "todos": `{"todos":[{"text":"` + secret + `","status":"pending"}]}`,
	} {
		by := map[string]toolspec.Tool{
			"memory": tools.Memory(), "remember": tools.Remember(), "dump": tools.WriteMemoryDump(), "goal": tools.CreateGoal(), "todos": tools.WriteTodos(),
		}
		a := b.call(by[tool], args).Run(t)
		if a.Result.ErrorCode != toolspec.CodeValidation {
			t.Errorf("%s: %+v", tool, a.Result)
		}
	}
	// Several calls that write parts of the secret are refused too, and so is a reasoning with the secret.
	b.wants(b.call(tools.Memory(), `{"action":"create","path":"/parts","content":"`+secret[:20]+`"}`), true, `"version":1`)
	b.wants(b.call(tools.Memory(), `{"action":"append","path":"/parts","content":"`+secret[20:]+`"}`), false, "the shape of a credential")
	b.wants(b.call(tools.Memory(), `{"action":"delete","path":"/parts"}`), true, `"version":1`)
	if _, err := b.AddReasoning(t.Context(), ann, "I use "+secret); !errors.Is(err, capability.ErrMemorySecret) {
		t.Errorf("reasoning: %v", err)
	}
	if list, err := b.MemoryOfTenant(t.Context(), pawltest.Tenant, "", "/", 10); err != nil || len(list) > 0 {
		t.Errorf("stored: %+v, %v", list, err)
	}
}

func TestPlanTools(t *testing.T) {
	b := newBench(t)
	b.wants(b.call(tools.CreateCheckpoint(), `{"label":"x"}`), false, "there is no active goal")
	b.wants(b.call(tools.CreateGoal(), `{"title":"one"}`), true, `"goalId":"goal-1"`, `"active":true`)
	b.wants(b.call(tools.CreateGoal(), `{"title":"two","description":"why"}`), true, `"goalId":"goal-2"`, `"status":"open"`)
	b.wants(b.call(tools.SwitchGoal(), `{"goalId":"goal-7"}`), false, "there is no such goal")
	b.wants(b.call(tools.SwitchGoal(), `{"goalId":"goal-1"}`), true, `"title":"one"`, `"active":true`)
	b.wants(b.call(tools.CreateCheckpoint(), `{"label":"half","notes":"go on"}`), true, `"goalId":"goal-1"`, `"path":"/goals/goal-1/checkpoints/3"`, `"createdAt":"2`)
	b.wants(b.call(tools.RecordDecision(), `{"decision":"use Go","rationale":"we know it"}`), true, `"goalId":"goal-1"`, `"path":"/goals/goal-1/decisions/4"`)
	b.wants(b.call(tools.Memory(), `{"action":"view","path":"/goals/goal-1/decisions/4"}`), true, `"content":"we know it"`, `"title":"use Go"`)
	for range 2 {
		b.wants(b.call(tools.CompleteGoal(), `{"goalId":"goal-1"}`), true, `"status":"completed"`, `"active":false`)
	}
	b.wants(b.call(tools.SwitchGoal(), `{"goalId":"goal-1"}`), false, "the goal is completed")
	b.wants(b.call(tools.WriteTodos(), `{"todos":[{"text":"a","status":"pending"},{"text":"b","status":"completed"}]}`), true, `"total":2`, `"pending":1`, `"completed":1`)
	b.wants(b.call(tools.Memory(), `{"action":"view","path":"/todos"}`), true, `{\"text\":\"b\",\"status\":\"completed\"}`)
	b.wants(b.call(tools.WriteTodos(), `{"todos":[]}`), true, `"total":0`)
	b.wants(b.call(tools.Memory(), `{"action":"view","path":"/todos"}`), true, `"content":"[]"`)
	b.wants(b.call(tools.WriteTodos(), `{"todos":[{"text":"a","status":"later"}]}`), false, "")
}

func TestRememberAndDump(t *testing.T) {
	b := newBench(t)
	b.wants(b.call(tools.Remember(), `{"text":"the user likes tea"}`), true, `"path":"/remembered/1"`)
	b.wants(b.call(tools.Memory(), `{"action":"view","path":"/remembered/1"}`), true, `"content":"the user likes tea"`)
	b.wants(b.call(tools.WriteMemoryDump(), `{"title":"now","content":"all is well"}`), true, `"path":"/dumps/2"`, `"bytes":11`)
	b.wants(b.call(tools.Memory(), `{"action":"view","path":"/dumps/2"}`), true, `"kind":"dump"`, `"title":"now"`, `"content":"all is well"`)
	// Calls without a session share the entries of their run.
	plain := b.call(tools.Remember(), `{"text":"of the run"}`)
	plain.Context = toolspec.Context{RunID: "s"}
	b.wants(plain, true, `"path":"/remembered/1"`)
	b.wants(b.call(tools.Memory(), `{"action":"view","path":"/remembered/1"}`), true, `"content":"the user likes tea"`)
}

func TestReadReasoningTool(t *testing.T) {
	b := newBench(t)
	by := capability.MemoryCaller{TenantID: pawltest.Tenant, Session: capability.SessionName("s"), ActorID: "agent:thinker", RunID: "test"}
	for _, text := range []string{"first", "second", "third"} {
		if _, err := b.AddReasoning(t.Context(), by, text); err != nil {
			t.Fatal(err)
		}
	}
	a := b.wants(b.call(tools.ReadReasoning(), `{"limit":2}`), true, `"author":"agent:thinker"`, `"next":2`)
	var page struct{ Steps []struct{ Text string } }
	if err := json.Unmarshal(a.Value, &page); err != nil || fmt.Sprint(page.Steps) != "[{first} {second}]" {
		t.Errorf("the page is %+v, %v", page, err)
	}
	b.wants(b.call(tools.ReadReasoning(), `{"after":2}`), true, `"steps":[{"at":`, `"text":"third"`)
	b.wants(b.call(tools.Memory(), `{"action":"search","query":"first"}`), true, `"entries":[]`)
}

// TestDumpToolIsNotBuiltIn: core__write_memory_dump exists only in a worker that registers it (BT-14).
func TestDumpToolIsNotBuiltIn(t *testing.T) {
	for _, tool := range tools.All() {
		if tool.Definition().ID == tools.WriteMemoryDump().Definition().ID {
			t.Error("it is built in")
		}
	}
	if err := tools.WriteMemoryDump().Definition().Check(); err != nil {
		t.Error(err)
	}
}

// TestExamples: the schema of each tool accepts its examples.
func TestExamples(t *testing.T) {
	b := newBench(t)
	for _, tool := range append(tools.All(), tools.WriteMemoryDump()) {
		d := tool.Definition()
		if len(d.Capabilities) != 1 || d.Capabilities[0] != capability.MemoryKey.Name() && d.Capabilities[0] != capability.PlansKey.Name() {
			continue
		}
		if len(d.Examples) == 0 {
			t.Errorf("%s has no examples", d.ID)
		}
		for _, example := range d.Examples {
			if r := b.call(tool, example.Args).Run(t).Result; r.ErrorCode == toolspec.CodeValidation {
				t.Errorf("%s %s: %+v", d.ID, example.Args, r)
			}
		}
	}
}

// TestDatabaseErrors: a caller never gets the text of an error of the database.
func TestDatabaseErrors(t *testing.T) {
	b := newBench(t)
	b.exec(`DROP TABLE memory_usage`)
	b.wants(b.call(tools.Remember(), `{"text":"x"}`), false, "the tool failed")
	_, err := b.CreateGoal(t.Context(), ann, "x", "")
	if err == nil || errors.Is(err, capability.ErrNoGoal) || strings.Contains(err.Error(), "memory_usage") {
		t.Errorf("the error is %v", err)
	}
}
