package calls

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// TestBoard: a terminal draws the open calls again and keeps what has ended; other outputs have a line for each event. Nothing that an
// event says moves the cursor.
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
			b.add(e, at.Add(time.Second))
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
	// Of the escapes only those of the board are left, and the last picture has the open call alone.
	if left := strings.NewReplacer("\x1b[1A\r\x1b[J", "", "\x1b[2A\r\x1b[J", "").Replace(live); strings.Contains(left, "\x1b") {
		t.Errorf("it does more to the terminal: %q", left)
	}
	if !strings.Contains(live, ", dear Ann.\nHow\n") || !strings.Contains(live, "How are you?\nthe turn is done\n") {
		t.Errorf("the text on a terminal: %q", live)
	}
	last := live[strings.LastIndex(live, "\x1b[J"):]
	if !strings.Contains(last, "waits for a person") || strings.Contains(last, "timeout") {
		t.Errorf("the last picture: %q", last)
	}
}
