package turn_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

var trimmer = turn.Turn{Context: toolspec.Context{TenantID: "acme", RunID: "run-1"}}

// talkOf is a conversation with one turn for each list of sizes, and a call for each size.
func talkOf(turns ...[]int) (c conversation.Conversation) {
	c.Messages = append(c.Messages, conversation.Message{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "begin"}}})
	for i, sizes := range turns {
		calls := conversation.Message{Role: conversation.Assistant}
		var answers []conversation.Message
		for j, size := range sizes {
			id := fmt.Sprintf("c%d-%d", i, j)
			calls.Content = append(calls.Content, conversation.Part{Type: conversation.ToolCall, ToolCallID: id, ToolName: "core__ls"})
			answer := conversation.Part{Type: conversation.ToolResult, ToolCallID: id, Result: json.RawMessage(`"` + strings.Repeat("x", max(0, size-2)) + `"`)}
			switch (i + j) % 5 {
			case 3:
				answer.OutputRef = "stored." + id
			case 4:
				answer.IsError = true
			}
			answers = append(answers, conversation.Message{Role: conversation.Tool, Content: []conversation.Part{answer}})
		}
		if len(sizes) > 0 {
			c.Messages = append(append(c.Messages, calls), answers...)
		}
	}
	return c
}

func outputsOf(c conversation.Conversation) (parts []conversation.Part) {
	for _, m := range c.Messages {
		for _, p := range m.Content {
			if p.Type == conversation.ToolResult {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// TestTrim: the oldest outputs become references, the newest stay, and what is referred to is the value of the call.
func TestTrim(t *testing.T) {
	t.Parallel()
	before := talkOf([]int{5000, 5000}, []int{5000}, []int{5000})
	got := outputsOf(trimmer.Trim(before, 11_000))
	id := toolspec.Identity{TenantID: "acme", RunID: "run-1", ToolCallID: "c0-0"}.InvocationID()
	want := `{"truncated":true,"bytes":5000,"output_ref":"` + toolspec.ResultRef(id) + `","more":"trimmed to save space: core__tool_output_cache and core__tool_output_cache_grep read the output, with this output_ref as ref_id"}`
	if string(got[0].Result) != want || got[0].OutputRef != toolspec.ResultRef(id) {
		t.Errorf("the oldest is\n%s\nwant\n%s", got[0].Result, want)
	}
	for i, size := range []int{0, 0, 5000, 5000} {
		if size > 0 && len(got[i].Result) != size || size == 0 && len(got[i].Result) > 400 {
			t.Errorf("output %d has %d bytes", i, len(got[i].Result))
		}
	}
	if !reflect.DeepEqual(before, talkOf([]int{5000, 5000}, []int{5000}, []int{5000})) {
		t.Error("the conversation of the caller has changed")
	}
	if same := trimmer.Trim(before, 20_000); !reflect.DeepEqual(same, before) {
		t.Error("a conversation within the bound has changed")
	}
}

// TestTrimAnswerWithParts: the parts of an answer count as its output.
func TestTrimAnswerWithParts(t *testing.T) {
	t.Parallel()
	image := wire.Answer{Content: json.RawMessage(`"The result has 1 parts."`), Parts: []wire.Part{{MediaType: "image/png", Data: strings.Repeat("A", 4096)}}}
	trimmed := turn.TrimAnswer(image, "result.x")
	if len(trimmed.Parts) > 0 || trimmed.OutputRef != "result.x" || !bytes.Contains(trimmed.Content, []byte(`"bytes":4121`)) {
		t.Errorf("%+v", trimmed)
	}
	image.Parts[0].Data = "AAAA"
	if small := turn.TrimAnswer(image, "result.x"); len(small.Parts) != 1 || small.OutputRef != "" {
		t.Errorf("%+v", small)
	}
}

// TestTrimIsSound holds Trim to its rules for random conversations, and writes the result in all formats.
func TestTrimIsSound(t *testing.T) {
	t.Parallel()
	codecs := []wire.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, ollama.Codec{}, gemini.Codec{}}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(2, 400), rapid.IntRange(2, 9000))
		before := talkOf(rapid.SliceOfN(rapid.SliceOfN(size, 0, 4), 0, 6).Draw(t, "turns")...)
		keep := rapid.IntRange(0, 40_000).Draw(t, "keep")
		after := trimmer.Trim(before, keep)
		was, is := outputsOf(before), outputsOf(after)
		sum, trimming := 0, true
		for i, p := range is {
			sum += len(p.Result)
			changed := !bytes.Equal(p.Result, was[i].Result)
			if changed && (!trimming || i == len(is)-1) {
				t.Fatalf("output %d of %d was trimmed, but one before it was not, or it is the newest", i, len(is))
			}
			if !changed && len(was[i].Result) > 400 {
				trimming = false
			}
			if changed && len(p.Result) >= len(was[i].Result) {
				t.Fatalf("output %d grew from %d to %d bytes", i, len(was[i].Result), len(p.Result))
			}
			if changed && !p.IsError && p.OutputRef == "" {
				t.Fatalf("output %d is trimmed and has no reference", i)
			}
		}
		if sum > keep {
			for i, p := range is[:max(0, len(is)-1)] {
				if bytes.Equal(p.Result, was[i].Result) && len(p.Result) > 400 {
					t.Fatalf("%d bytes are kept of %d, and output %d with %d bytes is whole", sum, keep, i, len(p.Result))
				}
			}
		}
		if again := trimmer.Trim(after, keep); !reflect.DeepEqual(again, after) {
			t.Fatal("trimming twice is not trimming once")
		}
		if len(is) == 0 {
			return
		}
		text, err := json.Marshal(after)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conversation.Parse(text); err != nil {
			t.Fatal(err)
		}
		for _, codec := range codecs {
			full, err := conversation.Encode(before, codec, nil)
			if err != nil {
				t.Fatal(err)
			}
			short, err := conversation.Encode(after, codec, nil)
			if err != nil || len(short.Messages) != len(full.Messages) {
				t.Fatalf("%s: %d messages of %d, %v", codec.Format(), len(short.Messages), len(full.Messages), err)
			}
			all := fmt.Sprintf("%s", short.Messages)
			for i, p := range is {
				if p.OutputRef != "" && !strings.Contains(all, p.OutputRef) {
					t.Fatalf("%s: the reference of output %d is not written", codec.Format(), i)
				}
			}
		}
	})
}
