package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// Turn is what it takes to answer the calls of one response of a model. The same
// turn may be taken again and again, at once or later, by anybody: what has started
// is found, what has ended is not repeated, and the messages are the same.
type Turn struct {
	// Key names the response: 1–64 of [A-Za-z0-9_.-], once in a run. A call without an
	// id of the provider's gets <Key>-<index>, counted from 0. It is required, for
	// an id made up anew would be another call.
	Key string
	// Codec is that of the provider's format.
	Codec wire.Codec
	// Streamed says that the response is a stream of the format's events.
	Streamed bool
	// Offer is what the request offered: see Client.Offer. Without it a model must call
	// tools by their ids, and every call counts as one with an effect.
	Offer Offer
	// Context is that of every call: tenant, run, actor and the rest.
	Context toolspec.Context
	// AllowedConnectionIDs narrows the connections that the calls may use.
	AllowedConnectionIDs []string
	// Prepare, if given, completes each invocation before it starts, always in the same
	// way: with a connection for its tool, or with a submitter's proof (Vouch). It
	// must not change the identity or the arguments.
	Prepare func(*toolspec.Invocation) error
	// OwnIDs names every call <Key>-<index>, for providers whose ids are not unique in
	// a run, such as call_0 in every response. Their own ids still go back to them.
	OwnIDs bool
	// Together starts calls with effects beside each other. Without it a call that is
	// not read-only runs alone, after what stands before it in the response and before
	// what stands behind it, as the model wrote them.
	Together bool
	// AtOnce bounds the calls that are under way at once; 0 means 8.
	AtOnce int
	// Wait bounds how long Turn waits for results; 0 means until the context ends. After
	// it, calls without a result are Pending and go on.
	Wait time.Duration
}

// Outcome is what came of one call.
type Outcome struct {
	// Call is what the model asked for.
	Call wire.Call
	// ToolID is what the call's name stands for; empty where that is no tool.
	ToolID string
	// ToolCallID, InvocationID and WorkflowID name the call, where it is one: what
	// cannot be a call was answered here, and no worker has seen it.
	ToolCallID, InvocationID, WorkflowID string
	// Result is how it ended; its zero value while it is Pending, or Err stands.
	Result toolspec.Result
	// Pending says that the call has no result yet, and Started that it runs or waits,
	// such as for a person: Client.State tells. What has not started waits for
	// what stands before it, until the turn is taken again.
	Pending, Started bool
	// Err is why nobody knows: Temporal did not answer, or refused this program. It is
	// not what a tool answered, nor that its output could not be read: that is an error
	// of Turn.
	Err error

	hint string
}

// Reply is what a turn came to.
type Reply struct {
	// Response is what the model said.
	Response wire.Response
	// Outcomes are those of its calls, in their order.
	Outcomes []Outcome
	// Messages are what the next request adds: the assistant's message, then one answer
	// for each call. There are none until each call has an outcome.
	Messages []json.RawMessage
}

// Pending returns the outcomes that are still to come.
func (r Reply) Pending() (waiting []Outcome) {
	for _, o := range r.Outcomes {
		if o.Pending {
			waiting = append(waiting, o)
		}
	}
	return waiting
}

// defaultAtOnce bounds the calls of a turn.
const defaultAtOnce = 8

var turnKey = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Turn reads a response of a model, runs its calls, and forms the messages that the
// provider expects next. Calls stand for themselves: one that is malformed, denied or
// fails is answered with an error that the model can correct, and takes no other with
// it. No call runs before the response is whole, and none of one that was cut off.
//
// An error says that there is no turn to speak of: the turn or the response is
// none, an outcome has an Err, or the store of outputs did not give one. Where ctx
// ended it is ErrNoAnswer: what was started goes on, and the same turn taken again
// finds it. The Reply holds what is known all the same.
func (c *Client) Turn(ctx context.Context, t Turn, response io.Reader) (Reply, error) {
	plan, err := t.Plan(response)
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{Response: plan.Response}
	reply.Outcomes = c.run(ctx, t, plan)
	var failed []error
	for i, o := range reply.Outcomes {
		if o.Err != nil {
			failed = append(failed, fmt.Errorf("call %d: %w", i, o.Err))
		}
	}
	if len(failed) > 0 {
		return reply, fmt.Errorf("client: turn %s: %w", t.Key, errors.Join(failed...))
	}
	if len(reply.Pending()) > 0 {
		return reply, nil
	}
	if err := c.tell(ctx, t, &reply); err != nil {
		return reply, fmt.Errorf("client: turn %s: %w", t.Key, err)
	}
	return reply, nil
}

// check refuses what no turn can be taken with.
func (t Turn) check() error {
	switch {
	case t.Codec == nil:
		return errors.New("client: a turn needs the codec of the provider's format")
	case !turnKey.MatchString(t.Key):
		return errors.New("client: a turn needs a key of 1–64 letters, digits, '_', '.' and '-'")
	case t.Offer.Format != "" && t.Offer.Format != t.Codec.Format():
		return fmt.Errorf("client: the offer is in the format %s, and the response in %s", t.Offer.Format, t.Codec.Format())
	case t.AtOnce < 0 || t.Wait < 0:
		return errors.New("client: a turn's bounds are not negative")
	}
	id := toolspec.Identity{TenantID: t.Context.TenantID, RunID: t.Context.RunID, ToolCallID: "call"}
	if err := id.Check(); err != nil {
		return fmt.Errorf("client: turn: %w", err)
	}
	if err := toolspec.CheckIdentity(t.Context.ActorID); err != nil {
		return fmt.Errorf("client: turn: context.actorId: %w", err)
	}
	return nil
}
