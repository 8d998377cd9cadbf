package calls

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// board shows the calls of a run. On a terminal, the last lines are drawn again with each change:
// one line for each open call, and the line of a text that has not ended. Ended calls and ended
// lines of text stay above them. On another output, each event of a call and each line of a text is
// printed once.
type board struct {
	out      io.Writer
	terminal bool
	// open are the calls without a result, in the order of their first events.
	open []*lineOfCall
	// text is the line of a text that has not ended.
	text  string
	drawn int
	// size returns the columns and the rows of the terminal.
	size func() (width, height int)
}

// lineOfCall is a call that has no result yet. since is the time of its first event by the clock of
// the database.
type lineOfCall struct {
	invocationID, tool, call, state, note string
	// command is a command that a person can type for the call. On a terminal it has its own line, so that it is not cut.
	command string
	since   time.Time
}

func newBoard(out io.Writer, terminal bool) *board {
	return &board{out: out, terminal: terminal, size: usualSize}
}

// usualSize returns the assumed size of a terminal whose size is unknown.
func usualSize() (width, height int) { return 80, 24 }

// add shows an event.
func (b *board) add(e toolspec.RunEvent, now time.Time) {
	at := time.UnixMilli(e.AtMs)
	l := b.lineOf(e, at)
	var stays []string
	if e.Kind != toolspec.RunTextDelta && b.text != "" {
		stays, b.text = []string{app.OneLine(b.text, maxLine)}, ""
	}
	if l != nil {
		l.command = ""
	}
	switch e.Kind {
	case toolspec.RunCallStart:
		l.state, l.note = "running", ""
	case toolspec.RunApprovalRequested:
		l.state = "waits for a person"
		if e.Approval != nil {
			l.command = "pawl approve " + app.OneLine(e.Approval.ApprovalID, 80)
		}
	case toolspec.RunApprovalDecided:
		l.state, l.note = "decided", ""
		if e.Approval != nil {
			l.state = app.OneLine(e.Approval.Decision, 20)
			if e.Approval.Approver != "" {
				l.note = "by " + app.QuoteName(e.Approval.Approver)
			}
		}
	case toolspec.RunCallProgress:
		l.note = progressText(e.Progress)
	case toolspec.RunCallResult:
		b.open = slices.DeleteFunc(b.open, func(other *lineOfCall) bool { return other == l })
		l.state, l.note = "ok", ""
		if e.Result != nil && !e.Result.OK {
			l.state, l.note = string(e.Result.ErrorCode), app.OneLine(e.Result.SafeMessage, 80)
		}
		if b.terminal {
			stays = append(stays, l.text(at))
		}
	case toolspec.RunTextDelta:
		stays = b.addText(e.Text)
	case toolspec.RunDone:
		stays = append(stays, "the turn is done")
	}
	if !b.terminal {
		if l != nil {
			stays = append(stays, strings.TrimRight(l.text(at)+" "+l.command, " "))
		}
		for _, line := range stays {
			fmt.Fprintf(b.out, "%d %s  %s\n", e.Seq, at.Local().Format("15:04:05.000"), line)
		}
		return
	}
	b.erase()
	for _, line := range stays {
		fmt.Fprintln(b.out, line)
	}
	b.draw(now)
}

// maxLine bounds the line of a text, in bytes.
const maxLine = 2000

// addText adds a part of a text and returns the lines that it ends.
func (b *board) addText(text string) (lines []string) {
	for line := range strings.Lines(b.text + text) {
		b.text = line
		if strings.HasSuffix(line, "\n") || len(line) > maxLine {
			lines, b.text = append(lines, app.OneLine(line, maxLine)), ""
		}
	}
	return lines
}

// redraw shows the open calls with their present times.
func (b *board) redraw(now time.Time) {
	if b.terminal {
		b.erase()
		b.draw(now)
	}
}

// lineOf returns the line of the call of an event, or nil if the event has no call. It adds a line for a new call.
func (b *board) lineOf(e toolspec.RunEvent, at time.Time) *lineOfCall {
	if e.InvocationID == "" {
		return nil
	}
	for _, l := range b.open {
		if l.invocationID == e.InvocationID {
			return l
		}
	}
	l := &lineOfCall{invocationID: e.InvocationID, tool: app.OneLine(e.ToolID, 40), call: app.OneLine(e.ToolCallID, 30), since: at}
	b.open = append(b.open, l)
	return l
}

// maxDrawn bounds the lines that are drawn again. The height of the terminal bounds them too, because the cursor cannot move
// above its top.
const maxDrawn = 16

// erase moves the cursor to the first drawn line and clears the rest of the screen.
func (b *board) erase() {
	if b.drawn > 0 {
		fmt.Fprintf(b.out, "\x1b[%dA\r\x1b[J", b.drawn)
	}
	b.drawn = 0
}

func (b *board) draw(now time.Time) {
	width, height := b.size()
	room := max(min(maxDrawn, height-1), 2)
	line := func(text string, end bool) {
		fmt.Fprintln(b.out, fitToWidth(text, width-1, end))
		b.drawn++
	}
	if b.text != "" {
		line(app.OneLine(b.text, maxLine), true) // the end of the text is new
	}
	for i, l := range b.open {
		needs := 1
		if l.command != "" {
			needs++
		}
		if i < len(b.open)-1 {
			needs++ // for the line that counts the other calls
		}
		if b.drawn+needs > room {
			line(fmt.Sprintf("… and %d more", len(b.open)-i), false)
			return
		}
		line(l.text(now), false)
		if l.command != "" {
			line("  "+l.command, false)
		}
	}
}

func (l *lineOfCall) text(now time.Time) string {
	took := max(now.Sub(l.since), 0).Round(100 * time.Millisecond)
	return strings.TrimRight(fmt.Sprintf("%-24s %-17s %7s  %-18s %s", l.tool, l.call, took, l.state, l.note), " ")
}

func progressText(p *toolspec.Progress) string {
	if p == nil {
		return ""
	}
	text := app.OneLine(p.Text, toolspec.MaxProgressText)
	if p.Total > 0 {
		return strings.TrimRight(fmt.Sprintf("%d/%d %s", p.Done, p.Total, text), " ")
	}
	return strings.TrimRight(fmt.Sprintf("%d %s", p.Done, text), " ")
}
