package agentruns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// sayTimeout is the maximum wait until a message is stored.
const sayTimeout = 30 * time.Second

// sendMessage adds a message to a run, and returns when the message is stored, after sayTimeout at the latest.
func sendMessage(ctx context.Context, c *client.Client, tenant, runID string, m agent.Message) error {
	ctx, cancel := context.WithTimeout(ctx, sayTimeout)
	defer cancel()
	err := c.SayToAgent(ctx, tenant, runID, m)
	// The server can give up at the deadline a moment before ctx ends.
	var late *temporal.WorkflowUpdateServiceTimeoutOrCanceledError
	if err != nil && (ctx.Err() != nil || errors.As(err, &late)) {
		return fmt.Errorf("it is not known whether the message %s is stored: %w; %s", m.ID, cmp.Or(ctx.Err(), context.DeadlineExceeded), noWorker)
	}
	return err
}

// sending is an attempt to add a message to a run, or to start a run with it. done gets the error of the attempt, or nil.
// cancel ends the attempt.
type sending struct {
	done   chan error
	cancel context.CancelFunc
}

// sent returns the channel that gets the result of send: nil if the message is stored, or an error. It returns nil if
// no message is being sent.
func (c *chat) sent() <-chan error {
	if c.sending == nil {
		return nil
	}
	return c.sending.done
}

// send starts the run with a message, or adds the message to the run if it has started. It does not wait: the channel
// that sent returns gets the result.
func (c *chat) send(ctx context.Context, text string) {
	ctx, cancel := context.WithTimeout(ctx, sayTimeout)
	c.sending = &sending{done: make(chan error, 1), cancel: cancel}
	c.setBusy(true)
	do := func() error { return c.startRun(ctx, text) }
	if c.feed != nil {
		m := agent.Message{ID: newID("chat"), Text: text}
		if toolspec.CheckActorID(c.by) == nil { // an approver may have an identity that no actor can have
			m.By = c.by
		}
		do = func() error { return sendMessage(ctx, c.client, c.a.Tenant, c.runID, m) }
	}
	go func(done chan<- error) { done <- do() }(c.sending.done)
}

// startRun starts the run with its first message.
func (c *chat) startRun(ctx context.Context, text string) error {
	in := c.begin
	in.Messages = []conversation.Message{userMessage(text)}
	_, err := c.client.StartAgent(ctx, in)
	if errors.Is(err, client.ErrNoAnswer) {
		return fmt.Errorf("no answer from Temporal: %w; the same message again does not start a second run", ctx.Err())
	}
	return err
}

// handleSent handles the result of send. If the message is stored, the chat follows the run. Otherwise handleSent
// prints why the message is not stored.
func (c *chat) handleSent(ctx context.Context, err error) {
	c.sending.cancel()
	c.sending = nil
	if err == nil {
		c.console.setBusy(c.busy) // the turn may be over already
		c.startErr = nil
		if c.feed == nil {
			c.feed = follow(ctx, c.client, c.a.Tenant, c.runID, 0)
		}
		return
	}
	c.setBusy(false)
	if c.feed == nil {
		c.startErr = err
	} else if errors.Is(err, client.ErrSettled) {
		return // the end of the run comes with its result
	}
	c.line("not said: %s", app.OneLine(err.Error(), 400))
}
