package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// Turn describes how to answer the calls of one response of a model. Several programs may take
// the same turn, at once or later: Take starts no call a second time, and the messages are the
// same.
type Turn struct {
	// Key names the response: 1–64 of [A-Za-z0-9_.-], unique in a run. A call without an id of the provider gets
	// <Key>-<index>, counted from 0. Key is required: if the same turn were taken again with another key, such a
	// call would get another id and run a second time.
	Key string
	// Codec is the codec of the provider's format.
	Codec wire.Codec
	// Streamed says that the response is a stream of the format's events.
	Streamed bool
	// Offer is the offer that the request to the model contained, from client.Offer. Without an
	// offer, the model must call tools by their ids, and Pawl treats every call as a call with an
	// effect.
	Offer client.Offer
	// Context is the context of every call: tenant, run, actor and the other members.
	Context toolspec.Context
	// AllowedConnectionIDs narrows the connections that the calls may use.
	AllowedConnectionIDs []string
	// Prepare, if not nil, completes each invocation before it starts, for example with a
	// connection for its tool or with a submitter's proof (client.Vouch). It must give the same
	// result for the same call, and must not change the identity, the tool or the arguments.
	Prepare func(*toolspec.Invocation) error
	// OwnIDs names every call <Key>-<index>, for providers whose ids are not unique in a run,
	// such as call_0 in every response. The answers still carry the provider's ids.
	OwnIDs bool
	// AtOnce bounds the read-only calls that run at the same time. 0 and 1 mean that each call
	// starts after the call before it in the response has ended.
	AtOnce int
	// Together lets calls with effects run at the same time as others, within AtOnce, which must
	// be at least 2. Without it a call that is not read-only runs alone, after the calls before it
	// in the response and before the calls after it.
	Together bool
	// Publish writes the text of the response into the events of its run, while it arrives if it is
	// Streamed, and before the calls start. A response without calls ends the turn for the watchers of
	// the run, once no call of the run is open. The subject, or else the actor, of Context may watch
	// the text. The client needs Options.Runs. The same turn taken again writes only what is missing.
	Publish bool
	// TextKey names the text of the response in the events of its run; empty means Key. If the same turn may get a
	// second response, for example because a request to the model is repeated, each response needs a TextKey of
	// its own: the second text must not continue the first.
	TextKey string
	// Secrets, if not nil, takes credentials out of the text that Publish shows. The Response keeps them.
	Secrets Secrets
	// Wait bounds how long Take waits for results; 0 means until the context ends. After this
	// time, calls without a result are Pending and continue.
	Wait time.Duration
}

// Outcome is the outcome of one call.
type Outcome struct {
	// Call is the call as the model made it.
	Call wire.Call
	// ToolID is the tool that the call's name stands for. It is empty if the name stands for no
	// tool.
	ToolID string
	// ToolCallID, InvocationID and WorkflowID name the call. They are empty if Take answered the
	// call itself and no worker has seen it.
	ToolCallID, InvocationID, WorkflowID string
	// Result is the result of the call. It is the zero value while the call is Pending, and if
	// Err is not nil.
	Result toolspec.Result
	// Pending says that the call has no result yet. Started says that it runs or waits, for example
	// for a person; client.State says which. A call that has not started waits for the calls before
	// it, until the turn is taken again.
	Pending, Started bool
	// Err says why Take cannot know the result: Temporal did not answer, or refused this program. The error of a
	// tool is in Result, not in Err. An output that could not be read is an error of Take.
	Err error

	hint string
}

// Reply is the answer to a response.
type Reply struct {
	// Response is the response of the model.
	Response wire.Response
	// Outcomes are the outcomes of its calls, in their order.
	Outcomes []Outcome
	// Messages are the messages that the next request adds: the assistant's message, then one
	// answer for each call. It is nil until each call has a result.
	Messages []json.RawMessage
}

// Pending returns the outcomes of the calls that have no result yet.
func (r Reply) Pending() (waiting []Outcome) {
	for _, o := range r.Outcomes {
		if o.Pending {
			waiting = append(waiting, o)
		}
	}
	return waiting
}

var turnKey = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Take reads a response of a model, runs its calls with c, and forms the messages that the
// provider expects next. Each call has its own result: a call that is malformed, denied or fails
// is answered with an error that the model can correct, and the other calls still run. No call
// runs before the response is complete, and no call of a response that was cut off runs.
//
// Take returns an error if the turn or the response is not valid, if an outcome has an Err, if an
// output cannot be read, or if the turn cannot be published. If ctx ended, the error is client.ErrNoAnswer: the calls that started
// continue, and the same turn taken again finds them. The Reply holds everything that is known,
// even if Take returns an error.
func (t Turn) Take(ctx context.Context, c *client.Client, response io.Reader) (Reply, error) {
	plan, publishErr, err := t.receive(ctx, c, response)
	if err != nil {
		return Reply{}, err
	}
	reply, err := t.answer(ctx, c, plan)
	if err = errors.Join(err, publishErr); err != nil {
		return reply, fmt.Errorf("turn %s: %w", t.Key, err)
	}
	return reply, nil
}

// answer runs the calls of a plan and forms the messages with their answers.
func (t Turn) answer(ctx context.Context, c *client.Client, plan Plan) (Reply, error) {
	reply := Reply{Response: plan.Response, Outcomes: t.runAll(ctx, c, plan)}
	var failed []error
	for i, o := range reply.Outcomes {
		if o.Err != nil {
			failed = append(failed, fmt.Errorf("call %d: %w", i, o.Err))
		}
	}
	if len(failed) > 0 || len(reply.Pending()) > 0 {
		return reply, errors.Join(failed...)
	}
	var err error
	reply.Messages, err = t.formMessages(ctx, c, reply)
	return reply, err
}

// receive reads a response, publishes its text, and ends the turn for the watchers if the response has no calls.
// publishErr says what could not be published; it stops no call.
func (t Turn) receive(ctx context.Context, c *client.Client, response io.Reader) (plan Plan, publishErr, err error) {
	plan, publishErr, err = t.Receive(ctx, c, response)
	if t.Publish && err == nil && publishErr == nil && len(plan.Calls) == 0 {
		publishErr = t.publishEnd(ctx, c)
	}
	return plan, publishErr, err
}

// Receive is Plan, and writes the text of the response into the events of its run while it arrives, if Publish
// says so. It starts no call and does not end the turn for the watchers. publishErr says why a part of the text
// could not be written. The plan is complete even then.
func (t Turn) Receive(ctx context.Context, c *client.Client, response io.Reader) (plan Plan, publishErr, err error) {
	if !t.Publish {
		plan, err = t.Plan(response)
		return plan, nil, err
	}
	p := t.startPublisher(ctx, c)
	plan, err = t.planOf(response, p.add)
	publishErr = p.finish(ctx, plan.Response.Text, err != nil || plan.Response.Finish == wire.FinishCut)
	return plan, publishErr, err
}

// check returns an error if a field of the turn is missing or not valid.
func (t Turn) check() error {
	switch {
	case t.Codec == nil:
		return errors.New("turn: a turn needs the codec of the provider's format")
	case !turnKey.MatchString(t.Key):
		return errors.New("turn: a turn needs a key of 1–64 letters, digits, '_', '.' and '-'")
	case t.Offer.Format != "" && t.Offer.Format != t.Codec.Format():
		return fmt.Errorf("turn: the offer is in the format %s, and the response in %s", t.Offer.Format, t.Codec.Format())
	case t.AtOnce < 0 || t.Wait < 0:
		return errors.New("turn: AtOnce and Wait must not be negative")
	case t.Together && t.AtOnce < 2:
		return errors.New("turn: Together needs AtOnce: set the number of calls that may run at the same time, at least 2")
	}
	id := toolspec.Identity{TenantID: t.Context.TenantID, RunID: t.Context.RunID, ToolCallID: "call"}
	if err := id.Check(); err != nil {
		return fmt.Errorf("turn: %w", err)
	}
	if err := toolspec.CheckActorID(t.Context.ActorID); err != nil {
		return fmt.Errorf("turn: context.actorId: %w", err)
	}
	return nil
}
