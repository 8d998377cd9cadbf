package calls

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
)

// TestShowCapacity: show prints the capacity that an open call holds and waits for, with its place in the queue.
func TestShowCapacity(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app.App{Streams: app.Streams{Out: &out}}
	if showCapacity(a, reads.Detail{}); out.Len() > 0 {
		t.Errorf("of nothing it says %q", out.String())
	}
	showCapacity(a, reads.Detail{Capacity: []reads.CapacityRecord{
		{Kind: "quota", Key: `["core__*","every 1m0s"]`, State: "waiting", At: time.Now()},
		{Kind: "semaphore", Key: `["a","concurrent","actor","\u202e\x1b[31m"]`, State: "waiting", Ahead: 7},
		{Kind: "semaphore", Key: `["b","concurrent"]`, State: "held"},
	}})
	for _, part := range []string{"\ncapacity\n", "waiting until ", `["core__*","every 1m0s"]`, "waiting behind 7", " held "} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in\n%s", part, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("it does more to the terminal than to write: %q", out.String())
	}
}

// TestWhenAgain: show and turn say when a call that a limit refused may be repeated.
func TestWhenAgain(t *testing.T) {
	t.Parallel()
	var out, err strings.Builder
	a := &app.App{Streams: app.Streams{Out: &out, Err: &err}}
	settled := time.Now()
	limited := toolspec.Failure(toolspec.CodeRateLimited, "", nil)
	limited.RetryAfterMs = 40_000
	d := reads.Detail{Result: &limited}
	d.SettledAt = &settled
	showResult(a, d)
	if want := "  again after " + app.FormatTime(settled.Add(40*time.Second)) + "\n"; !strings.Contains(out.String(), want) {
		t.Errorf("show does not say %q:\n%s", want, out.String())
	}
	printOutcomes(a, new(app.Session), []turn.Outcome{{Result: limited}, {Result: limited, Pending: true}})
	if lines := strings.Split(err.String(), "\n"); !strings.Contains(lines[0], "rate_limited  again in 40s") || strings.Contains(lines[1], "again") {
		t.Errorf("turn says:\n%s", err.String())
	}
}

// TestShowValue: show and invoke print the kind and the size of a value, and whether it is truncated.
func TestShowValue(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]toolspec.Result{
		"json":             {},
		"json, 2 bytes":    {Bytes: 2},
		"text, 7 bytes":    {Kind: toolspec.KindText, Bytes: 7},
		"parts, 900 bytes": {Kind: toolspec.KindParts, Bytes: 900},
		"text, 70000 bytes, truncated; `pawl show inv_1 --output` prints the whole": {Kind: toolspec.KindText, Bytes: 70000, Truncated: true, OutputRef: "out_1"},
	} {
		r.OK, r.Value, r.InvocationID = true, []byte(`"value"`), "inv_1"
		var out, err strings.Builder
		a := &app.App{Streams: app.Streams{Out: &out, Err: &err}}
		showResult(a, reads.Detail{Result: &r})
		if !strings.Contains(out.String(), "\n  value       "+want+"\n") {
			t.Errorf("show does not say %q:\n%s", want, out.String())
		}
		out.Reset()
		if e := printResult(a, r); e != nil || !strings.HasPrefix(err.String(), want+"\n") || out.String() != `"value"`+"\n" {
			t.Errorf("invoke says %q and %q, want %q", out.String(), err.String(), want)
		}
	}
}
