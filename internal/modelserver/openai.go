package modelserver

import (
	"encoding/json"
	"fmt"
	"strings"
)

// chatMessage is a message of the format openai.
type chatMessage struct {
	Role       string
	Content    json.RawMessage
	Reasoning  string     `json:"reasoning_content"`
	ToolCalls  []chatCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type chatCall struct {
	ID       string
	Function struct{ Name, Arguments string }
}

type chatTool struct{ Function struct{ Name string } }

func decodeChat(body []byte, _ string) (r Request, err error) {
	var in struct {
		Model    string
		Messages []chatMessage
		Tools    []chatTool
		Stream   bool
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	if !in.Stream {
		return r, fmt.Errorf("the request is not streamed")
	}
	r.Model = in.Model
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	for _, m := range in.Messages {
		said, err := text(m.Content)
		if err != nil {
			return r, err
		}
		switch m.Role {
		case "system", "developer":
			r.System += said
		case "tool":
			r.add(Message{Role: "tool", Results: []Result{{CallID: m.ToolCallID, Text: said}}})
		case "user", "assistant":
			out := Message{Role: m.Role, Text: said, Reasoning: m.Reasoning}
			for _, c := range m.ToolCalls {
				out.Calls = append(out.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
			}
			r.add(out)
		default:
			return r, fmt.Errorf("the role %q is unknown", m.Role)
		}
	}
	return r, nil
}

func chatFrames(reply Reply, r Request) (frames []string) {
	var in struct {
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	_ = json.Unmarshal(r.Body, &in) // it was read before
	head := `{"id":"chatcmpl-A3Tguz3LSXTHBTY2NAPBCSyfBltxF","object":"chat.completion.chunk","created":1725392480,"model":` + quote(r.Model) +
		`,"service_tier":"default","system_fingerprint":"fp_157b3831f5","choices":[`
	chunk := func(delta, finish string) {
		frames = append(frames, sse("", head+`{"index":0,"delta":`+delta+`,"logprobs":null,"finish_reason":`+finish+`}],"usage":null}`))
	}
	chunk(`{"role":"assistant","content":null,"refusal":null}`, "null")
	if reply.Reasoning != "" {
		for _, piece := range halves(reply.Reasoning) {
			chunk(`{"reasoning_content":`+quote(piece)+`}`, "null")
		}
	}
	if reply.Text != "" {
		for _, piece := range halves(reply.Text) {
			chunk(`{"content":`+quote(piece)+`}`, "null")
		}
	}
	for i, c := range reply.Calls {
		id := ""
		if c.ID != "" {
			id = `"id":` + quote(c.ID) + `,`
		}
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s"type":"function","function":{"name":%s,"arguments":""}}]}`, i, id, quote(c.Name)), "null")
	}
	// The pieces of parallel calls come mixed.
	for piece := range 2 {
		for i, c := range reply.Calls {
			if pieces := halves(c.Args); piece < len(pieces) && pieces[piece] != "" {
				chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(pieces[piece])), "null")
			}
		}
	}
	finish := `"stop"`
	if len(reply.Calls) > 0 {
		finish = `"tool_calls"`
	}
	if reply.Length {
		finish = `"length"`
	}
	chunk(`{}`, finish)
	if in.Options.Usage && !reply.NoUsage {
		u := reply.usage()
		frames = append(frames, sse("", head+fmt.Sprintf(`],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
			`"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}},"obfuscation":"x9f"}`,
			u.Input+u.CacheRead, u.Output, u.Input+u.CacheRead+u.Output, u.CacheRead, u.Reasoning)))
	}
	return append(frames, sse("", "[DONE]"))
}

// openaiError is the body of an error of OpenAI, in both of its formats.
func openaiError(status int, text string) string {
	kind, code := "server_error", "null"
	switch status {
	case 400, 404, 413:
		kind = "invalid_request_error"
	case 401:
		kind, code = "invalid_request_error", `"invalid_api_key"`
	case 429:
		kind, code = "tokens", `"rate_limit_exceeded"`
	}
	return fmt.Sprintf(`{"error":{"message":%s,"type":%q,"param":null,"code":%s}}`, quote(text), kind, code)
}

func openaiLate(status int, text string) string { return sse("", openaiError(status, text)) }

// responsesLate is the event of an error of the format responses.
func responsesLate(status int, text string) string {
	code := "server_error"
	switch {
	case status == 429:
		code = "rate_limit_exceeded"
	case status < 500:
		code = "invalid_request_error"
	}
	return sse("error", `{"type":"error","sequence_number":7,"code":"`+code+`","message":`+quote(text)+`,"param":null}`)
}

// object reports whether arguments are a JSON object.
func object(args string) bool {
	return json.Valid([]byte(args)) && strings.HasPrefix(strings.TrimSpace(args), "{")
}
