package modelserver

import (
	"encoding/json"
	"fmt"
)

func decodeOllama(body []byte, _ string) (r Request, err error) {
	var in struct {
		Model    string
		Messages []struct {
			Role, Content, Thinking string
			ToolCalls               []struct {
				ID       string
				Function struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
			ToolName   string `json:"tool_name"`
			ToolCallID string `json:"tool_call_id"`
		}
		Tools  []chatTool
		Stream *bool
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	if in.Stream != nil && !*in.Stream {
		return r, fmt.Errorf("the request is not streamed")
	}
	r.Model = in.Model
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	for _, m := range in.Messages {
		switch m.Role {
		case "system":
			r.System += m.Content
		case "tool":
			r.add(Message{Role: "tool", Results: []Result{{CallID: m.ToolCallID, Name: m.ToolName, Text: m.Content}}})
		case "user", "assistant":
			out := Message{Role: m.Role, Text: m.Content, Reasoning: m.Thinking}
			for _, c := range m.ToolCalls {
				out.Calls = append(out.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: string(c.Function.Arguments)})
			}
			r.add(out)
		default:
			return r, fmt.Errorf("the role %q is unknown", m.Role)
		}
	}
	return r, nil
}

func ollamaFrames(reply Reply, r Request) (frames []string) {
	line := func(members, behind string) {
		frames = append(frames, `{"model":`+quote(r.Model)+`,"created_at":"2025-07-07T20:32:53.844124Z","message":{"role":"assistant",`+members+`},`+behind+"}\n")
	}
	const more = `"done":false`
	if reply.Reasoning != "" {
		for _, piece := range halves(reply.Reasoning) {
			line(`"content":"","thinking":`+quote(piece), more)
		}
	}
	if reply.Text != "" {
		for _, piece := range halves(reply.Text) {
			line(`"content":`+quote(piece), more)
		}
	}
	for i, c := range reply.Calls {
		id, args := "", c.Args
		if c.ID != "" {
			id = `"id":` + quote(c.ID) + `,`
		}
		switch {
		case args == "":
			args = "{}"
		case !json.Valid([]byte(args)):
			args = quote(args)
		}
		line(fmt.Sprintf(`"content":"","tool_calls":[{%s"function":{"index":%d,"name":%s,"arguments":%s}}]`, id, i, quote(c.Name), args), more)
	}
	reason, usage := "stop", ""
	if reply.Length {
		reason = "length"
	}
	if !reply.NoUsage {
		u := reply.usage()
		usage = fmt.Sprintf(`,"prompt_eval_count":%d,"prompt_eval_duration":24573166,"eval_count":%d,"eval_duration":115959084`, u.Input+u.CacheRead, u.Output)
	}
	line(`"content":""`, `"done":true,"done_reason":"`+reason+`","total_duration":182242375,"load_duration":41295167`+usage)
	return frames
}

func ollamaError(_ int, text string) string { return `{"error":` + quote(text) + `}` }

func ollamaLate(_ int, text string) string { return `{"error":` + quote(text) + "}\n" }
