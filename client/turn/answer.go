package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/toolspec/sanitize"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/truncate"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// MaxAnswer bounds the content of an answer to a model, in bytes. A larger value gets its short
// form.
const MaxAnswer = conversation.MaxResult

// formMessages returns the messages that the next request to the model adds: the message of the model, and the answers to its calls. Each
// call of r must have a result.
func (t Turn) formMessages(ctx context.Context, c *client.Client, r Reply) ([]json.RawMessage, error) {
	messages, err := Items(r.Response.Message)
	if err != nil || len(r.Outcomes) == 0 {
		return messages, err
	}
	answers, err := formAnswers(ctx, c, t.Context.TenantID, r.Outcomes)
	if err != nil {
		return nil, err
	}
	answered, err := t.Codec.Answers(answers)
	if err != nil {
		return nil, err
	}
	return append(messages, answered...), nil
}

// Answers returns the answers to the calls of a plan, in their order. results has a result for each call, also
// for refused calls and for calls that are the same as an earlier call. It reads stored values with c.
func (p Plan) Answers(ctx context.Context, c *client.Client, tenantID string, results []toolspec.Result) ([]wire.Answer, error) {
	outcomes := make([]Outcome, len(p.Calls))
	for i, planned := range p.Calls {
		outcomes[i] = Outcome{Call: planned.Call, Result: results[i], hint: planned.Hint}
	}
	return formAnswers(ctx, c, tenantID, outcomes)
}

// formAnswers returns the answers to the calls of one response, in their order. Of their images, audio and documents
// they have the first maxAllMedia bytes.
func formAnswers(ctx context.Context, c *client.Client, tenantID string, outcomes []Outcome) ([]wire.Answer, error) {
	answers := make([]wire.Answer, len(outcomes))
	media := maxAllMedia
	for i, o := range outcomes {
		var err error
		if answers[i], err = formAnswer(ctx, c, tenantID, o, &media); err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
	}
	return answers, nil
}

// Items returns the items of a message that is an array of items, or the message itself.
func Items(message json.RawMessage) (items []json.RawMessage, err error) {
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

// formAnswer returns the answer to a call. media is how many bytes of images, audio and documents the answers of a response may
// still have; formAnswer subtracts those of this answer. If c cannot read a stored value, because it has no reader of outputs or
// the output has expired, the answer has what the result has of it: the short form, if there is one, and the
// reference.
func formAnswer(ctx context.Context, c *client.Client, tenantID string, o Outcome, media *int) (a wire.Answer, err error) {
	a = wire.Answer{Index: o.Call.Index, CallID: o.Call.ID, Name: o.Call.Name, IsError: !o.Result.OK, OutputRef: o.Result.OutputRef}
	if a.IsError {
		if o.Result.ErrorCode == toolspec.CodeUnavailable && o.hint != "" {
			o.Result.SafeMessage += ": " + o.hint
		}
		a.Content, a.Sanitized, _, err = render(o.Result, nil)
		return a, err
	}
	value, err := wholeValue(ctx, c, tenantID, o.Result)
	if err != nil {
		return a, err
	}
	ref := wholeRef(o.Result)
	if o.Result.Kind == toolspec.KindParts {
		if cut, ok := answerParts(&a, value, ref, media); ok {
			switch {
			case cut && a.OutputRef == "":
				a.OutputRef = ref
			case !cut && o.Result.Truncated:
				a.OutputRef = "" // the answer has the whole value
			}
			return a, nil
		}
		value = o.Result.Value
	}
	var cut bool
	a.Content, a.Sanitized, cut, err = render(o.Result, value)
	if cut && a.OutputRef == "" {
		a.OutputRef = ref
	}
	return a, err
}

// wholeValue returns the value of a result. If the result has only a reference, or only the short form of a list
// of parts, wholeValue reads the stored value with c. If c cannot read it, wholeValue returns what the result has.
func wholeValue(ctx context.Context, c *client.Client, tenantID string, r toolspec.Result) (json.RawMessage, error) {
	hasShortParts := r.Truncated && r.Kind == toolspec.KindParts
	if r.OutputRef == "" || len(r.Value) > 0 && !hasShortParts { // the result has its value or a short form of it; its OutputRef may name a stream
		return r.Value, nil
	}
	stored, err := c.Output(ctx, tenantID, r.OutputRef)
	isGone := errors.Is(err, client.ErrNotFound) || errors.Is(err, output.ErrExpired) || errors.Is(err, client.ErrOutputTooLarge)
	if errors.Is(err, client.ErrNoOutputs) || isGone {
		// A program may take the same turn again after the output was deleted. The call has ended all the same, so
		// this is no error.
		return r.Value, nil
	}
	return stored, err
}

// Content returns what a model reads of a result: its value, the short form of a value of more than
// MaxAnswer bytes, or the failure, which a codec writes behind toolspec.ErrorPrefix. Its texts are
// sanitized, see wire.Answer.Sanitized. value is the value of the result, read by its reference if
// the result has one.
func Content(r toolspec.Result, value json.RawMessage) (json.RawMessage, error) {
	content, _, _, err := render(r, value)
	return content, err
}

// render returns the content of an answer, what sanitize.Value changed in a value, and whether the
// content is a short form. For a failure, sanitized is nil: its content has the list.
func render(r toolspec.Result, value json.RawMessage) (content json.RawMessage, sanitized []string, cut bool, err error) {
	if !r.OK {
		content, err = encodeFailure(r)
		return content, nil, false, err
	}
	if r.Truncated {
		value = r.Value // the short form, which says where the whole is
	}
	value = bytes.TrimSpace(value)
	clean, sanitized := sanitize.Value(value)
	if len(clean) <= MaxAnswer && (len(clean) > 0 || r.OutputRef == "") {
		if len(clean) == 0 {
			clean = json.RawMessage(`null`)
		}
		return clean, sanitized, false, nil
	}
	whole := truncate.Value{JSON: clean, Kind: r.Kind, Most: MaxAnswer, Bytes: len(value)}
	return whole.Short(wholeRef(r)), sanitized, true, nil
}

// wholeRef returns the reference of the whole value of a result, or "" if it has none.
func wholeRef(r toolspec.Result) string {
	if r.InvocationID != "" && len(r.Value) > 0 && !r.Truncated {
		return toolspec.ResultRef(r.InvocationID) // the result itself has the whole value
	}
	return r.OutputRef
}

// failure is the content of an answer to a call without a value. It has nothing of policy and
// nothing of the arguments.
type failure struct {
	OK           bool            `json:"ok"`
	ErrorCode    toolspec.Code   `json:"errorCode"`
	Message      string          `json:"message"`
	Details      *failureDetails `json:"details,omitempty"`
	RetryAfterMs int64           `json:"retryAfterMs,omitempty"`
	// Sanitized has the meaning of wire.Answer.Sanitized.
	Sanitized []string `json:"sanitized,omitempty"`
}

type failureDetails struct {
	Problems []toolspec.Problem `json:"problems,omitempty"`
	// Code is the code of a hook.
	Code  string `json:"code,omitempty"`
	Cause string `json:"cause,omitempty"`
}

// maxProblems bounds the problems in one answer.
const maxProblems = 16

// encodeFailure returns the JSON of a failure for a model, in at most MaxAnswer bytes if it can: it leaves out
// problems from the end of the list, and at last all details.
func encodeFailure(r toolspec.Result) (json.RawMessage, error) {
	// The codec adds the prefix itself.
	f := failure{ErrorCode: r.ErrorCode, Message: strings.TrimPrefix(r.SafeMessage, toolspec.ErrorPrefix), RetryAfterMs: r.RetryAfterMs}
	if d := r.Details; d != nil {
		shown := failureDetails{Code: d.Code, Cause: d.Cause}
		for _, p := range d.Problems {
			// A problem that only repeats the message adds nothing.
			if p.Path != "" || p.Message != r.SafeMessage {
				shown.Problems = append(shown.Problems, p)
			}
		}
		shown.Problems = shown.Problems[:min(len(shown.Problems), maxProblems)]
		for len(shown.Problems) > 0 || shown.Code != "" || shown.Cause != "" {
			f.Details = &shown
			if text, err := f.encode(); err != nil || len(text) <= MaxAnswer {
				return text, err
			}
			if f.Details = nil; len(shown.Problems) == 0 {
				break
			}
			shown.Problems = shown.Problems[:len(shown.Problems)-1]
		}
	}
	return f.encode()
}

// encode returns the JSON of a failure with sanitized texts.
func (f failure) encode() (json.RawMessage, error) {
	text, err := strictjson.Encode(f)
	clean, changed := sanitize.Value(text)
	if err != nil || changed == nil {
		return clean, err
	}
	f.Sanitized = changed
	text, err = strictjson.Encode(f)
	clean, _ = sanitize.Value(text)
	return clean, err
}
