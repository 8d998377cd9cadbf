package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// MaxAnswer bounds the content of an answer to a model, in bytes: more becomes a
// preview.
const MaxAnswer = conversation.MaxResult

// tell forms the messages of a reply whose calls all have an outcome.
func (c *Client) tell(ctx context.Context, t Turn, r *Reply) error {
	messages, err := flat(r.Response.Message)
	if err != nil {
		return err
	}
	answers := make([]wire.Answer, len(r.Outcomes))
	for i, o := range r.Outcomes {
		if answers[i], err = c.answer(ctx, t.Context.TenantID, o); err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
	}
	if len(answers) > 0 {
		told, err := t.Codec.Answers(answers)
		if err != nil {
			return err
		}
		messages = append(messages, told...)
	}
	r.Messages = messages
	return nil
}

// flat is a message, or the items of one that is several.
func flat(message json.RawMessage) (items []json.RawMessage, err error) {
	message = bytes.TrimSpace(message)
	switch {
	case len(message) == 0:
		return nil, nil
	case message[0] != '[':
		return []json.RawMessage{message}, nil
	}
	err = json.Unmarshal(message, &items)
	return items, err
}

// answer is what a model is told of an outcome.
func (c *Client) answer(ctx context.Context, tenantID string, o Outcome) (a wire.Answer, err error) {
	a = wire.Answer{Index: o.Call.Index, CallID: o.Call.ID, Name: o.Call.Name, IsError: !o.Result.OK, OutputRef: o.Result.OutputRef}
	if a.IsError {
		if o.Result.ErrorCode == toolspec.CodeUnavailable && o.hint != "" {
			o.Result.SafeMessage += ": " + o.hint
		}
		a.Content, err = failureOf(o.Result)
		return a, err
	}
	value := o.Result.Value
	if o.Result.OutputRef != "" && c.outputs != nil {
		if value, err = c.outputs.Output(ctx, tenantID, o.Result.OutputRef); err != nil {
			return a, err
		}
	}
	if len(value) > MaxAnswer && a.OutputRef == "" && o.Result.InvocationID != "" {
		a.OutputRef = toolspec.ResultRef(o.Result.InvocationID) // the result itself has all of it
	}
	a.Content, err = fitting(value, o.Result)
	return a, err
}

// failure is what a model may know of a call without a value: nothing of policy, and
// nothing of what was sent.
type failure struct {
	OK           bool            `json:"ok"`
	ErrorCode    toolspec.Code   `json:"errorCode"`
	Message      string          `json:"message"`
	Details      *failureDetails `json:"details,omitempty"`
	RetryAfterMs int64           `json:"retryAfterMs,omitempty"`
}

type failureDetails struct {
	Problems []toolspec.Problem `json:"problems,omitempty"`
	// Code is a hook's own.
	Code  string `json:"code,omitempty"`
	Cause string `json:"cause,omitempty"`
}

// maxToldProblems bounds the problems that a model is told at once.
const maxToldProblems = 16

func failureOf(r toolspec.Result) (json.RawMessage, error) {
	f := failure{ErrorCode: r.ErrorCode, Message: r.SafeMessage, RetryAfterMs: r.RetryAfterMs}
	if d := r.Details; d != nil {
		told := failureDetails{Code: d.Code, Cause: d.Cause}
		for _, p := range d.Problems {
			// What only says the message again, nowhere in particular, is no detail.
			if p.Path != "" || p.Message != r.SafeMessage {
				told.Problems = append(told.Problems, p)
			}
		}
		told.Problems = told.Problems[:min(len(told.Problems), maxToldProblems)]
		for len(told.Problems) > 0 || told.Code != "" || told.Cause != "" {
			f.Details = &told
			if text, err := written(f); err != nil || len(text) <= MaxAnswer {
				return text, err
			}
			if f.Details = nil; len(told.Problems) == 0 {
				break
			}
			told.Problems = told.Problems[:len(told.Problems)-1]
		}
	}
	return written(f)
}

// preview stands for a value that is too large to tell: what it begins with, and how
// much there is. Where the whole of it is kept stands beside it, in the answer.
type preview struct {
	Preview any `json:"preview,omitempty"`
	// Count is of the elements of a list, the members of an object, or the characters
	// of a text.
	Count     *int `json:"count,omitempty"`
	Bytes     int  `json:"bytes,omitempty"`
	Truncated bool `json:"truncated"`
}

// fitting is a value as it is, or a preview of it that is valid JSON all the same.
func fitting(value json.RawMessage, r toolspec.Result) (json.RawMessage, error) {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0 && r.OutputRef != "":
		return written(preview{Truncated: true})
	case len(value) == 0:
		return json.RawMessage(`null`), nil
	case len(value) <= MaxAnswer:
		return value, nil
	}
	p := preview{Bytes: len(value), Truncated: true}
	// Escapes make a preview larger than what it shows.
	for room := MaxAnswer * 3 / 4; ; room /= 2 {
		p.Preview, p.Count = beginning(value, room)
		if text, err := written(p); err != nil || len(text) <= MaxAnswer {
			return text, err
		}
	}
}

// beginning is what fits into some bytes of a value, and how much there is of it.
func beginning(value json.RawMessage, room int) (any, *int) {
	var list []json.RawMessage
	var members map[string]json.RawMessage
	var text string
	switch {
	case json.Unmarshal(value, &list) == nil:
		shown := []json.RawMessage{}
		for _, element := range list {
			if room -= len(element) + 1; room < 0 {
				break
			}
			shown = append(shown, element)
		}
		count := len(list)
		if len(list) > 0 && len(shown) == 0 { // the first is too large by itself
			return cut(string(value), room+len(list[0])+1), &count
		}
		return shown, &count
	case json.Unmarshal(value, &text) == nil:
		count := utf8.RuneCountInString(text)
		return cut(text, room), &count
	case json.Unmarshal(value, &members) == nil:
		count := len(members)
		return cut(string(value), room), &count
	}
	return cut(string(value), room), nil
}

// cut shortens a text to some bytes, between two characters.
func cut(text string, room int) string {
	if len(text) <= room {
		return text
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return text[:room]
}

// written leaves <, > and & as they are: models read this.
func written(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
