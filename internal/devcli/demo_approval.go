package devcli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// decide prints the waiting request and shows that a forged approval is refused. Then it
// asks the person at the terminal. Without a terminal, or with --yes, it approves with
// the identity d.approver, which is not the identity of the requester.
func (d *demo) decide(ctx context.Context, workflowID string) error {
	view, err := d.waiting(ctx, workflowID)
	if err != nil {
		return err
	}
	d.say("waits for approval  %s", view.ApprovalID)
	d.say("  tool    %s (%s, %s risk), asked for by %s", view.ToolID, view.Effect, view.Risk, view.RequestedBy)
	d.say("  args    %s", app.OneLine(string(view.Args), 110))
	d.say("  digest  %s", view.Digest)
	d.say("  who     %s", app.OneLine(view.Approvers, 110))
	if err := d.forge(ctx, workflowID, view); err != nil {
		return err
	}
	// Any answer that does not begin with y denies, as [y/N] says.
	verb := toolspec.Approve
	if d.ask {
		fmt.Fprintf(d.Out, "   Approve as %s? [y/N] ", d.approver)
		answer, err := d.answer(ctx)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
			verb = toolspec.Deny
		}
	}
	return d.send(ctx, workflowID, view, verb)
}

// answer reads a line from the terminal. The end of the input ends the line.
// answer returns at once with an error if ctx ends, for example by Ctrl-C.
func (d *demo) answer(ctx context.Context) (string, error) {
	type line struct {
		text string
		err  error
	}
	// A read from the terminal cannot be cancelled, so it runs in a goroutine that may
	// outlive this function. The channel has a buffer, so that the goroutine can end even if
	// nobody receives.
	read := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(d.In).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-ctx.Done():
		fmt.Fprintln(d.Out)
		return "", ctx.Err()
	}
}

// approve approves the waiting request without asking.
func (d *demo) approve(ctx context.Context, workflowID string) error {
	view, err := d.waiting(ctx, workflowID)
	if err != nil {
		return err
	}
	return d.send(ctx, workflowID, view, toolspec.Approve)
}

// waiting polls the state query until the call asks for an approval.
func (d *demo) waiting(ctx context.Context, workflowID string) (toolspec.ApprovalView, error) {
	var view toolspec.ApprovalView
	// last is the last error of the query. It says more than the error of ctx.
	var last error
	err := app.WaitFor(ctx, func() bool {
		state, err := d.client.State(ctx, workflowID)
		last = err
		if err != nil || state.Approval == nil {
			return false
		}
		view = *state.Approval
		return true
	})
	if err != nil {
		return view, fmt.Errorf("the call did not ask for an approval: %w", cmp.Or(last, err))
	}
	return view, nil
}

// matches returns the first three lines of a grep result and the number of all matches.
// It returns nothing if value is no grep result.
func matches(value json.RawMessage) (lines []string, total int) {
	var out struct {
		Matches []struct {
			Path string `json:"path"`
			Line int    `json:"line"`
			Text string `json:"text"`
		} `json:"matches"`
		Total int `json:"total"`
	}
	if json.Unmarshal(value, &out) != nil {
		return nil, 0
	}
	for _, m := range out.Matches[:min(len(out.Matches), 3)] {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", m.Path, m.Line, strings.TrimSpace(m.Text)))
	}
	return lines, out.Total
}
