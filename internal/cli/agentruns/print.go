package agentruns

import (
	"fmt"
	"io"
	"strings"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// maxShown bounds the arguments and the results in a line, in characters.
const maxShown = 200

// printer prints the events of a run: the text of the model to text, and all other events as lines to lines. text and lines may be the
// same writer.
type printer struct {
	text, lines io.Writer
	// said is the last text without a line in it, and open says that it does not end with a line break. lined says that a line was
	// printed after it.
	said        strings.Builder
	open, lined bool
	// asked has the calls whose approval request was printed.
	asked map[string]bool
}

// event prints an event.
func (p *printer) event(e toolspec.RunEvent) {
	tool := app.OneLine(e.ToolID, 60)
	switch e.Kind {
	case toolspec.RunTextDelta:
		p.say(e.Text)
	case toolspec.RunCallStart:
		// If the call had an approval request, its arguments are printed already. A call that was denied
		// has a start too.
		if !p.asked[e.InvocationID] {
			p.line("call      %s %s", tool, app.OneLine(string(e.Args), maxShown))
		}
	case toolspec.RunApprovalRequested:
		p.markAsked(e.InvocationID)
		p.line("approval  %s %s", tool, app.OneLine(string(e.Args), maxShown))
		if e.Approval != nil {
			if e.Approval.Message != "" {
				p.line("          %s", app.OneLine(e.Approval.Message, maxShown))
			}
			id := app.OneLine(e.Approval.ApprovalID, 80)
			p.line("          `pawl approve %s` or `pawl deny %s`", id, id)
		}
	case toolspec.RunApprovalDecided:
		if e.Approval != nil {
			by := ""
			if e.Approval.Approver != "" {
				by = " by " + app.QuoteName(e.Approval.Approver)
			}
			p.line("approval  %s %s%s", tool, app.OneLine(e.Approval.Decision, 20), by)
		}
	case toolspec.RunCallResult:
		p.result(tool, e.Result)
	case toolspec.RunCallProgress:
		// Not printed: progress needs a display that can change a line.
	case toolspec.RunDone:
		p.endLine()
	}
}

func (p *printer) markAsked(invocationID string) {
	if p.asked == nil {
		p.asked = map[string]bool{}
	}
	p.asked[invocationID] = true
}

// result prints the result of a call in one line.
func (p *printer) result(tool string, r *toolspec.Result) {
	switch {
	case r == nil:
		p.line("result    %s", tool)
	case !r.OK:
		p.line("result    %s %s: %s", tool, r.ErrorCode, app.OneLine(r.SafeMessage, maxShown))
	case len(r.Value) == 0 && r.OutputRef != "":
		p.line("result    %s ok, stored as %s", tool, app.OneLine(r.OutputRef, 100))
	default:
		p.line("result    %s ok %s", tool, app.OneLine(string(r.Value), maxShown))
	}
}

// say prints a part of the model's text.
func (p *printer) say(text string) {
	if text == "" {
		return
	}
	if p.lined {
		p.said.Reset()
	}
	p.lined = false
	p.said.WriteString(text)
	p.open = !strings.HasSuffix(text, "\n")
	fmt.Fprint(p.text, app.Printable(text))
}

// endLine ends the line of a text.
func (p *printer) endLine() {
	if p.open {
		fmt.Fprintln(p.text)
	}
	p.open = false
}

func (p *printer) line(format string, args ...any) {
	p.endLine()
	p.lined = true
	fmt.Fprintln(p.lines, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// end prints the result of a run, without a text that was printed before.
func (p *printer) end(r agent.Result) {
	p.endLine()
	if text := strings.TrimSpace(r.Text); text != "" && text != strings.TrimSpace(p.said.String()) {
		fmt.Fprintln(p.text, app.Printable(text))
		if r.Truncated {
			p.line("(the text is longer)")
		}
	}
	p.said.Reset()
	what := string(r.Outcome)
	if r.Reason != "" {
		what += ": " + app.OneLine(r.Reason, 400)
	}
	p.line("%s", what)
	p.line("%s", costs(r.Totals))
}

// failure returns the error of a command whose run has ended, or nil for a completed run. The error is marked as printed.
func failure(r agent.Result) error {
	err := fmt.Errorf("the run ended: %s", r.Outcome)
	switch r.Outcome {
	case agent.Completed:
		return nil
	case agent.OverBudget:
		err = app.WithStatus(err, app.ExitOverBudget)
	case agent.Interrupted, agent.Cancelled:
		err = app.WithStatus(err, app.ExitStopped)
	case agent.Failed:
	}
	return app.Silent(err)
}
