package turns

import (
	"context"
	"fmt"
	"strings"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	llm "github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/worker"
)

// turnPolicy allows the tenant acme the tools of tests except test__forbidden.
const turnPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    rules:
      - {tool: test__forbidden, decision: deny, message: not for agents}
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

// wanted is one call in a response of a model.
type wanted struct{ id, name, args string }

// interleaved returns a stream of Chat Completions in which the pieces of several calls are mixed.
func interleaved(calls ...wanted) string {
	var b strings.Builder
	event := func(delta, reason string) { b.WriteString(chunk(delta, reason)) }
	event(`{"role":"assistant","content":null}`, "null")
	for i, c := range calls {
		event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i,
			e2etest.AsJSON(c.id), e2etest.AsJSON(c.name)), "null")
	}
	for at, more := 0, true; more; at += 4 {
		more = false
		for i, c := range calls {
			if at < len(c.args) {
				more = true
				event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, e2etest.AsJSON(c.args[at:min(at+4, len(c.args))])),
					"null")
			}
		}
	}
	event(`{}`, `"tool_calls"`)
	return b.String() + "data: [DONE]\n\n"
}

// echoes starts a worker with a read and a write that return the text of their arguments, and counts their runs.
func echoes(w *e2etest.World) *e2etest.Ledger {
	w.T.Helper()
	effects := &e2etest.Ledger{}
	w.Work(worker.Tools(e2etest.Tool("test__echo", effects.Counted(e2etest.Echo)),
		e2etest.Tool("test__write", effects.Counted(e2etest.Echo), e2etest.Idempotent)))
	return effects
}

// turnClient is a client that takes turns of one offer of tools.
type turnClient struct {
	*pawl.Client
	offer pawl.Offer
}

// newTurnClient waits until the workers have published this number of tools, and returns a turnClient with the offer of the tenant acme.
func newTurnClient(w *e2etest.World, codec llm.Codec, tools int) turnClient {
	w.T.Helper()
	k := turnClient{Client: pawl.New(w.Temporal, pawl.Options{Outputs: w.Store, Catalogs: w.Store, Runs: w.Store})}
	var last error
	w.Until(func() bool {
		k.offer, last = k.Offer(w.T.Context(), catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor}, pawl.OfferOptions{Codec: codec})
		return last == nil && len(k.offer.Names.Tools) >= tools
	}, "the worker has published its tools", &last)
	return k
}

// turn returns a turn with the offer of the client.
func (k turnClient) turn(key string, codec llm.Codec) turn.Turn {
	return turn.Turn{
		Key: key, Codec: codec, Streamed: true, Offer: k.offer,
		Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: e2etest.Actor},
	}
}

// take takes a turn that does not have to wait for a person, and returns its reply and its messages.
func (k turnClient) take(t *testing.T, tu turn.Turn, response string) (turn.Reply, []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.WaitTimeout)
	defer cancel()
	reply, err := tu.Take(ctx, k.Client, strings.NewReader(response))
	if err != nil {
		t.Fatal(err)
	}
	messages := make([]string, len(reply.Messages))
	for i, m := range reply.Messages {
		messages[i] = string(m)
	}
	return reply, messages
}
