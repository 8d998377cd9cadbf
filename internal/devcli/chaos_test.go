package devcli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/faultkit/chaos"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// TestChaos runs `pawl chaos` for a short time. Its environment names other servers,
// which it must not use. The run is judged, and no process and no file is left.
func TestChaos(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	env := []string{"PAWL_DATABASE_URL=postgres://nobody@127.0.0.1:1/app", "TEMPORAL_ADDRESS=127.0.0.1:1", "TEMPORAL_NAMESPACE=other"}
	out, errs := s.run("work", env, 0, "chaos", "--for", "5s", "--calls", "20", "--seed", "5", "--every", "3s")
	s.says(out,
		"Pawl chaos, seed 5: 20 calls in 5s on 2 workers", "chaos__ask ", "faults  kill ",
		"pawl chaos --seed 5 --for 5s --calls 20 --workers 2 --every 3s --faults kill",
		"ORACLE ", "CHECKED ", "VIOLATIONS ", "VERDICT ", "settled ", "progress ", "holds ",
		"TOOL ", "ENDED", "effects ", "attempts ", "duration   p50 ", "history    p50 ", "Nothing lost, nothing twice.",
	)
	s.says(errs, "of 20 calls accepted")
	s.leavesNothing()

	out, _ = s.run("work", env, 0, "chaos", "--for", "1s", "--calls", "6", "--seed", "1", "--faults", "none", "--json")
	var report chaos.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Verdicts) != len(oracle.All()) || !report.Held() {
		t.Errorf("%v:\n%s", err, out)
	}
	_, errs = s.run("work", env, 2, "chaos", "--faults", "earthquake")
	s.says(errs, "earthquake", "kill, term, stop, postgres, temporal, postgres-freeze", "garbage, or all, or none")
	_, errs = s.run("work", env, 1, "chaos", "--workers", "50")
	s.says(errs, "number of workers must be between 1 and 16")
}

// TestChaosBrokenOff ends a run in the middle, with SIGINT and with SIGKILL, while
// workers are stopped.
func TestChaosBrokenOff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		signal syscall.Signal
		status int
	}{{syscall.SIGINT, 1}, {syscall.SIGKILL, -1}} {
		t.Run(test.signal.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			c := s.start("work", nil, "chaos", "--for", "10m", "--every", "200ms", "--faults", "stop")
			if err := eventually(t.Context(), func() error {
				if !strings.Contains(c.err.String(), "stop ") {
					return io.ErrNoProgress
				}
				return nil
			}); err != nil {
				t.Fatalf("%v\n%s\n%s", err, c.out.String(), c.err.String())
			}
			if err := c.signal(test.signal); err != nil {
				t.Fatal(err)
			}
			c.ends(test.status)
			if test.signal == syscall.SIGINT {
				s.says(c.err.String(), "the run ended before it could be judged")
				s.leavesNothing()
				return
			}
			s.nothingRuns()
		})
	}
}

// leavesNothing fails if a process or a file of the site is left.
func (s *site) leavesNothing() {
	s.t.Helper()
	s.nothingRuns()
	entries, err := os.ReadDir(s.path("tmp"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		s.t.Errorf("left behind: %s", e.Name())
	}
}

// TestChaosReport checks the text of reports with violations.
func TestChaosReport(t *testing.T) {
	show := func(broken map[string][]oracle.Violation) string {
		r := &chaos.Report{Figures: chaos.Figures{Calls: map[string]map[string]int{"chaos__send": {"ok": 2, "outcome_unknown": 1}}}}
		for _, o := range oracle.All() {
			r.Verdicts = append(r.Verdicts, oracle.Verdict{Name: o.Name, Means: o.Means, Checked: 3, Violations: broken[o.Name]})
		}
		r.Verdicts[0].Checked = 0
		var out bytes.Buffer
		chaosReport(devApp{&app.App{Streams: app.Streams{Out: &out}}}, r)
		return out.String()
	}
	words := func(text string, want ...string) {
		t.Helper()
		for _, word := range want {
			if !strings.Contains(text, word) {
				t.Errorf("%q is not in:\n%s", word, text)
			}
		}
	}
	words(show(nil), "settled    0        0           -", "once       3        0           holds", "chaos__send  3      ok 2, outcome_unknown 1", "no faults", "Nothing lost")
	many := make([]oracle.Violation, maxShown+2)
	for i := range many {
		many[i] = oracle.Violation{ToolCallID: "c00007", Why: "2 effects\x1b[31m"}
	}
	text := show(map[string][]oracle.Violation{"once": many, "manned": {{Why: "worker 7 ended by itself"}}})
	words(text, "VIOLATED", "once is violated:\n  c00007  2 effects\\u001b[31m\n", "… and 2 more", "manned is violated:\n  worker 7", "2 of 19 oracles are violated", "--evidence")
	if strings.Contains(text, "Nothing lost") {
		t.Errorf("it is not said that something is wrong:\n%s", text)
	}
	words(show(map[string][]oracle.Violation{oracle.Void: {{Why: "1 of 9 calls ended ok"}}}), "VOID", "1 of 9 calls ended ok", "The run is void")
}

// TestChaosPairs: every program lists the pairs, and only a program with failpoints runs
// them.
func TestChaosPairs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	out, _ := s.run("work", nil, 0, "chaos", "--list-pairs", "--pair", "effect.after/reset-*+claim.before/l*")
	want := []string{
		"effect.after/reset-first+claim.before/lock", "effect.after/reset-first+claim.before/late",
		"effect.after/reset-last+claim.before/lock", "effect.after/reset-last+claim.before/late",
	}
	if got := strings.Fields(out); !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	_, errs := s.run("work", nil, 2, "chaos", "--pair", "effect.after/earthquake")
	s.says(errs, "no pair is like", "--list-pairs")
	_, errs = s.run("work", nil, 2, "chaos", "--pairs")
	s.says(errs, "go run -tags faults ./cmd/pawl chaos --pairs")
	s.leavesNothing()
}

// TestChaosPairReport checks the text of a report in which one pair has a violation.
func TestChaosPairReport(t *testing.T) {
	r := &chaos.PairReport{
		Planned: 3, Calls: 8, First: 7, Both: 6, Effects: 9, Faults: map[oracle.FaultKind]int{oracle.Late: 6}, Took: 90 * time.Second,
		Verdicts: []oracle.Verdict{{Name: "once", Means: "sentence", Checked: 8, Violations: []oracle.Violation{{ToolCallID: "p0001-0", Why: "2 effects"}}}},
		Pairs: []*chaos.PairFigures{
			{Name: "a/late+b/kill", Calls: 4, First: 4, Both: 3, Outcomes: map[string]int{"ok": 3, "cancelled": 1}, Violated: []chaos.Blame{{Oracle: "once"}}},
			{Name: "c/late+d/kill", Calls: 4, First: 3, Both: 3, Outcomes: map[string]int{"ok": 4}},
		},
		Failed: []string{"p0002-1 a/pause: not\x1b implemented"},
	}
	var out bytes.Buffer
	chaosPairReport(devApp{&app.App{Streams: app.Streams{Out: &out}}}, r)
	for _, want := range []string{
		"once    8        1           VIOLATED", "p0001-0  2 effects", "a/late+b/kill  4      4      3     1           cancelled 1, ok 3",
		"c/late+d/kill  4      3      3     0           ok 4", "2 of 3 were run, in 1m30s", "8; 7 were hit by the first fault, 6 by both",
		"late 6", `not\u001b implemented`, "1 faults could not be injected", "1 of 1 oracles are violated",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}

// TestChaosIsDocumented: docs/operations.md has the sentence of every oracle and the
// name of every fault.
func TestChaosIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(page), "`outcome_unknown`", "outcome_unknown")
	for _, o := range oracle.All() {
		if row := "| `" + o.Name + "` | " + o.Means + " |"; !strings.Contains(text, row) {
			t.Errorf("docs/operations.md lacks: %s", row)
		}
	}
	for _, kind := range append(chaos.Kinds(), oracle.Late) {
		if !strings.Contains(text, "`"+string(kind)+"`") {
			t.Errorf("docs/operations.md lacks the fault %s", kind)
		}
	}
}
