package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

// asked is one call in a response of a model.
type asked struct{ id, name, args string }

// chat is a response of Chat Completions that asks for calls.
func chat(t *testing.T, calls ...asked) string {
	t.Helper()
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type toolCall struct {
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var all []toolCall
	for _, c := range calls {
		all = append(all, toolCall{c.id, "function", function{c.name, c.args}})
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	reason := "tool_calls"
	if len(all) == 0 {
		text, reason = []byte("null"), "stop"
	}
	return `{"id":"r","object":"chat.completion","choices":[{"index":0,"finish_reason":"` + reason +
		`","message":{"role":"assistant","content":null,"tool_calls":` + string(text) + `}}]}`
}

// streamed is a stream of Chat Completions that asks for calls, their pieces mixed; a cut one ends too early.
func streamed(t *testing.T, cut bool, calls ...asked) string {
	t.Helper()
	var b strings.Builder
	event := func(delta string) {
		fmt.Fprintf(&b, "data: {\"id\":\"r\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", delta)
	}
	quoted := func(s string) string {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	event(`{"role":"assistant","content":null}`)
	for i, c := range calls {
		event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, quoted(c.id), quoted(c.name)))
	}
	for at, more := 0, true; more; at += 5 {
		more = false
		for i, c := range calls {
			if at < len(c.args) {
				more = true
				event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quoted(c.args[at:min(at+5, len(c.args))])))
			}
		}
	}
	if !cut {
		b.WriteString("data: {\"id\":\"r\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
	}
	return b.String()
}

// newTurn returns a turn of tenant acme, in which the tools of these tests were offered.
func newTurn(key string) turn.Turn {
	offered := func(id string, effect toolspec.Effect) wire.Offered {
		return wire.Offered{Name: id, ToolID: id, Effect: effect}
	}
	return turn.Turn{
		Key: key, Codec: openai.Codec{},
		Offer: client.Offer{Format: openai.Format, Names: wire.Offer{V: 1, Tools: []wire.Offered{
			offered("test__echo", toolspec.ReadOnly), offered("test__big", toolspec.ReadOnly), offered("test__write", toolspec.StateChange),
			offered("other__write", toolspec.StateChange), offered("other__core__rm", toolspec.StateChange),
		}}},
		Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: "agent:reader"},
	}
}

// TestPlan: what would start, under which id, and what never does.
func TestPlan(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("i", 129)
	secret := "sk-" + strings.Repeat("a", 24)
	same := asked{"c1", "test__echo", `{"text":"a"}`}
	unknown := func(name string) string { return "acme/run c " + toolspec.UnknownTool(name) + " {}" }
	for _, tc := range []struct {
		name   string
		change func(*turn.Turn)
		calls  []asked
		want   []string // "tenant/run id tool args", or a code
	}{
		{"none", nil, nil, nil},
		{"with an id", nil, []asked{{"c1", "test__echo", `{"text":"a"}`}}, []string{`acme/run c1 test__echo {"text":"a"}`}},
		{"without ids", nil, []asked{{"", "test__echo", `{}`}, {"", "test__echo", `{}`}}, []string{"acme/run k-0 test__echo {}", "acme/run k-1 test__echo {}"}},
		{"with an id too long for a call", nil, []asked{{long, "test__echo", `{}`}}, []string{"acme/run k-0 test__echo {}"}},
		{"with an id like a credential", nil, []asked{{secret, "test__echo", `{}`}}, []string{"acme/run k-0 test__echo {}"}},
		{"with an id of two lines", nil, []asked{{"a\nb", "test__echo", `{}`}}, []string{"acme/run k-0 test__echo {}"}},
		{"ids that repeat in a run", func(t *turn.Turn) { t.OwnIDs = true }, []asked{{"call_0", "test__echo", `{}`}}, []string{"acme/run k-0 test__echo {}"}},
		{"the same call twice", nil, []asked{same, same}, []string{`acme/run c1 test__echo {"text":"a"}`, `acme/run c1 test__echo {"text":"a"}`}},
		{"an id twice", nil, []asked{same, {"c1", "test__echo", `{"text":"b"}`}}, []string{`acme/run c1 test__echo {"text":"a"}`, "conflict"}},
		{"an id twice, of two tools", nil, []asked{same, {"c1", "test__write", `{"text":"a"}`}}, []string{`acme/run c1 test__echo {"text":"a"}`, "conflict"}},
		{"an id twice, and names of the turn's own", func(t *turn.Turn) { t.OwnIDs = true }, []asked{same, {"c1", "test__write", `{}`}}, []string{`acme/run k-0 test__echo {"text":"a"}`, "acme/run k-1 test__write {}"}},
		{"a call that names another's place", nil, []asked{{"k-1", "test__echo", `{}`}, {"", "test__write", `{}`}}, []string{"acme/run k-1 test__echo {}", "conflict"}},
		{"no arguments", nil, []asked{{"c1", "test__echo", ``}}, []string{"acme/run c1 test__echo "}},
		{"no JSON", nil, []asked{{"c1", "test__echo", `{"text":`}}, []string{`acme/run c1 test__echo "{\"text\":"`}},
		{"a tool that was not offered", nil, []asked{{"c1", "core__ls", `{}`}}, []string{"acme/run c1 core__ls {}"}},
		{"a name that is no tool's", nil, []asked{{"c", "read file", `{}`}}, []string{unknown("read file")}},
		{"a name without its namespace", nil, []asked{{"c", "echo", `{}`}}, []string{"acme/run c test__echo {}"}},
		{"a whole id that is part of another", nil, []asked{{"c", "core__rm", `{}`}}, []string{"acme/run c core__rm {}"}},
		{"a name that two have without their namespaces", nil, []asked{{"c", "write", `{}`}}, []string{unknown("write")}},
		// Names are compared letter by letter: what only looks like a tool's is none (fault 47).
		{"a name with another e", nil, []asked{{"c", "tеst__echo", `{}`}}, []string{unknown("tеst__echo")}},
		{"a wide name", nil, []asked{{"c", "ｔest__echo", `{}`}}, []string{unknown("ｔest__echo")}},
		{"a name of an invisible character", nil, []asked{{"c", "test__\u200becho", `{}`}}, []string{unknown("test__\u200becho")}},
		{"a name in capitals", nil, []asked{{"c", "TEST__ECHO", `{}`}}, []string{"acme/run c TEST__ECHO {}"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tu := newTurn("k")
			if tc.change != nil {
				tc.change(&tu)
			}
			plan, err := tu.Plan(strings.NewReader(chat(t, tc.calls...)))
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Calls) != len(tc.want) {
				t.Fatalf("%d calls, want %d", len(plan.Calls), len(tc.want))
			}
			for i, p := range plan.Calls {
				got := fmt.Sprintf("%s/%s %s %s %s", p.Invocation.Context.TenantID, p.Invocation.Context.RunID, p.Invocation.ToolCallID, p.Invocation.ToolID, p.Invocation.Args)
				if p.Refused != nil {
					got = string(p.Refused.ErrorCode)
				} else if err := p.Invocation.Check(); err != nil {
					t.Errorf("call %d would be refused: %v", i, err)
				}
				if got != tc.want[i] {
					t.Errorf("call %d is %q, want %q", i, got, tc.want[i])
				}
			}
		})
	}
}

const (
	// anthropicStream asks for one call, which is closed before the end.
	anthropicStream = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"test__echo","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"text\":\"a\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

` + anthropicEnd
	anthropicEnd = `event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

`
)

// TestPlanOfAStream: a stream gives what the whole response gives, and one that was cut asks for nothing (AG-03, AG-06).
func TestPlanOfAStream(t *testing.T) {
	t.Parallel()
	calls := []asked{{"c1", "test__echo", `{"text":"first"}`}, {"c2", "test__write", `{"text":"second"}`}, {"c3", "test__echo", `{"text":"third"}`}}
	tu := newTurn("k")
	whole, err := tu.Plan(strings.NewReader(chat(t, calls...)))
	if err != nil {
		t.Fatal(err)
	}
	tu.Streamed = true
	for _, read := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, func(r io.Reader) io.Reader { return r }} {
		plan, err := tu.Plan(read(strings.NewReader(streamed(t, false, calls...))))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range plan.Calls {
			if got, want := string(p.Invocation.Args), string(whole.Calls[i].Invocation.Args); got != want || p.Invocation.ToolCallID != calls[i].id {
				t.Errorf("call %d is %s of %s, want %s", i, got, p.Invocation.ToolCallID, want)
			}
		}
	}
	cut, err := tu.Plan(strings.NewReader(streamed(t, true, calls...)))
	if err != nil || len(cut.Calls) != 3 {
		t.Fatalf("%+v, %v", cut, err)
	}
	for i, p := range cut.Calls {
		if p.Refused == nil || p.Refused.ErrorCode != toolspec.CodeIncomplete {
			t.Errorf("call %d of a cut stream would run: %+v", i, p)
		}
	}
	// A format that closes each call: the first one is whole, and does not run for all that, for the response is not.
	closed := newTurn("k")
	closed.Codec, closed.Offer.Format, closed.Streamed = anthropic.Codec{}, anthropic.Format, true
	for body, want := range map[string]toolspec.Code{anthropicStream: "", strings.TrimSuffix(anthropicStream, anthropicEnd): toolspec.CodeIncomplete} {
		plan, err := closed.Plan(strings.NewReader(body))
		if err != nil || len(plan.Calls) != 1 || (plan.Calls[0].Refused == nil) != (want == "") {
			t.Errorf("of a closed call: %+v, %v, want %q", plan.Calls, err, want)
		}
	}
	broken := errors.New("the network is gone")
	whole, err = tu.Plan(io.MultiReader(strings.NewReader(streamed(t, true, calls...)), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(whole.Calls) != 0 {
		t.Errorf("of a body that did not arrive: %+v, %v", whole, err)
	}
}

// TestPlanKeepsTheProvidersCall: the record knows what the provider called things, within bounds, and nothing in it keeps the call from
// running.
func TestPlanKeepsTheProvidersCall(t *testing.T) {
	t.Parallel()
	native := func(call asked, extra string) string {
		body := chat(t, call)
		if extra != "" {
			body = strings.Replace(body, `"type":"function"`, `"type":"function",`+extra, 1)
		}
		plan, err := newTurn("k").Plan(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		inv := plan.Calls[0].Invocation
		if err := inv.Check(); err != nil {
			t.Error(err)
		}
		if inv.Provider.Name != "openai" {
			t.Errorf("the provider is %q", inv.Provider.Name)
		}
		return string(inv.Provider.ToolCall)
	}
	if got := native(asked{"c1", "read file", `{"a":1}`}, ""); !strings.Contains(got, `"read`) || !strings.Contains(got, `{\"a\":1}`) {
		t.Errorf("kept is %s", got)
	}
	if got := native(asked{"c1", "test__echo", `{"text":"` + strings.Repeat("x", 40<<10) + `"}`}, ""); got != `{"id":"c1","name":"test__echo"}` {
		t.Errorf("of a large call is kept: %.200s", got)
	}
	signed := `"extra_content":{"google":{"thought_signature":"sk-` + strings.Repeat("b", 30) + `"}}`
	if got := native(asked{"c1", "test__echo", `{}`}, signed); got != `{"id":"c1","name":"test__echo"}` {
		t.Errorf("of a call with what looks like a credential is kept: %s", got)
	}
}

// TestTurnsThatAreNone: what no turn can be taken with is an error, before anything starts.
func TestTurnsThatAreNone(t *testing.T) {
	t.Parallel()
	good := chat(t, asked{"c1", "test__echo", `{}`})
	for _, tc := range []struct {
		name, body, want string
		change           func(*turn.Turn)
	}{
		{"no key", good, "key", func(t *turn.Turn) { t.Key = "" }},
		{"a key with a space", good, "key", func(t *turn.Turn) { t.Key = "a b" }},
		{"a long key", good, "key", func(t *turn.Turn) { t.Key = strings.Repeat("k", 65) }},
		{"no codec", good, "codec", func(t *turn.Turn) { t.Codec = nil }},
		{"no tenant", good, "tenantId", func(t *turn.Turn) { t.Context.TenantID = "" }},
		{"no run", good, "runId", func(t *turn.Turn) { t.Context.RunID = "" }},
		{"no actor", good, "actorId", func(t *turn.Turn) { t.Context.ActorID = "" }},
		{"an offer of another format", good, "anthropic", func(t *turn.Turn) { t.Offer.Format = "anthropic" }},
		{"a bound below zero", good, "negative", func(t *turn.Turn) { t.AtOnce = -1 }},
		{"effects beside each other, one at a time", good, "Together needs AtOnce", func(t *turn.Turn) { t.Together = true }},
		{"another document", `{"error":{"message":"overloaded"}}`, "openai", func(*turn.Turn) {}},
		{"no document", `<html>`, "openai", func(*turn.Turn) {}},
		{"nothing", ``, "openai", func(*turn.Turn) {}},
		{"a preparation that fails", good, "no connection", func(t *turn.Turn) {
			t.Prepare = func(*toolspec.Invocation) error { return errors.New("no connection") }
		}},
		{"a preparation that changes the arguments", good, "Prepare changed", func(t *turn.Turn) {
			t.Prepare = func(inv *toolspec.Invocation) error { inv.Args = json.RawMessage(`{"a":1}`); return nil }
		}},
		{"a preparation that changes the identity", good, "Prepare changed", func(t *turn.Turn) {
			t.Prepare = func(inv *toolspec.Invocation) error { inv.Context.RunID = "other"; return nil }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tu := newTurn("k")
			tc.change(&tu)
			if plan, err := tu.Plan(strings.NewReader(tc.body)); err == nil || !strings.Contains(err.Error(), tc.want) || len(plan.Calls) != 0 {
				t.Errorf("got %+v, %v, want an error about %q", plan, err, tc.want)
			}
		})
	}
	prepared := newTurn("k")
	prepared.Prepare = func(inv *toolspec.Invocation) error { inv.Context.ConnectionID = "crm"; return nil }
	if plan, err := prepared.Plan(strings.NewReader(good)); err != nil || plan.Calls[0].Invocation.Context.ConnectionID != "crm" {
		t.Errorf("a connection for the call: %+v, %v", plan, err)
	}
}
