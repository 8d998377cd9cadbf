package chaos

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

func pairOptions(t *testing.T, program string, patterns ...string) PairOptions {
	t.Helper()
	pairs, err := MatchPairs(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return PairOptions{
		Pairs: pairs, Seed: 5, Calls: 3, Lanes: 1, Worker: workers(t, program), Progress: func(line string) { t.Log(line) },
		Evidence: filepath.Join(t.TempDir(), "evidence"),
	}
}

// TestRunPairs: faults of a call, of the worker and of a server hit at their points, and every
// oracle holds. If the workers write no claims, the oracles blame the same pairs.
func TestRunPairs(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	names := []string{
		"effect.after/reset-first+claim.before/late", "effect.after/reset-last+settle.before/reset-last", "effect.after/restart+claim.before/kill",
		"claim.after/terminate+effect.before/late", "effect.after/kill+check.before/late", "claim.after/late+settle.before/lock",
	}
	o := pairOptions(t, program, names...)
	if len(o.Pairs) != len(names) {
		t.Fatalf("there are only the pairs %v", o.Pairs)
	}
	report, err := RunPairs(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Verdicts {
		if !v.Held() {
			t.Errorf("%s: %v", v.Name, v.Violations)
		}
	}
	if want := o.Calls * len(names); report.Calls != want || len(report.Failed) > 0 || !report.Held() {
		t.Errorf("%d calls, failed %v; want %d", report.Calls, report.Failed, want)
	}
	for _, p := range report.Pairs {
		// A kill can end the attempt of another call of its batch just before that call reaches its first point.
		everyFirst := p.First == o.Calls || strings.Contains(p.Name, "/"+string(oracle.Kill))
		if p.Calls != o.Calls || p.Both == 0 || !everyFirst {
			t.Errorf("%+v; want %d calls that the first fault hit, and some that both hit", p, o.Calls)
		}
	}
	for _, kind := range []oracle.FaultKind{oracle.ResetFirst, oracle.ResetLast, oracle.Restart, oracle.Terminate, oracle.Kill, oracle.Lock, oracle.Late} {
		if report.Faults[kind] == 0 {
			t.Errorf("no %s in %v", kind, report.Faults)
		}
	}

	o = pairOptions(t, program, "effect.after/reset-first+claim.before/late", "claim.after/terminate+effect.before/late")
	o.Worker = forgetful(o.Worker)
	if report, err = RunPairs(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	blamed := map[string]bool{}
	for _, p := range report.Pairs {
		for _, b := range p.Violated {
			blamed[b.Oracle+" "+p.Name] = true
			if b.Why == "" || !strings.HasPrefix(b.ToolCallID, "p") {
				t.Errorf("%+v", b)
			}
		}
	}
	if report.Held() || !blamed["once effect.after/reset-first+claim.before/late"] || !blamed["accounted claim.after/terminate+effect.before/late"] {
		t.Errorf("blamed are %v; want second effects and effects of calls that were cancelled", blamed)
	}
	if kept, err := filepath.Glob(filepath.Join(o.Evidence, "lane-0-batch-*", "p*.history.json")); err != nil || len(kept) == 0 {
		t.Errorf("evidence %v, %v", kept, err)
	}
}

// TestPairsBrokenOff: a run whose context ends returns an error and leaves no process.
func TestPairsBrokenOff(t *testing.T) {
	t.Parallel()
	stop := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	o := pairOptions(t, breakable(t), "effect.after/reset-last+claim.before/postgres-freeze")
	o.Calls = 1000
	dirs := make(chan string, 100)
	make1 := o.Worker
	o.Worker = func() *exec.Cmd {
		cmd := make1()
		dirs <- cmd.Dir
		return cmd
	}
	// The first batch has ended, and the next one has started.
	o.Progress = func(line string) {
		if strings.Contains(line, " calls of ") {
			cancel(stop)
		}
	}
	report, err := RunPairs(ctx, o)
	if !errors.Is(err, stop) || report == nil || report.Calls != batchCalls || len(report.Verdicts) == 0 || !report.Held() {
		t.Fatalf("%+v, %v; want the report of the first batch", report, err)
	}
	if left := processesIn(t, <-dirs); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestPairOptions(t *testing.T) {
	for what, change := range map[string]func(*PairOptions){
		"worker": func(o *PairOptions) { o.Worker = nil }, "pairs": func(o *PairOptions) { o.Pairs = nil },
		"number of calls": func(o *PairOptions) { o.Calls = -1 }, "number of lanes": func(o *PairOptions) { o.Lanes = 17 },
	} {
		o := pairOptions(t, "none")
		change(&o)
		if _, err := RunPairs(t.Context(), o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
