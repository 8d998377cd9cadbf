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
	// said is the last text of the model, since the last line that was printed before it.
	said strings.Builder
	// lineOpen says that this text does not end with a line break.
	lineOpen bool
	// textOver says that a line was printed after this text, so that the next part of a text begins a new text.
	textOver bool
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
		// The line of the approval request has the arguments already. A denied call also has the event RunCallStart.
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
		// Progress is not printed: the printer cannot change a line that it has printed.
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
	if p.textOver {
		p.said.Reset()
	}
	p.textOver = false
	p.said.WriteString(text)
	p.lineOpen = !strings.HasSuffix(text, "\n")
	fmt.Fprint(p.text, app.Printable(text))
}

// endLine ends the line of a text.
func (p *printer) endLine() {
	if p.lineOpen {
		fmt.Fprintln(p.text)
	}
	p.lineOpen = false
}

func (p *printer) line(format string, args ...any) {
	p.endLine()
	p.textOver = true
	fmt.Fprintln(p.lines, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// end prints how a run ended: its final text, unless this text was printed last, and then the outcome and the costs. The
// result of a run has the beginning of a long text, and the printer may have printed the whole text.
func (p *printer) end(r agent.Result) {
	p.endLine()
	text, said := strings.TrimSpace(r.Text), strings.TrimSpace(p.said.String())
	if text != "" && text != said && !(r.Truncated && strings.HasPrefix(said, text)) {
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

// failure returns the error, with the exit status, of a command whose run has ended, or nil if the run completed. The
// error is marked as printed, because the result of the run says the same.
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
