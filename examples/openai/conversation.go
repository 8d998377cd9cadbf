package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

// maxTurns bounds how often the model may call tools.
const maxTurns = 20

// conversation is between a person and a model that has tools.
type conversation struct {
	model model
	pawl  *client.Client
	run   string
}

// ask offers the tools, runs what the model calls, and returns its last words.
func (c conversation) ask(ctx context.Context, question string) (string, error) {
	who := toolspec.Context{TenantID: "acme", RunID: c.run, ActorID: "agent:openai"}
	offer, err := c.pawl.Offer(ctx, catalog.Viewer{TenantID: who.TenantID, ActorID: who.ActorID}, client.OfferOptions{Codec: openai.Codec{}})
	if err != nil {
		return "", err
	}
	asked, err := json.Marshal(map[string]string{"role": "user", "content": question})
	if err != nil {
		return "", err
	}
	messages := []json.RawMessage{asked}
	for n := range maxTurns {
		response, err := c.model.respond(ctx, messages, offer.Tools)
		if err != nil {
			return "", err
		}
		// A call that is malformed, denied or fails is answered with an error: the model
		// goes on, and corrects it or says so.
		reply, err := turn.Turn{
			Key: fmt.Sprintf("turn-%d", n), Codec: openai.Codec{}, Streamed: true, Offer: offer, Context: who,
		}.Take(ctx, c.pawl, response)
		_ = response.Close()
		if err != nil {
			return "", err
		}
		if len(reply.Outcomes) == 0 {
			return reply.Response.Text, nil
		}
		messages = append(messages, reply.Messages...)
	}
	return "", fmt.Errorf("no answer in %d turns", maxTurns)
}
