package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

const tenant, actor = "acme", "agent:ownloop"

// activities ask the model and form messages.
type activities struct {
	pawl  *client.Client
	base  *url.URL
	model string
	http  *http.Client
}

// Ask offers the tools that policy lets the actor use, asks the model, and plans its calls. It runs no call.
func (a *activities) Ask(ctx context.Context, run string, n int, messages []json.RawMessage) (turn.Plan, error) {
	who := toolspec.Context{TenantID: tenant, RunID: run, ActorID: actor}
	offer, err := a.pawl.Offer(ctx, catalog.Viewer{TenantID: tenant, ActorID: actor}, client.OfferOptions{Codec: openai.Codec{}})
	if err != nil {
		return turn.Plan{}, err
	}
	response, err := provider.Open(ctx, a.http, a.base, provider.Request{Codec: openai.Codec{}, Model: a.model, Messages: messages, Tools: offer.Tools})
	if err != nil {
		return turn.Plan{}, err
	}
	defer response.Close()
	return turn.Turn{
		Key: fmt.Sprintf("round-%d", n), Codec: openai.Codec{}, Streamed: true, Offer: offer, Context: who,
	}.Plan(response)
}

// Answer forms the messages that the next request adds: the message of the model, and an answer for each call.
func (a *activities) Answer(ctx context.Context, plan turn.Plan, results []toolspec.Result) ([]json.RawMessage, error) {
	answers, err := plan.Answers(ctx, a.pawl, tenant, results)
	if err != nil {
		return nil, err
	}
	answered, err := openai.Codec{}.Answers(answers)
	return append([]json.RawMessage{plan.Response.Message}, answered...), err
}
