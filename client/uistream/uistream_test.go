package uistream_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client/uistream"
	"github.com/pawl-run/pawl/toolspec"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// ending is how a stream of a test ends after its last event.
type ending int

const (
	byItself ending = iota
	aborted
	failed
)

type scenario struct {
	events []toolspec.RunEvent
	from   uistream.Position
	ending ending
}

func of(id, toolID string, kind toolspec.RunEventKind) toolspec.RunEvent {
	return toolspec.RunEvent{Kind: kind, ToolCallID: id, InvocationID: "inv-" + id, ToolID: toolID}
}

func start(id, toolID, args string) toolspec.RunEvent {
	e := of(id, toolID, toolspec.RunCallStart)
	if args != "" {
		e.Args = json.RawMessage(args)
	}
	return e
}

func result(id, toolID, value string) toolspec.RunEvent {
	e := of(id, toolID, toolspec.RunCallResult)
	e.Result = &toolspec.Result{ToolCallID: id, InvocationID: "inv-" + id, OK: true, Value: json.RawMessage(value), Attempts: 1, StartedAtMs: 1000, EndedAtMs: 2000}
	return e
}

func failure(id, toolID string, code toolspec.Code) toolspec.RunEvent {
	e := of(id, toolID, toolspec.RunCallResult)
	r := toolspec.Failure(code, "", nil)
	r.ToolCallID, r.InvocationID = id, "inv-"+id
	e.Result = &r
	return e
}

func progress(id string, done int64, text string) toolspec.RunEvent {
	e := of(id, "core__shell", toolspec.RunCallProgress)
	e.Progress = &toolspec.Progress{Done: done, Total: 3, Text: text}
	return e
}

func approval(id, toolID string, decision, approver string) toolspec.RunEvent {
	e := of(id, toolID, toolspec.RunApprovalRequested)
	e.Approval = &toolspec.RunApproval{ApprovalID: "inv-" + id + ".1", Message: "May the agent write?"}
	if decision != "" {
		e.Kind = toolspec.RunApprovalDecided
		e.Approval = &toolspec.RunApproval{ApprovalID: "inv-" + id + ".1", Decision: decision, Approver: approver}
	}
	return e
}

func text(s string) toolspec.RunEvent { return toolspec.RunEvent{Kind: toolspec.RunTextDelta, Text: s} }

func done() toolspec.RunEvent { return toolspec.RunEvent{Kind: toolspec.RunDone} }

// scenarios are the streams of the golden files. internal/uistreamtest reads them with the npm packages.
func scenarios() map[string]scenario {
	const write, read = "core__write_file", "core__read_file"
	large := result("call-1", read, `{"text":"`+strings.Repeat("лорем ipsum <b>&\u2028 ", 2600)+`"}`)
	stored := result("call-2", read, "")
	stored.Result.Value, stored.Result.OutputRef = nil, "out_1"
	return map[string]scenario{
		"two_calls": {events: []toolspec.RunEvent{
			text("I look at "), text("both files."),
			start("call-1", read, `{"path":"a.md"}`), start("call-2", read, `{"path":"b.md"}`),
			result("call-1", read, `{"text":"a"}`), result("call-2", read, `"b"`),
			text("They differ."), done(),
		}},
		"error": {events: []toolspec.RunEvent{
			start("call-1", "core__shell", `{"command":"false"}`), failure("call-1", "core__shell", toolspec.CodeExecution), done(),
		}},
		"invalid_arguments": {events: []toolspec.RunEvent{
			start("call-1", read, ""), failure("call-1", read, toolspec.CodeInvalidJSON), done(),
		}},
		"policy_denied": {events: []toolspec.RunEvent{
			start("call-1", write, `{"path":"a.md"}`), failure("call-1", write, toolspec.CodePolicyDenied), done(),
		}},
		"approval_waits": {events: []toolspec.RunEvent{
			start("call-1", write, `{"path":"a.md"}`), approval("call-1", write, "", ""),
		}, ending: aborted},
		"approval_waits_open": {events: []toolspec.RunEvent{
			start("call-1", write, `{"path":"a.md"}`), approval("call-1", write, "", ""),
		}},
		// The claim writes the start, so the request comes before it.
		"approved": {events: []toolspec.RunEvent{
			approval("call-1", write, "", ""), approval("call-1", write, "edited", "user:ann"),
			start("call-1", write, `{"path":"b.md"}`), result("call-1", write, `{"written":3}`), done(),
		}},
		"denied": {events: []toolspec.RunEvent{
			start("call-1", write, `{"path":"a.md"}`), approval("call-1", write, "", ""), approval("call-1", write, "denied", "user:ann"),
			failure("call-1", write, toolspec.CodeApprovalDenied), done(),
		}},
		"cancelled": {events: []toolspec.RunEvent{
			start("call-1", "core__shell", `{"command":"sleep 60"}`), progress("call-1", 1, "one"), failure("call-1", "core__shell", toolspec.CodeCancelled), done(),
		}},
		"progress": {events: []toolspec.RunEvent{
			start("call-1", "core__shell", `{"command":"make"}`), progress("call-1", 1, "one"), progress("call-1", 2, "two"),
			result("call-1", "core__shell", `{"exitCode":0}`), done(),
		}},
		"three_parallel": {events: []toolspec.RunEvent{
			start("call-1", read, `{"path":"1"}`), start("call-2", read, `{"path":"2"}`), start("call-3", read, `{"path":"3"}`),
			result("call-3", read, `3`), failure("call-1", read, toolspec.CodeTimeout), result("call-2", read, `null`), done(),
		}},
		"large": {events: []toolspec.RunEvent{
			start("call-1", read, `{"path":"large"}`), large, start("call-2", read, `{"path":"larger"}`), stored, done(),
		}},
		// The turn ends while a call of it waits for an approver: the finish comes after the result.
		"done_before_result": {events: []toolspec.RunEvent{
			start("call-1", read, `{"path":"a"}`), done(), result("call-1", read, `1`),
		}},
		"interrupted": {events: []toolspec.RunEvent{
			text("I look."), start("call-1", read, `{"path":"a"}`), progress("call-1", 1, "half"), start("call-2", read, ""),
		}, ending: aborted},
		// The reader of interrupted connects again, and gets the rest.
		"resumed": {from: uistream.Position{Seq: 4}, events: []toolspec.RunEvent{
			text("I look."), start("call-1", read, `{"path":"a"}`), progress("call-1", 1, "half"), start("call-2", read, ""),
			result("call-1", read, `"a"`), failure("call-2", read, toolspec.CodeValidation), text("Done."), done(),
		}},
		"failed": {events: []toolspec.RunEvent{start("call-1", read, `{"path":"a"}`), text("Meanwhile")}, ending: failed},
	}
}

// written is the stream of the events after a position, and whether it ended by itself.
func written(t *testing.T, events []toolspec.RunEvent, from uistream.Position, end ending) []byte {
	t.Helper()
	var out bytes.Buffer
	m := uistream.NewMapper("run-1")
	write := func(p uistream.Part, id string) {
		if err := p.Write(&out, id); err != nil {
			t.Fatal(err)
		}
	}
	if from.Seq == 0 {
		for _, p := range m.Start() {
			write(p, "")
		}
	}
	for n, e := range events {
		e.Seq = int64(n + 1)
		parts, _ := m.Map(e)
		rest, at := from.After(e.Seq, parts)
		for n, p := range rest {
			write(p, at[n].String())
		}
	}
	var last []uistream.Part
	switch end {
	case aborted:
		last = m.Abort()
	case byItself:
	case failed:
		last = m.Fail("The events of the run cannot be read.")
	}
	for _, p := range last {
		write(p, "")
	}
	if err := uistream.WriteDone(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestGolden compares each stream with testdata, which the test in internal/uistreamtest reads with the npm
// packages (EV-06).
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		file := filepath.Join("testdata", name+".sse")
		got := written(t, s.events, s.from, s.ending)
		if *update {
			if err := os.WriteFile(file, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the stream is not that of %s: go test ./client/uistream -update, and read the diff", file)
		}
	}
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) != len(scenarios()) {
		t.Errorf("testdata has %d streams, and there are %d scenarios: delete what is left over (%v)", len(files), len(scenarios()), err)
	}
}

// TestResume: a reader that connects again after any part gets exactly the rest of the stream.
func TestResume(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		whole := string(written(t, s.events, uistream.Position{}, s.ending))
		blocks := strings.SplitAfter(whole, "\n\n")
		before := ""
		for _, block := range blocks {
			before += block
			line, _, found := strings.Cut(block, "\n")
			id, found2 := strings.CutPrefix(line, "id: ")
			if !found || !found2 {
				continue
			}
			from, err := uistream.ParsePosition(id)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(written(t, s.events, from, s.ending)); before+got != whole {
				t.Errorf("%s: after %s the stream goes on with\n%.300s", name, id, got)
			}
		}
	}
}

// TestParsePosition: ids that the stream does not write are refused.
func TestParsePosition(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "1", "12.3", "9223372036854775807", ""} {
		if _, err := uistream.ParsePosition(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"-1", "+1", "01", "1.", "1.0", ".1", "1.-1", "0.1", "1.1.1", "1 ", "x", "9223372036854775808", "1\n"} {
		if p, err := uistream.ParsePosition(text); err == nil {
			t.Errorf("%q is %v", text, p)
		}
	}
}

// TestEveryPartIsClosed (EV-07, EV-08): whatever the events are, repeated, without a start, after the result or cut off anywhere, the
// stream is one that readers take: each part refers to an open part, each open part is closed once, and a result is before the finish.
func TestEveryPartIsClosed(t *testing.T) {
	t.Parallel()
	const runs = 5000
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 17))
		m := uistream.NewMapper("run-1")
		reader := newReader(m.Seq)
		var events []toolspec.RunEvent
		seq := int64(0)
		for range r.IntN(40) {
			e := randomEvent(r)
			if seq++; r.IntN(20) == 0 {
				seq -= int64(r.IntN(3))
			}
			e.Seq = seq
			events = append(events, e)
			reader.read(m.Start(), false)
			reader.read(m.Map(e))
		}
		switch r.IntN(3) {
		case 0:
			reader.read(m.Abort(), true)
		case 1:
			reader.read(m.Fail("failed"), true)
		default:
			for id := range reader.calls {
				seq += 100
				e := failure(id, "t__x", toolspec.CodeCancelled)
				e.Seq = seq
				reader.read(m.Start(), false)
				reader.read(m.Map(e))
			}
			e := done()
			e.Seq = seq + 200
			reader.read(m.Start(), false)
			reader.read(m.Map(e))
		}
		if fault := reader.end(); fault != "" {
			t.Fatalf("seed %d: %s after\n%s", seed, fault, encoded(t, events))
		}
		if parts, _ := m.Map(toolspec.RunEvent{Seq: 1 << 40, Kind: toolspec.RunTextDelta, Text: "x"}); len(parts) > 0 && reader.over {
			t.Fatalf("seed %d: after the end %v", seed, parts)
		}
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func randomEvent(r *rand.Rand) toolspec.RunEvent {
	id := fmt.Sprintf("call-%d", r.IntN(4))
	var e toolspec.RunEvent
	switch r.IntN(10) {
	case 0, 1:
		e = start(id, "t__x", `{"a":1}`)
	case 2:
		e = start(id, "", "")
	case 3:
		e = approval(id, "t__x", "", "")
	case 4:
		e = approval(id, "t__x", []string{"approved", "denied", "edited", "expired"}[r.IntN(4)], "user:ann")
	case 5:
		e = progress(id, 1, "x")
	case 6:
		e = result(id, "t__x", `1`)
	case 7:
		e = failure(id, "t__x", []toolspec.Code{toolspec.CodeApprovalDenied, toolspec.CodeTimeout, toolspec.CodeInvalidJSON}[r.IntN(3)])
	case 8:
		e = text([]string{"", "x"}[r.IntN(2)])
	default:
		e = done()
	}
	if r.IntN(30) == 0 {
		e.ToolCallID = ""
	}
	if r.IntN(30) == 0 {
		e.Approval, e.Result, e.Progress = nil, nil, nil
	}
	return e
}
