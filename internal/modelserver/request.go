package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Request is a request that the server got, in a form that no format has.
type Request struct {
	Model  string
	System string
	// Messages are in their order. Successive messages or items of the assistant are one message, and so are
	// successive results.
	Messages []Message
	// Tools are the names of the tools offered.
	Tools  []string
	Header http.Header
	Body   []byte
	// Answers is the number of messages of the assistant.
	Answers int
	// Asked is how often the same conversation was sent to the same model before.
	Asked int
	// Status is the HTTP status of the reply.
	Status int
}

// Message is a message of a conversation.
type Message struct {
	// Role is system, user, assistant or tool.
	Role string
	Text string
	// Reasoning is what the provider needs back of its reasoning: the signature, the encrypted content or, in
	// the format ollama, the text.
	Reasoning string
	Calls     []Call
	Results   []Result
}

// Result is the result of a call.
type Result struct {
	// CallID and Name are empty if the format has none.
	CallID, Name string
	// Text is what the model reads.
	Text string
}

// add adds a message, or an item of the format responses. Successive messages of the assistant become one
// message, and so do successive messages of tools. Messages of the system and of users stay separate.
func (r *Request) add(m Message) {
	last := len(r.Messages) - 1
	if last < 0 || r.Messages[last].Role != m.Role || m.Role == "user" || m.Role == "system" {
		r.Messages = append(r.Messages, m)
		if m.Role == "assistant" {
			r.Answers++
		}
		return
	}
	into := &r.Messages[last]
	into.Text += m.Text
	into.Reasoning += m.Reasoning
	into.Calls = append(into.Calls, m.Calls...)
	into.Results = append(into.Results, m.Results...)
}

// check returns an error for a conversation that a provider refuses.
func (r *Request) check() error {
	if r.Model == "" || len(r.Messages) == 0 {
		return errors.New("a request needs a model and a message")
	}
	var open []Call
	for i, m := range r.Messages {
		if m.Role == "tool" {
			if err := match(open, m.Results); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
			open = nil
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d: the calls before it have no results", i)
		}
		open = m.Calls
	}
	if len(open) > 0 {
		return errors.New("the last calls have no results")
	}
	return nil
}

// match compares calls with their results, which may come in any order.
func match(calls []Call, results []Result) error {
	if len(calls) != len(results) {
		return fmt.Errorf("%d results for %d calls", len(results), len(calls))
	}
	ids := func(next func(yield func(string) bool)) string { return strings.Join(slices.Sorted(next), " ") }
	called := ids(func(yield func(string) bool) {
		for _, c := range calls {
			if !yield(c.ID) {
				return
			}
		}
	})
	answered := ids(func(yield func(string) bool) {
		for _, r := range results {
			if !yield(r.CallID) {
				return
			}
		}
	})
	if called != answered {
		return fmt.Errorf("the results are those of %q, and the calls are %q", answered, called)
	}
	return nil
}

// text reads a content that is a text, or a list of parts with texts.
func text(content json.RawMessage) (string, error) {
	if len(content) == 0 || string(content) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s, nil
	}
	var parts []struct{ Text string }
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", fmt.Errorf("a content is no text and no list: %w", err)
	}
	for _, p := range parts {
		s += p.Text
	}
	return s, nil
}

// quote returns the JSON of a text.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // every text has a form in JSON
	}
	return string(b)
}

// sse returns an event of a stream, with its name if it has one.
func sse(name, data string) string {
	if name == "" {
		return "data: " + data + "\n\n"
	}
	return "event: " + name + "\ndata: " + data + "\n\n"
}
