package calls

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// TestBoard: on a terminal, the board draws the lines of open calls again and keeps the lines of ended calls and texts. An output that is not a
// terminal gets a line for each event of a call and for each line of a text. No text of an event moves the cursor.
func TestBoard(t *testing.T) {
	t.Parallel()
	at := time.Now()
	event := func(seq int64, kind toolspec.RunEventKind, call string) toolspec.RunEvent {
		return toolspec.RunEvent{Seq: seq, AtMs: at.UnixMilli() + seq*100, Kind: kind, InvocationID: call, ToolCallID: call, ToolID: "core__read\x1b[31m"}
	}
	events := []toolspec.RunEvent{
		event(1, toolspec.RunCallStart, "a"), event(2, toolspec.RunApprovalRequested, "b"), event(3, toolspec.RunCallProgress, "a"),
		event(4, toolspec.RunCallResult, "a"), {Seq: 5, Kind: toolspec.RunTextDelta, Text: "Hi\x1b[2J, dear "}, {Seq: 6, Kind: toolspec.RunTextDelta, Text: "Ann.\nHow"},
		{Seq: 7, Kind: toolspec.RunTextDelta, Text: " are you?"}, {Seq: 8, Kind: toolspec.RunDone},
	}
	events[1].Approval = &toolspec.RunApproval{ApprovalID: "b.1"}
	events[2].Progress = &toolspec.Progress{Done: 1, Total: 2, Text: "half"}
	events[3].Result = &toolspec.Result{ErrorCode: toolspec.CodeTimeout, SafeMessage: "too slow"}
	show := func(terminal bool) string {
		var out strings.Builder
		b := newBoard(&out, terminal)
		for _, e := range events {
			b.show(e, at.Add(time.Second))
		}
		b.redraw(at.Add(2 * time.Second))
		return out.String()
	}
	plain := show(false)
	for _, part := range []string{"running", "waits for a person", "pawl approve b.1", "1/2 half", "timeout", "too slow", ", dear Ann.\n", "  How are you?\n", "the turn is done"} {
		if !strings.Contains(plain, part) {
			t.Errorf("%q is not in\n%s", part, plain)
		}
	}
	if strings.Contains(plain, "\x1b") || strings.Count(plain, "\n") != 7 {
		t.Errorf("plain lines: %q", plain)
	}
	live := show(true)
	// The board writes only the escapes that move its cursor. The last picture has only the open call.
	if left := strings.NewReplacer("\x1b[1A\r\x1b[J", "", "\x1b[2A\r\x1b[J", "", "\x1b[3A\r\x1b[J", "").Replace(live); strings.Contains(left, "\x1b") {
		t.Errorf("it does more to the terminal: %q", left)
	}
	if !strings.Contains(live, ", dear Ann.\nHow\n") || !strings.Contains(live, "How are you?\nthe turn is done\n") {
		t.Errorf("the text on a terminal: %q", live)
	}
	if !strings.Contains(live, "\n  pawl approve b.1\n") {
		t.Errorf("the command to copy has no line of its own: %q", live)
	}
	last := live[strings.LastIndex(live, "\x1b[J"):]
	if !strings.Contains(last, "waits for a person") || strings.Contains(last, "timeout") {
		t.Errorf("the last picture: %q", last)
	}
}

// TestBoardFits: no drawn line is wider than the terminal, and the drawn lines are fewer than its rows, so that the cursor can move back to
// the first drawn line. A long text shows its end.
func TestBoardFits(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := newBoard(&out, true)
	b.size = func() (width, height int) { return 40, 6 }
	at := time.Now()
	for i := range 9 {
		call := string(rune('a' + i))
		b.show(toolspec.RunEvent{
			AtMs: at.UnixMilli(), Kind: toolspec.RunApprovalRequested, InvocationID: call, ToolCallID: call, ToolID: "core__" + strings.Repeat("長", 40),
			Approval: &toolspec.RunApproval{ApprovalID: call + ".1"},
		}, at)
	}
	b.show(toolspec.RunEvent{Kind: toolspec.RunTextDelta, Text: strings.Repeat("漢字 text ", 20) + "the end"}, at)
	picture := out.String()[strings.LastIndex(out.String(), "\x1b[J")+len("\x1b[J"):]
	lines := strings.Split(strings.TrimSuffix(picture, "\n"), "\n")
	if len(lines) > 5 || b.drawn != len(lines) || lines[len(lines)-1] != "… and 8 more" || lines[2] != "  pawl approve a.1" || !strings.HasSuffix(lines[0], "the end") {
		t.Errorf("%d lines are drawn:\n%s", b.drawn, picture)
	}
	for _, line := range lines {
		n := 0
		for _, r := range line {
			n += columns(r)
		}
		if n > 39 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}
