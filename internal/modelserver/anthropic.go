package modelserver

import (
	"encoding/json"
	"fmt"
)

// block is a block of a content of the format anthropic.
type block struct {
	Type, Text, ID, Name, Signature string
	ToolUseID                       string `json:"tool_use_id"`
	Input, Content                  json.RawMessage
}

func decodeAnthropic(body []byte, _ string) (r Request, err error) {
	var in struct {
		Model    string
		System   json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools     []struct{ Name string }
		MaxTokens int `json:"max_tokens"`
		Stream    bool
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	if !in.Stream || in.MaxTokens <= 0 {
		return r, fmt.Errorf("the request is not streamed, or has no max_tokens")
	}
	r.Model = in.Model
	if r.System, err = text(in.System); err != nil {
		return r, err
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for _, m := range in.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return r, fmt.Errorf("the role %q is unknown", m.Role)
		}
		var blocks []block
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			said, err := text(m.Content)
			if err != nil {
				return r, err
			}
			blocks = []block{{Type: "text", Text: said}}
		}
		if err := r.addBlocks(m.Role, blocks); err != nil {
			return r, err
		}
	}
	return r, nil
}

// addBlocks adds a message. Results stand in a message of the user, before its text.
func (r *Request) addBlocks(role string, blocks []block) error {
	own, results := Message{Role: role}, Message{Role: "tool"}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			own.Text += b.Text
		case "thinking":
			own.Reasoning += b.Signature
		case "tool_use":
			own.Calls = append(own.Calls, Call{ID: b.ID, Name: b.Name, Args: string(b.Input)})
		case "tool_result":
			said, err := text(b.Content)
			if err != nil {
				return err
			}
			if own.Text != "" {
				return fmt.Errorf("a result stands behind a text")
			}
			results.Results = append(results.Results, Result{CallID: b.ToolUseID, Text: said})
		default:
			return fmt.Errorf("the type %q is unknown", b.Type)
		}
	}
	if len(results.Results) > 0 {
		r.add(results)
		if own.Text == "" {
			return nil
		}
	}
	r.add(own)
	return nil
}

func anthropicFrames(reply Reply, r Request) (frames []string) {
	event := func(name, members string) {
		frames = append(frames, sse(name, `{"type":"`+name+`"`+members+`}`))
	}
	usage, last := "null", "null"
	if !reply.NoUsage {
		u := reply.usage()
		usage = fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d,"service_tier":"standard"}`,
			u.Input, u.CacheWrite, u.CacheRead, min(u.Output, 1))
		last = fmt.Sprintf(`{"output_tokens":%d}`, u.Output)
	}
	event("message_start", `,"message":{"id":"msg_014p7gG3wDgGV9EUtLvnow3U","type":"message","role":"assistant","model":`+quote(r.Model)+
		`,"content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"usage":`+usage+`}`)
	event("ping", "")
	index := 0
	write := func(block string, deltas ...string) {
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, index, block))
		for _, delta := range deltas {
			event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, index, delta))
		}
		event("content_block_stop", fmt.Sprintf(`,"index":%d`, index))
		index++
	}
	if reply.Reasoning != "" {
		var deltas []string
		for _, piece := range halves(reply.Reasoning) {
			deltas = append(deltas, `{"type":"thinking_delta","thinking":`+quote(piece)+`}`)
		}
		write(`{"type":"thinking","thinking":"","signature":""}`, append(deltas, `{"type":"signature_delta","signature":`+quote(sealed(reply.Reasoning))+`}`)...)
	}
	if reply.Text != "" {
		var deltas []string
		for _, piece := range halves(reply.Text) {
			deltas = append(deltas, `{"type":"text_delta","text":`+quote(piece)+`}`)
		}
		write(`{"type":"text","text":""}`, deltas...)
	}
	stop := "end_turn"
	for _, c := range reply.Calls {
		deltas := []string{`{"type":"input_json_delta","partial_json":""}`}
		for _, piece := range halves(c.Args) {
			deltas = append(deltas, `{"type":"input_json_delta","partial_json":`+quote(piece)+`}`)
		}
		write(`{"type":"tool_use","id":`+quote(c.ID)+`,"name":`+quote(c.Name)+`,"input":{},"caller":{"type":"direct"}}`, deltas...)
		stop = "tool_use"
	}
	if reply.Length {
		stop = "max_tokens"
	}
	event("message_delta", `,"delta":{"stop_reason":"`+stop+`","stop_sequence":null,"stop_details":null,"container":null},"usage":`+last)
	event("message_stop", "")
	return frames
}

func anthropicError(status int, text string) string {
	kind := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
	}[status]
	if kind == "" {
		kind = "api_error"
	}
	return `{"type":"error","error":{"details":null,"type":"` + kind + `","message":` + quote(text) + `},"request_id":"req_1"}`
}

func anthropicLate(status int, text string) string { return sse("error", anthropicError(status, text)) }
