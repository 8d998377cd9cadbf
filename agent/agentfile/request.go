package agentfile

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

var codecs = []wire.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, ollama.Codec{}, gemini.Codec{}}

func formatNames() (names []string) {
	for _, c := range codecs {
		names = append(names, c.Format())
	}
	return names
}

// tryRequest writes a request to the model, and sends it nowhere. A member that the request has already, or a choice
// that the format cannot express, is an error now and not in the first round of a run.
func tryRequest(d agent.Document, m agent.Model) error {
	i := slices.IndexFunc(codecs, func(c wire.Codec) bool { return c.Format() == m.Format })
	if i < 0 {
		return errors.New("the format is unknown")
	}
	codec := codecs[i]
	text := func(role conversation.Role) conversation.Message {
		return conversation.Message{Role: role, Content: []conversation.Part{{Type: conversation.Text, Text: "x"}}}
	}
	messages, err := conversation.Encode(conversation.Conversation{Messages: []conversation.Message{text(conversation.System), text(conversation.User)}}, codec, nil)
	if err != nil {
		return err
	}
	request := provider.Request{
		Codec: codec, Model: m.Name, Messages: messages.Messages, System: messages.System, SystemMember: messages.SystemMember,
		MaxTokens: m.MaxTokens, Members: m.Members, Choice: map[string]json.RawMessage{},
	}
	if len(d.Tools)+len(d.Agents) > 0 {
		if request.Tools, err = codec.Tools([]wire.Tool{{Name: "x", Description: "x", Schema: json.RawMessage(`{"type":"object"}`)}}); err != nil {
			return err
		}
		choice := wire.Choice{Mode: d.Choice.Mode}
		if choice.Mode == wire.Named {
			choice.Name = "x"
		}
		members, err := codec.Choice(choice)
		if err != nil {
			return err
		}
		for _, member := range members {
			request.Choice[member.Name] = member.Value
		}
	}
	_, err = request.New(context.Background(), &url.URL{Scheme: "https", Host: "localhost", Path: provider.Base(m.Format)})
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "provider: "))
	}
	return nil
}
