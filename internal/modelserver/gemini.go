package modelserver

import (
	"encoding/json"
	"fmt"
	"strings"
)

type geminiContent struct {
	Role  string
	Parts []struct {
		Text      string
		Thought   bool
		Signature string `json:"thoughtSignature"`
		Call      *struct {
			ID, Name string
			Args     json.RawMessage
		} `json:"functionCall"`
		Result *struct {
			ID, Name string
			Response json.RawMessage
		} `json:"functionResponse"`
	}
}

func decodeGemini(body []byte, model string) (r Request, err error) {
	var in struct {
		System   geminiContent `json:"systemInstruction"`
		Contents []geminiContent
		Tools    []struct {
			Functions []struct{ Name string } `json:"functionDeclarations"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err
	}
	r.Model = model
	for _, p := range in.System.Parts {
		r.System += p.Text
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			r.Tools = append(r.Tools, f.Name)
		}
	}
	for _, c := range in.Contents {
		role := map[string]string{"user": "user", "": "user", "model": "assistant"}[c.Role]
		if role == "" {
			return r, fmt.Errorf("the role %q is unknown", c.Role)
		}
		own, results := Message{Role: role}, Message{Role: "tool"}
		for _, p := range c.Parts {
			own.Reasoning += p.Signature
			switch {
			case p.Call != nil:
				own.Calls = append(own.Calls, Call{ID: p.Call.ID, Name: p.Call.Name, Args: string(p.Call.Args)})
			case p.Result != nil:
				results.Results = append(results.Results, Result{CallID: p.Result.ID, Name: p.Result.Name, Text: string(p.Result.Response)})
			case !p.Thought:
				own.Text += p.Text
			}
		}
		if len(results.Results) > 0 {
			r.add(results)
		}
		if len(results.Results) == 0 || own.Text != "" {
			r.add(own)
		}
	}
	return r, nil
}

func geminiFrames(reply Reply, r Request) (frames []string) {
	behind := `,"modelVersion":` + quote(r.Model) + `,"responseId":"Zr2AaJ6xKp-5kdUPmN2VyQk"}`
	if !reply.NoUsage {
		u := reply.usage()
		in := u.Input + u.CacheRead
		behind = fmt.Sprintf(`,"usageMetadata":{"promptTokenCount":%d,"cachedContentTokenCount":%d,"candidatesTokenCount":%d,"thoughtsTokenCount":%d,"totalTokenCount":%d,`+
			`"promptTokensDetails":[{"modality":"TEXT","tokenCount":%d}]}`, in, u.CacheRead, u.Output-u.Reasoning, u.Reasoning, in+u.Output, in) + behind
	}
	candidate := func(finish string, parts ...string) {
		frames = append(frames, sse("", `{"candidates":[{"content":{"parts":[`+strings.Join(parts, ",")+`],"role":"model"}`+finish+`,"index":0}]`+behind))
	}
	signature := ""
	if reply.Reasoning != "" {
		signature = `,"thoughtSignature":` + quote(sealed(reply.Reasoning))
		for _, piece := range halves(reply.Reasoning) {
			candidate("", `{"text":`+quote(piece)+`,"thought":true}`)
		}
	}
	if reply.Text != "" {
		for _, piece := range halves(reply.Text) {
			candidate("", `{"text":`+quote(piece)+`}`)
		}
	}
	for _, c := range reply.Calls {
		if c.Args != "" && !object(c.Args) {
			return append(frames, sse("", `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","index":0,"finishMessage":"Malformed function call"}]`+behind))
		}
		id, args := "", ""
		if c.ID != "" {
			id = `"id":` + quote(c.ID) + `,`
		}
		if c.Args != "" {
			args = `,"args":` + c.Args
		}
		candidate("", `{"functionCall":{`+id+`"name":`+quote(c.Name)+args+`}`+signature+`}`)
		signature = "" // the first call alone has it
	}
	finish := `,"finishReason":"STOP"`
	if reply.Length {
		finish = `,"finishReason":"MAX_TOKENS"`
	}
	candidate(finish, `{"text":""`+signature+`}`)
	return frames
}

func geminiError(status int, text string) string {
	word := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
		503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}[status]
	if word == "" {
		word = "INTERNAL"
	}
	return fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%q}}`, status, quote(text), word)
}

func geminiLate(status int, text string) string { return sse("", geminiError(status, text)) }
