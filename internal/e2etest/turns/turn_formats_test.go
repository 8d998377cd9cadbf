package turns

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	llm "github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

// TestTurnOfEachFormat: the same tool, called in the format of each provider, gets the same arguments, and its answer has the format of the provider (HY-15,
// HY-20). For formats without ids of calls, the turn makes the ids.
func TestTurnOfEachFormat(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	effects := echoes(w)
	for _, tc := range []struct {
		codec    llm.Codec
		response string
		id       string
		said     string // a text that the message of the assistant contains
		answer   string
	}{
		{openai.Codec{}, `{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"I look","tool_calls":[` +
			`{"id":"call_1","type":"function","function":{"name":"test__write","arguments":"{\"text\":\"hi\"}"}}]}}]}`,
			"call_1", `"role":"assistant"`, `{"role":"tool","tool_call_id":"call_1","content":"{\"text\":\"hi\"}"}`},
		{responses.Codec{}, `{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","id":"m1","role":"assistant","status":"completed",` +
			`"content":[{"type":"output_text","text":"I look","annotations":[]}]},{"type":"function_call","id":"fc_1","call_id":"call_r","name":"test__write","arguments":"{\"text\":\"hi\"}","status":"completed"}]}`,
			"call_r", `"message"`, `{"type":"function_call_output","call_id":"call_r","output":"{\"text\":\"hi\"}"}`},
		{anthropic.Codec{}, `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"I look"},` +
			`{"type":"tool_use","id":"toolu_1","name":"test__write","input":{"text":"hi"}}],"stop_reason":"tool_use","stop_sequence":null}`,
			"toolu_1", `"tool_use"`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"{\"text\":\"hi\"}"}]}]}`},
		{ollama.Codec{}, `{"model":"m","message":{"role":"assistant","content":"I look","tool_calls":[{"function":{"name":"test__write","arguments":{"text":"hi"}}}]},"done":true,"done_reason":"stop"}`,
			"turn-ollama-0", `"tool_calls"`, `{"role":"tool","content":"{\"text\":\"hi\"}","tool_name":"test__write"}`},
		{gemini.Codec{}, `{"candidates":[{"content":{"role":"model","parts":[{"text":"I look"},{"functionCall":{"name":"test__write","args":{"text":"hi"}}}]},"finishReason":"STOP"}]}`,
			"turn-gemini-0", `"functionCall"`, `{"role":"user","parts":[{"functionResponse":{"name":"test__write","response":{"output":{"text":"hi"}}}}]}`},
	} {
		t.Run(tc.codec.Format(), func(t *testing.T) {
			k := newTurnClient(w, tc.codec, 2)
			tu := k.turn("turn-"+tc.codec.Format(), tc.codec)
			tu.Streamed = false
			for range 2 {
				reply, messages := k.take(t, tu, tc.response)
				if len(reply.Outcomes) != 1 || reply.Outcomes[0].ToolCallID != tc.id ||
					string(reply.Outcomes[0].Result.Value) != `{"text":"hi"}` {
					t.Fatalf("it came to %+v", reply.Outcomes)
				}
				last := len(messages) - 1
				if items := map[bool]int{true: 2, false: 1}[tc.codec.Format() == "responses"]; last != items ||
					!strings.Contains(messages[0], tc.said) {
					t.Fatalf("the messages are %q", messages)
				}
				if same, err := sameJSON(reply.Messages[last], []byte(tc.answer)); err != nil || !same {
					t.Errorf("the answer is %s, want %s (%v)", messages[last], tc.answer, err)
				}
			}
			if n := effects.Of(tc.id); n != 1 {
				t.Errorf("it ran %d times", n)
			}
		})
	}
}

// TestTurnRunsNoFault: a call that the codec marks as faulty never runs, also if it has no arguments or arguments that hydration would accept. It gets an answer in
// the next request and has no record. The other call of the response runs.
func TestTurnRunsNoFault(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	effects := echoes(w)
	for _, tc := range []struct {
		codec    llm.Codec
		response string
		ids      []string // of the calls, as they would run
		good     int      // the index of the call that runs, or -1
	}{
		{openai.Codec{}, `{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[` +
			`{"id":"o0","type":"custom","custom":{"name":"test__write","input":""}},{"id":"o1","type":"custom","custom":{"name":"test__write","input":"{'text':'a'}"}},` +
			`{"id":"o2","type":"function","function":{"name":"test__write","arguments":"{}"}}]}}]}`, []string{"o0", "o1", "o2"}, 2},
		{responses.Codec{}, `{"id":"r","object":"response","status":"completed","output":[{"type":"function_call","call_id":"r0","name":"test__write","namespace":"crm","arguments":""},` +
			`{"type":"function_call","call_id":"r1","name":"test__write","arguments":"{}"}]}`, []string{"r0", "r1"}, 1},
		{anthropic.Codec{}, `{"id":"m","type":"message","role":"assistant","model":"x","stop_reason":"tool_use","stop_sequence":null,"content":[` +
			`{"type":"tool_use","id":"a0","name":"test__write","input":{"text":"a"},"input":{"text":"b"}},{"type":"tool_use","id":"a1","name":"test__write","input":{}}]}`, []string{"a0", "a1"}, 1},
		{ollama.Codec{}, `{"model":"m","done":true,"done_reason":"stop","message":{"role":"assistant","content":"","tool_calls":[` +
			`{"function":{"name":"test__write","arguments":{"text":"a"},"arguments":{"text":"b"}}},{"function":{"name":"test__write","arguments":{}}}]}}`, []string{"faults-ollama-0", "faults-ollama-1"}, 1},
		{gemini.Codec{}, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"test__write"}}]},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`, []string{"faults-gemini-0"}, -1},
	} {
		k := newTurnClient(w, tc.codec, 2)
		tu := k.turn("faults-"+tc.codec.Format(), tc.codec)
		tu.Streamed = false
		reply, messages := k.take(t, tu, tc.response)
		if len(reply.Outcomes) != len(tc.ids) || len(messages) < 2 {
			t.Fatalf("%s: it came to %+v, answered with %q", tc.codec.Format(), reply.Outcomes, messages)
		}
		for i, o := range reply.Outcomes {
			ran, want := effects.Of(tc.ids[i]), 0
			if i == tc.good {
				want = 1
			}
			if ran != want || o.Result.OK != (i == tc.good) || i != tc.good &&
				(o.Result.ErrorCode != toolspec.CodeInvalidJSON || o.WorkflowID != "") {
				t.Errorf("%s: call %d ran %d times, want %d, and came to %+v", tc.codec.Format(), i, ran, want, o.Result)
			}
		}
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM invocations`); n != 4 {
		t.Errorf("there are %d records, want those of the four calls that ran", n)
	}
}

// TestReplayRunsNothing (VA-18): earlier calls and their results can be sent to a model again completely, in every format. A response that is taken again, by the
// same client or by another one, has the same outcome. In both cases no tool runs.
func TestReplayRunsNothing(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, turnPolicy)
	effects := echoes(w)
	k := newTurnClient(w, openai.Codec{}, 2)
	response := interleaved(wanted{"c1", "test__write", `{"text":"once"}`})
	reply, first := k.take(t, k.turn("t1", openai.Codec{}), response)
	for name, again := range map[string]turnClient{"the same client": k, "another client": newTurnClient(w, openai.Codec{}, 2)} {
		repeated, messages := again.take(t, again.turn("t1", openai.Codec{}), response)
		if len(repeated.Outcomes) != 1 || repeated.Outcomes[0].WorkflowID != reply.Outcomes[0].WorkflowID || !slices.Equal(messages, first) {
			t.Errorf("%s: taken again it came to %+v, answered with %q", name, repeated.Outcomes, messages)
		}
	}
	text := func(role conversation.Role, text string) conversation.Message {
		return conversation.Message{Role: role, Content: []conversation.Part{{Type: conversation.Text, Text: text}}}
	}
	o := reply.Outcomes[0]
	kept, err := json.Marshal(conversation.Conversation{Messages: []conversation.Message{
		text(conversation.User, "write it"),
		{Role: conversation.Assistant, Content: []conversation.Part{{Type: conversation.ToolCall, ToolCallID: o.ToolCallID, ToolName: o.ToolID,
			Args: o.Call.Args}}},
		{Role: conversation.Tool, Content: []conversation.Part{{Type: conversation.ToolResult, ToolCallID: o.ToolCallID,
			Result: o.Result.Value}}},
		text(conversation.Assistant, "done"), text(conversation.User, "thanks"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	talk, err := conversation.Parse(kept)
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range []llm.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, ollama.Codec{}, gemini.Codec{}} {
		request, err := conversation.Encode(talk, codec, nil)
		if err != nil || len(request.Messages) != 5 {
			t.Errorf("%s: %q, %v", codec.Format(), request.Messages, err)
			continue
		}
		call, result := string(request.Messages[1]), string(request.Messages[2])
		if !strings.Contains(call, "test__write") || !strings.Contains(call, "once") || !strings.Contains(result, "once") || strings.Contains(result, "hidden") {
			t.Errorf("%s: the call is repeated as %s, its result as %s", codec.Format(), call, result)
		}
	}
	// If the response of a model has no call, the messages of the turn are only the message of the model.
	last, messages := k.take(t, k.turn("t2", openai.Codec{}), interleaved())
	if len(messages) > 1 || len(last.Outcomes) != 0 {
		t.Errorf("without a call it is answered with %q", messages)
	}
	if n := effects.Of("c1"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM invocations`); n != 1 {
		t.Errorf("there are %d records", n)
	}
}
