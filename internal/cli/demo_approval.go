package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// decide shows the waiting request, has a forged approval refused, and asks the
// person at the terminal, or decides as a second identity where there is none.
func (d *demo) decide(ctx context.Context, workflowID string) error {
	view, err := d.waiting(ctx, workflowID)
	if err != nil {
		return err
	}
	d.say("waits for approval  %s", view.ApprovalID)
	d.say("  tool    %s (%s, %s risk), asked for by %s", view.ToolID, view.Effect, view.Risk, view.RequestedBy)
	d.say("  args    %s", oneLine(string(view.Args), 110))
	d.say("  digest  %s", view.Digest)
	d.say("  who     %s", oneLine(view.Approvers, 110))
	if err := d.forge(ctx, workflowID, view); err != nil {
		return err
	}
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

// answer reads a line from the terminal. The end of the input is no answer, and
// Ctrl-C does not wait for one.
func (d *demo) answer(ctx context.Context) (string, error) {
	type line struct {
		text string
		err  error
	}
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

// approve decides without asking.
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
	var last error
	err := waitFor(ctx, func() bool {
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

// matches reads the lines of a grep result.
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
