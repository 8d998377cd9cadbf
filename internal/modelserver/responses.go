package modelserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// item is an item of the format responses.
type item struct {
	Type, Role, ID  string
	Content         json.RawMessage
	CallID          string `json:"call_id"`
	Name, Arguments string
	Output          json.RawMessage
	Encrypted       string `json:"encrypted_content"`
}

func decodeItems(body []byte, _ string) (r Request, err error) {
	var in struct {
		Model  string
		Input  []item
		Tools  []struct{ Name string }
		Stream bool
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	if !in.Stream {
		return r, fmt.Errorf("the request is not streamed")
	}
	r.Model = in.Model
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for _, i := range in.Input {
		switch i.Type {
		case "message", "":
			said, err := text(i.Content)
			if err != nil {
				return r, err
			}
			switch i.Role {
			case "system", "developer":
				r.System += said
			case "user", "assistant":
				r.add(Message{Role: i.Role, Text: said})
			default:
				return r, fmt.Errorf("the role %q is unknown", i.Role)
			}
		case "reasoning":
			if i.Encrypted == "" {
				return r, fmt.Errorf("the item %q is not found: items are not persisted when store is false", i.ID)
			}
			r.add(Message{Role: "assistant", Reasoning: i.Encrypted})
		case "function_call":
			r.add(Message{Role: "assistant", Calls: []Call{{ID: i.CallID, Name: i.Name, Args: i.Arguments}}})
		case "function_call_output":
			said, err := text(i.Output)
			if err != nil {
				return r, err
			}
			r.add(Message{Role: "tool", Results: []Result{{CallID: i.CallID, Text: said}}})
		default:
			return r, fmt.Errorf("the type %q is unknown", i.Type)
		}
	}
	return r, nil
}

// itemStream writes the events of the format responses, with their numbers.
type itemStream struct {
	frames []string
	output []string
}

func (s *itemStream) event(name, members string) {
	s.frames = append(s.frames, sse(name, fmt.Sprintf(`{"type":%q,"sequence_number":%d,%s}`, name, len(s.frames), members)))
}

func (s *itemStream) text(said string, status string) {
	at := fmt.Sprintf(`"item_id":"msg_1","output_index":%d,"content_index":0`, len(s.output))
	part := `{"type":"output_text","text":` + quote(said) + `,"annotations":[]}`
	whole := `{"type":"message","id":"msg_1","status":"` + status + `","role":"assistant","content":[` + part + `]}`
	s.event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]}`, len(s.output)))
	s.event("response.content_part.added", at+`,"part":{"type":"output_text","text":"","annotations":[]}`)
	for _, piece := range halves(said) {
		s.event("response.output_text.delta", at+`,"delta":`+quote(piece)+`,"logprobs":[]`)
	}
	s.event("response.output_text.done", at+`,"text":`+quote(said))
	s.event("response.content_part.done", at+`,"part":`+part)
	s.done(whole)
}

func (s *itemStream) call(c Call, n int, status string) {
	form := func(args, status string) string {
		return fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":%s,"name":%s,"arguments":%s,"status":%q}`, n+1, quote(c.ID), quote(c.Name), quote(args), status)
	}
	at := fmt.Sprintf(`"item_id":"fc_%d","output_index":%d`, n+1, len(s.output))
	s.event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, len(s.output), form("", "in_progress")))
	for _, piece := range halves(c.Args) {
		s.event("response.function_call_arguments.delta", at+`,"delta":`+quote(piece)+`,"obfuscation":"aLqV"`)
	}
	s.event("response.function_call_arguments.done", at+`,"arguments":`+quote(c.Args))
	s.done(form(c.Args, status))
}

func (s *itemStream) done(item string) {
	s.event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, len(s.output), item))
	s.output = append(s.output, item)
}

// encrypted is the encrypted content of a reasoning, if the request asks for it.
func encrypted(reasoning string, r Request) string {
	var in struct{ Include []string }
	_ = json.Unmarshal(r.Body, &in) // it was read before
	if !slices.Contains(in.Include, "reasoning.encrypted_content") {
		return ""
	}
	return sealed(reasoning)
}

func itemFrames(reply Reply, r Request) []string {
	u, usage := reply.usage(), "null"
	if !reply.NoUsage {
		usage = fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			u.Input+u.CacheRead, u.CacheRead, u.Output, u.Reasoning, u.Input+u.CacheRead+u.Output)
	}
	s := &itemStream{}
	response := func(status, details, usage string) string {
		return `"response":{"id":"resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b","object":"response","created_at":1741476542,"status":"` + status +
			`","error":null,"incomplete_details":` + details + `,"instructions":null,"max_output_tokens":null,"model":` + quote(r.Model) +
			`,"output":[` + strings.Join(s.output, ",") + `],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},` +
			`"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":` + usage +
			`,"user":null,"metadata":{}}`
	}
	s.event("response.created", response("in_progress", "null", "null"))
	s.event("response.in_progress", response("in_progress", "null", "null"))
	if reply.Reasoning != "" {
		s.event("response.output_item.added", `"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}`)
		content := ""
		if text := encrypted(reply.Reasoning, r); text != "" {
			content = `,"encrypted_content":` + quote(text)
		}
		s.done(`{"type":"reasoning","id":"rs_1","summary":[]` + content + `}`)
	}
	status, event, details := "completed", "response.completed", "null"
	if reply.Length {
		status, event, details = "incomplete", "response.incomplete", `{"reason":"max_output_tokens"}`
	}
	if reply.Text != "" {
		s.text(reply.Text, status)
	}
	for i, c := range reply.Calls {
		s.call(c, i, status)
	}
	s.event(event, response(status, details, usage))
	return s.frames
}
