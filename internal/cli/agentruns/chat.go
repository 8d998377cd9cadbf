package agentruns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// lastRounds is the number of rounds that a chat shows when a person comes back.
const lastRounds = 10

// Chat returns the command chat.
func Chat(a *app.App) *cobra.Command {
	var f inputFlags
	var name, by, key string
	cmd := &cobra.Command{
		Use: "chat --agent NAME | --run ID", Short: "Talk to an agent",
		Long: "Talk to an agent in the terminal: each line is a message. The command shows the text of the model as it arrives, the\n" +
			"calls, and each approval that a call waits for, on which you decide in place, as `pawl approve` does: `a` approves, and\n" +
			"`d` with a reason denies.\n\n" +
			"Ctrl-C interrupts the turn of the agent, or gives up a message that nobody takes. At an empty line, or a second time\n" +
			"before anything has happened, it ends the command, as Ctrl-D does. The run then waits for you: --run comes back to it,\n" +
			"until the time limit of the agent is over. Without a terminal, each line of standard input is a message, or the answer\n" +
			"to the open question. The command ends with the last line, also while the turn waits for a decision that no line made.",
		Example: `  pawl chat --agent reviewer
  pawl chat --run chat-mfzwi3djonxg`,
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case name == "" && f.runID == "":
				return app.Usage(errors.New("expected --agent NAME, or --run ID of a run that waits"))
			case a.JSON:
				return app.Usage(errors.New("chat is for people; for a program there are `pawl agent run --json`, `watch --json` and `say --json`"))
			}
			s, err := app.Connect(cmd.Context(), app.Servers{Temporal: true, Database: true})
			if err != nil {
				return err
			}
			defer s.Close()
			c := &chat{a: a, s: s, client: s.Client(), by: by, key: key, runID: f.runID, changesAtCtrlC: -1}
			if name != "" {
				c.begin = f.input(a.Tenant, name, "chat")
				c.begin.Stays = true
				c.runID = c.begin.Context.RunID
			}
			return c.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&name, "agent", "", "`NAME` of the agent to begin a run with")
	f.define(cmd.Flags())
	cmd.Flags().Lookup("run").Usage = "`id` of the run to come back to, or with --agent of the new run"
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, also as the approver (PAWL_APPROVER)")
	cmd.Flags().StringVar(&key, "key", "", "`FILE` of the private key to sign decisions with ("+app.KeyFileEnv+"); default the key of pawl keys new, if it exists")
	return cmd
}

// chat is a conversation with a run that stays.
type chat struct {
	printer

	a       *app.App
	s       *app.Session
	client  *client.Client
	by, key string
	runID   string
	// begin is the input for the start of a new run, without its first message. begin.Agent is empty if the chat comes
	// back to a run.
	begin   agent.Input
	console console
	feed    *feed
	// sending is the message of the person that is not stored in the run yet, or nil.
	sending *sending
	// startErr is the error of the last try to start the run, or nil.
	startErr error
	// lastSeq is the number of the last event that the chat has handled.
	lastSeq int64
	// busy says that a turn of the agent goes on.
	busy bool
	// changes counts the events and the calls of setBusy. If it is the same before and after a request for
	// the state of the run, the answer is still true.
	changes int
	// changesAtCtrlC is the value of changes at the last Ctrl-C. If it is the same at the next Ctrl-C,
	// nothing has happened in between, and the command ends.
	changesAtCtrlC int
	// unasked has the ids of the approval requests that the chat has not shown to the person yet.
	unasked []string
	// asked is the approval request that the person is asked about now, or the zero value.
	asked question
	// postponed has the ids of the approval requests that no line of the person can decide any more: the person has left
	// them open, or the chat could not ask. The turn waits for them.
	postponed []string
	// reading says that the chat waits for a line of the person.
	reading bool
	// ignoreLine says that the next line is not from the person: the chat has ended the prompt itself, and the terminal
	// then gives one more line.
	ignoreLine bool
	// hinted says that the hint noWorker was printed after the last event.
	hinted bool
}

// question is an approval request that a person has been shown.
type question struct{ approvalID, digest string }

// run talks until the person leaves or the run ends.
func (c *chat) run(ctx context.Context) error {
	var err error
	if c.console, err = openConsole(c.a.In, c.a.Out); err != nil {
		return err
	}
	defer c.console.close()
	shown := *c.a
	shown.Out = c.console
	c.a, c.printer = &shown, printer{text: c.console, lines: c.console}
	if c.begin.Agent == "" {
		if ended, err := c.comeBack(ctx); err != nil || ended {
			return err
		}
	} else {
		c.line("talking to %s as the run %s; Ctrl-C interrupts, Ctrl-D leaves", app.OneLine(c.begin.Agent, 100), c.runID)
	}
	defer func() {
		if c.sending != nil {
			c.sending.cancel()
			<-c.sending.done //nolint:errcheck // the chat is over
		}
		if c.feed != nil {
			c.feed.stop()
		}
	}()
	return c.talk(ctx)
}

// comeBack shows the last rounds of an existing run, and begins to follow its events. It reports whether the run has
// ended, and returns an error if the chat cannot go on.
func (c *chat) comeBack(ctx context.Context) (ended bool, err error) {
	record, err := c.client.AgentRun(ctx, client.RoundFilter{TenantID: c.a.Tenant, RunID: c.runID, Limit: lastRounds})
	if err != nil {
		return true, explain(err, c.a.Tenant, c.runID)
	}
	c.line("run %s of %s", app.OneLine(c.runID, 100), app.OneLine(record.Agent+" "+record.Version, 200))
	printRounds(c.console, record, false)
	if record.Result != nil {
		if n := len(record.Rounds); n > 0 {
			c.said.WriteString(record.Rounds[n-1].Text) // printRounds has printed it already
		}
		c.end(*record.Result)
		c.line("the run has ended, so it takes no message: `pawl agent fork %s TEXT` goes on with its conversation", c.runID)
		return true, app.Silent(errors.New("the run has ended"))
	}
	if !record.Stays {
		return true, fmt.Errorf("the run %q does not wait for messages; `pawl agent watch --run %s` follows it", c.runID, c.runID)
	}
	if summary, err := c.client.Run(ctx, c.a.Tenant, c.runID); err == nil {
		c.lastSeq = summary.LastSeq
	} else if !errors.Is(err, client.ErrNotFound) {
		return true, err
	}
	c.setBusy(true)
	if state, err := stateOf(ctx, c.client, c.a.Tenant, c.runID); err == nil {
		c.setBusy(state.Phase != agent.Waiting)
	}
	if err := c.findApprovals(ctx); err != nil {
		return true, err
	}
	c.feed = follow(ctx, c.client, c.a.Tenant, c.runID, c.lastSeq)
	return false, nil
}

// findApprovals adds the open approval requests of the run, and of the agents that it has started, to c.unasked.
func (c *chat) findApprovals(ctx context.Context) error {
	open, err := c.client.Approvals(ctx, client.ApprovalFilter{TenantID: c.a.Tenant, RunID: c.runID})
	for _, request := range open {
		c.unasked = append(c.unasked, request.ApprovalID)
	}
	return err
}

func (c *chat) setBusy(busy bool) {
	c.busy = busy
	c.changes++
	c.console.setBusy(busy || c.sending != nil)
}

// stateAnswer is the state that a run has reported, or the error of the request for it. changes is the value of
// chat.changes at the time of the request: if chat.changes is larger now, the state is out of date.
type stateAnswer struct {
	state   agent.State
	err     error
	changes int
}

// talk is the loop of the conversation.
func (c *chat) talk(ctx context.Context) error {
	stateTicker := time.NewTicker(quietTime)
	defer stateTicker.Stop()
	states := make(chan stateAnswer, 1)
	changesAtLastTick := -1
	for {
		c.prompt(ctx)
		var events <-chan toolspec.RunEvent
		var ended <-chan ending
		var failed <-chan error
		if c.feed != nil {
			events, ended, failed = c.feed.events, c.feed.ended, c.feed.failed
		}
		var lines <-chan string
		if c.reading {
			lines = c.console.lines()
		}
		var over <-chan struct{}
		if len(c.postponed) > 0 {
			over = c.console.over() // nobody here can end the wait
		}
		select {
		case line, more := <-lines:
			c.reading = false
			if !more {
				return c.leave(c.console.failed())
			}
			c.handleLine(ctx, line)
		case <-over:
			return c.leave(c.console.failed())
		case err := <-c.sent():
			c.handleSent(ctx, err)
		case e := <-events:
			c.handleEvent(e)
		case end := <-ended:
			return c.endRun(ctx, end)
		case err := <-failed:
			return err
		case <-c.console.interrupts():
			if c.changesAtCtrlC == c.changes {
				return c.leave(nil)
			}
			c.interrupt(ctx)
			c.changesAtCtrlC = c.changes
		case <-stateTicker.C:
			if c.busy && c.feed != nil && c.sending == nil && changesAtLastTick == c.changes {
				go func(changes int) {
					state, err := stateOf(ctx, c.client, c.a.Tenant, c.runID)
					select {
					case states <- stateAnswer{state, err, changes}:
					default:
					}
				}(c.changes)
			}
			changesAtLastTick = c.changes
		case k := <-states:
			c.handleState(k)
		case <-ctx.Done():
			return c.leave(nil)
		}
	}
}

// prompt asks the person for a decision or, while the agent is not busy, for a message.
func (c *chat) prompt(ctx context.Context) {
	for !c.reading && len(c.unasked) > 0 && c.asked.approvalID == "" {
		c.showNextRequest(ctx)
	}
	if c.reading || c.sending != nil || c.busy && c.asked.approvalID == "" {
		return
	}
	c.reading, c.ignoreLine = true, false
	if c.asked.approvalID != "" {
		c.console.ask("a = approve, d REASON = deny, Enter = later> ")
	} else {
		c.console.ask("> ")
	}
}

// handleEvent shows an event.
func (c *chat) handleEvent(e toolspec.RunEvent) {
	c.lastSeq, c.hinted = e.Seq, false
	c.changes++
	if !c.busy && e.Kind != toolspec.RunDone {
		// Another person has sent a message to the run.
		c.setBusy(true)
		c.cancelPrompt()
	}
	switch e.Kind {
	case toolspec.RunApprovalRequested:
		c.markAsked(e.InvocationID)
		if e.Approval != nil && e.Approval.ApprovalID != c.asked.approvalID && !slices.Contains(c.unasked, e.Approval.ApprovalID) {
			c.unasked = append(c.unasked, e.Approval.ApprovalID)
		}
		return // showNextRequest prints the request
	case toolspec.RunApprovalDecided:
		if e.Approval != nil {
			c.forget(e.Approval.ApprovalID)
		}
	case toolspec.RunDone:
		c.unasked, c.postponed = nil, nil
		if c.asked.approvalID != "" {
			c.forget(c.asked.approvalID)
		}
		c.setBusy(false)
	case toolspec.RunTextDelta, toolspec.RunCallStart, toolspec.RunCallProgress, toolspec.RunCallResult:
	}
	c.event(e)
}

// cancelPrompt ends the prompt that the person sees.
func (c *chat) cancelPrompt() {
	if c.reading {
		c.reading = c.console.cancel()
		c.ignoreLine = c.reading
	}
}

// handleState uses the state that the run has reported.
func (c *chat) handleState(k stateAnswer) {
	switch {
	case k.changes != c.changes: // the state is old
	case k.err != nil && !c.hinted:
		c.hinted = true
		c.line("%s", noWorker)
	case k.err == nil && k.state.Phase == agent.Waiting:
		c.setBusy(false)
	}
}

// handleLine takes a line of the person.
func (c *chat) handleLine(ctx context.Context, line string) {
	line = strings.TrimSpace(line)
	switch {
	case c.ignoreLine:
		c.ignoreLine = false
	case c.asked.approvalID != "":
		c.decide(ctx, line)
	case line != "":
		c.send(ctx, line)
	}
}

// interrupt stops sending the message of the person if there is one that is not stored yet. Otherwise it asks the run
// to end the turn of the agent.
func (c *chat) interrupt(ctx context.Context) {
	if c.sending != nil {
		c.sending.cancel()
		return
	}
	if !c.busy || c.feed == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	if err := c.client.InterruptAgentTurn(ctx, c.a.Tenant, c.runID); err != nil && !errors.Is(err, client.ErrSettled) {
		c.line("not interrupted: %s; Ctrl-C again leaves", app.OneLine(err.Error(), 400))
		return
	}
	if c.asked.approvalID != "" {
		c.line("interrupted: the turn ends when the open call ends; deny it to end it now; Ctrl-C again leaves")
		return
	}
	c.line("interrupted: the turn ends after the current call; Ctrl-C again leaves")
}

// endRun ends the chat of a run that has ended.
func (c *chat) endRun(ctx context.Context, end ending) error {
	if c.reading {
		c.line("")
	}
	if end.err != nil {
		return explain(end.err, c.a.Tenant, c.runID)
	}
	c.feed.rest(ctx, c.client, c.a.Tenant, c.runID, c.lastSeq, c.event)
	c.end(end.result)
	return failure(end.result)
}

// leave ends the command and not the run, and prints how to come back to the run. It returns err or, if err is nil,
// the error of the last try to start the run.
func (c *chat) leave(err error) error {
	c.endLine()
	if c.feed != nil {
		c.line("the run waits for you: `pawl chat --run %s` comes back, `pawl agent stop --run %s` ends it", c.runID, c.runID)
	}
	if err == nil && c.startErr != nil {
		err = app.Silent(c.startErr)
	}
	return err
}
