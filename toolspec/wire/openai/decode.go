package openai

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

var errFunctionCall = errors.New("function_call, which tool_calls replaced: offer the functions as tools")

// Decode reads a chat.completion. It returns the first choice. Response.Others is the number of the
// other choices.
func (Codec) Decode(response []byte) (wire.Response, error) {
	r, err := decode(response)
	var sent *wire.ProviderError
	if err != nil && !errors.As(err, &sent) {
		return wire.Response{}, fmt.Errorf("not a response of Chat Completions: %w", err)
	}
	return r, err
}

func decode(response []byte) (wire.Response, error) {
	if len(response) > wire.MaxResponse {
		return wire.Response{}, wire.ErrTooLarge
	}
	v, err := frame.Parse(response)
	if err != nil {
		return wire.Response{}, err
	}
	var top [3]frame.Value
	if err := v.Pick(top[:], "choices", "error", "usage"); err != nil {
		return wire.Response{}, err
	}
	if !top[1].Null() {
		return wire.Response{}, providerError(top[1])
	}
	d := draft{model: v.TextOf("model")}
	d.count(top[2])
	found, cut := false, false
	for choice := range top[0].Elements() {
		var got [3]frame.Value
		if err := choice.Pick(got[:], "index", "message", "finish_reason"); err != nil {
			return wire.Response{}, fmt.Errorf("choices: %w", err)
		}
		if i, _ := got[0].Int(); i != 0 || found {
			d.others++
			continue
		}
		found = true
		if err := d.take(got[1], true); err != nil {
			return wire.Response{}, fmt.Errorf("message: %w", err)
		}
		// Some servers always send an empty reason.
		d.reason, cut = got[2].Loose(), got[2].Null()
	}
	if !found {
		return wire.Response{}, errors.New("there is no choice")
	}
	return d.response(cut), nil
}

// take adds a message, or a delta of a message. whole says that it is a whole message.
func (d *draft) take(message frame.Value, whole bool) error {
	var got [6]frame.Value
	if err := message.Pick(got[:], "content", "refusal", "tool_calls", "function_call", "audio", "reasoning_content"); err != nil {
		return err
	}
	if !got[0].Null() {
		d.say(got[0])
		if whole && got[0].Kind() == '[' {
			d.parts = bytes.Clone(got[0])
		}
	}
	if d.refusal = append(d.refusal, got[1].Escaped()...); len(d.content) == 0 {
		d.unread.Add(got[1].Escaped())
	}
	d.reasoning = append(d.reasoning, got[5].Escaped()...)
	if !got[3].Null() {
		// Some servers always send an empty function_call.
		var legacy [1]frame.Value
		if err := got[3].Pick(legacy[:], "name"); err != nil || len(legacy[0].Escaped()) > 0 {
			return errFunctionCall
		}
	}
	if !got[4].Null() && len(d.audio) == 0 {
		var audio [1]frame.Value
		if err := got[4].Pick(audio[:], "id"); err != nil {
			return fmt.Errorf("audio: %w", err)
		}
		d.audio = append(d.audio, audio[0].Escaped()...)
	}
	return d.takeCalls(got[2], whole)
}

func (d *draft) takeCalls(pieces frame.Value, whole bool) error {
	if pieces.Null() {
		return nil
	}
	if pieces.Kind() != '[' {
		return errors.New("tool_calls: no array")
	}
	of := 0
	for range pieces.Elements() {
		of++
	}
	position := 0
	for element := range pieces.Elements() {
		p, err := readPiece(element)
		if err != nil {
			return fmt.Errorf("tool_calls: %w", err)
		}
		// The calls of a whole response have no index; the position takes its place.
		if whole {
			p.index, p.indexed = position, true
		}
		if err := d.calls.add(p, position, of); err != nil {
			return err
		}
		position++
	}
	return nil
}

// providerError reads the member "error" of OpenAI and other servers: an object, or a text.
func providerError(v frame.Value) *wire.ProviderError {
	e := &wire.ProviderError{Raw: bytes.Clone(v), Message: v.Loose()}
	var got [3]frame.Value
	if v.Pick(got[:], "message", "type", "code") != nil {
		return e
	}
	e.Message = got[0].Loose()
	// The code is more specific than the type. Some servers send a number as the code.
	if e.Kind = got[2].Loose(); got[2].Kind() == '0' {
		e.Kind = string(got[2])
	}
	if e.Kind == "" {
		e.Kind = got[1].Loose()
	}
	return e
}
