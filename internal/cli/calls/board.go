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

// board shows the calls of a run. On a terminal it draws the last lines again after each event: one line for each open
// call, and the line of the model's text that has no line break yet. Calls and lines of text that have ended stay
// above them. On another output it prints each event of a call and each line of text once.
type board struct {
	out      io.Writer
	terminal bool
	// openCalls are the calls without a result, in the order of their first events.
	openCalls []*lineOfCall
	// unfinished is the last line of the model's text, which has no line break yet.
	unfinished string
	// drawn is the number of lines that are drawn again after the next event.
	drawn int
	// size returns the columns and the rows of the terminal.
	size func() (width, height int)
}

// lineOfCall is a call that has no result yet.
type lineOfCall struct {
	invocationID, tool, call, state, note string
	// command is a command that a person can type for the call. On a terminal it has its own line, so that it is not cut.
	command string
	// since is the time of the first event of the call, by the clock of the database.
	since time.Time
}

func newBoard(out io.Writer, terminal bool) *board {
	return &board{out: out, terminal: terminal, size: usualSize}
}

// usualSize returns the assumed size of a terminal whose size is unknown.
func usualSize() (width, height int) { return 80, 24 }

// show shows an event. On a terminal it draws the open calls again, with the times from their first events to now.
func (b *board) show(e toolspec.RunEvent, now time.Time) {
	at := time.UnixMilli(e.AtMs)
	finished := b.takeText(e)
	l := b.lineOf(e, at)
	if l != nil {
		b.update(l, e)
	}
	if e.Kind == toolspec.RunDone {
		finished = append(finished, "the turn is done")
	}
	if !b.terminal {
		if l != nil {
			finished = append(finished, strings.TrimRight(l.text(at)+" "+l.command, " "))
		}
		for _, line := range finished {
			fmt.Fprintf(b.out, "%d %s  %s\n", e.Seq, at.Local().Format("15:04:05.000"), line)
		}
		return
	}
	if e.Kind == toolspec.RunCallResult {
		finished = append(finished, l.text(at))
	}
	b.erase()
	for _, line := range finished {
		fmt.Fprintln(b.out, line)
	}
	b.draw(now)
}

// update changes the line of a call by an event of the call. A call with a result is no longer open.
func (b *board) update(l *lineOfCall, e toolspec.RunEvent) {
	l.command = ""
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
		b.openCalls = slices.DeleteFunc(b.openCalls, func(other *lineOfCall) bool { return other == l })
		l.state, l.note = "ok", ""
		if e.Result != nil && !e.Result.OK {
			l.state, l.note = string(e.Result.ErrorCode), app.OneLine(e.Result.SafeMessage, 80)
		}
	default: // the other events are of no call
	}
}

// maxLine bounds a line of the model's text, in bytes.
const maxLine = 2000

// takeText adds the model's text of an event to b.unfinished, and returns the lines that are complete now. An event without
// text completes the last line.
func (b *board) takeText(e toolspec.RunEvent) (lines []string) {
	if e.Kind != toolspec.RunTextDelta {
		if b.unfinished != "" {
			lines, b.unfinished = []string{app.OneLine(b.unfinished, maxLine)}, ""
		}
		return lines
	}
	for line := range strings.Lines(b.unfinished + e.Text) {
		b.unfinished = line
		if strings.HasSuffix(line, "\n") || len(line) > maxLine {
			lines, b.unfinished = append(lines, app.OneLine(line, maxLine)), ""
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

// lineOf returns the line of the call that e is about, or nil if e is about no call. For a new call it adds a line
// that begins at the time at.
func (b *board) lineOf(e toolspec.RunEvent, at time.Time) *lineOfCall {
	if e.InvocationID == "" {
		return nil
	}
	for _, l := range b.openCalls {
		if l.invocationID == e.InvocationID {
			return l
		}
	}
	l := &lineOfCall{invocationID: e.InvocationID, tool: app.OneLine(e.ToolID, 40), call: app.OneLine(e.ToolCallID, 30), since: at}
	b.openCalls = append(b.openCalls, l)
	return l
}

// maxDrawn bounds the lines that a board draws again after an event. The height of the terminal bounds them too,
// because the cursor cannot move above its top.
const maxDrawn = 16

// erase moves the cursor to the first drawn line and clears the rest of the screen.
func (b *board) erase() {
	if b.drawn > 0 {
		fmt.Fprintf(b.out, "\x1b[%dA\r\x1b[J", b.drawn)
	}
	b.drawn = 0
}

// draw draws the unfinished line of text and the open calls, as many of them as the terminal has room for.
func (b *board) draw(now time.Time) {
	width, height := b.size()
	room := max(min(maxDrawn, height-1), 2)
	line := func(text string, end bool) {
		fmt.Fprintln(b.out, fitToWidth(text, width-1, end))
		b.drawn++
	}
	if b.unfinished != "" {
		line(app.OneLine(b.unfinished, maxLine), true) // the end of the text is new
	}
	for i, l := range b.openCalls {
		needs := 1
		if l.command != "" {
			needs++
		}
		if i < len(b.openCalls)-1 {
			needs++ // for the line that counts the other calls
		}
		if b.drawn+needs > room {
			line(fmt.Sprintf("… and %d more", len(b.openCalls)-i), false)
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
