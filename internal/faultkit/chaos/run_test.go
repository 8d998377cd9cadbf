package chaos

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

func options(t *testing.T, program string) Options {
	t.Helper()
	return Options{
		Seed: 3, For: 8 * time.Second, Calls: 40, Workers: 2, Faults: []oracle.FaultKind{oracle.Kill}, Every: 3 * time.Second,
		Worker: workers(t, program), Progress: func(line string) { t.Log(line) }, Evidence: filepath.Join(t.TempDir(), "evidence"),
	}
}

func self(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestRun: workers are killed while they run a mix of calls, no oracle is violated, and each oracle
// has checked something.
func TestRun(t *testing.T) {
	t.Parallel()
	o := options(t, self(t))
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Verdicts {
		if !v.Held() {
			t.Errorf("%s: %v", v.Name, v.Violations)
		}
		// Chance decides whether a kill hits a tool that must not be repeated, and whether the call then ends otherwise.
		if v.Checked == 0 && v.Name != "unknown" && v.Name != "accounted" {
			t.Errorf("%s has checked nothing", v.Name)
		}
	}
	f := report.Figures
	if f.Faults[oracle.Kill] == 0 || f.Faults[oracle.Crash] > 0 {
		t.Errorf("faults %v, want kills and no crash", f.Faults)
	}
	if f.Effects == 0 || f.Attempts == 0 || f.Duplicates == 0 || f.Conflicts == 0 || f.Decisions == 0 || f.Duration.Max == 0 || f.Events.P50 == 0 {
		t.Errorf("figures %+v", f)
	}
	entries, err := os.ReadDir(o.Evidence)
	if err != nil || len(entries) != 1+2*slowest || entries[len(entries)-1].Name() != "faults.json" {
		t.Errorf("evidence %v, %v; want the faults and the slowest calls", entries, err)
	}
}

// breakable builds a worker with failpoints.
func breakable(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "breakable")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-tags", "faults", "-o", program, "./testdata/breakable")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return program
}

// forgetful makes a breakable worker write no claims.
func forgetful(worker func() *exec.Cmd) func() *exec.Cmd {
	return func() *exec.Cmd {
		cmd := worker()
		cmd.Env = append(cmd.Env, "PAWL_CHAOS_FORGET=yes")
		return cmd
	}
}

// TestForgetfulWorker: if workers write no claims, an oracle of a real run names the violation and the call, and the evidence is kept.
// TestRunPairs shows the second effects that follow from that, because it decides where a worker is killed.
func TestForgetfulWorker(t *testing.T) {
	t.Parallel()
	o := options(t, breakable(t))
	o.Worker = forgetful(o.Worker)
	o.For, o.Calls, o.Faults = 2*time.Second, 20, nil
	broken := violations(t, o)
	if len(broken["claimed"]) == 0 {
		t.Fatalf("violations %v; want effects without claims", broken)
	}
	unclaimed := broken["claimed"][0]
	if !strings.HasPrefix(unclaimed.ToolCallID, "c0") || unclaimed.Why != "1 effects, and 0 claims" {
		t.Errorf("%+v", unclaimed)
	}
	for _, suffix := range []string{".json", ".history.json"} {
		text, err := os.ReadFile(filepath.Join(o.Evidence, unclaimed.ToolCallID+suffix))
		if err != nil || !strings.Contains(string(text), unclaimed.ToolCallID) {
			t.Errorf("evidence %s: %v", suffix, err)
		}
	}
}

// violations returns the violations of a run, by oracle.
func violations(t *testing.T, o Options) map[string][]oracle.Violation {
	t.Helper()
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string][]oracle.Violation{}
	for _, v := range report.Verdicts {
		if !v.Held() {
			broken[v.Name] = v.Violations
		}
	}
	if report.Held() != (len(broken) == 0) {
		t.Errorf("the report says %v of %v", report.Held(), broken)
	}
	return broken
}

// TestBrokenOff: a run whose context ends returns an error soon, and leaves no process.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	o := options(t, self(t))
	o.For, o.Faults = time.Hour, []oracle.FaultKind{oracle.Kill, oracle.Stop}
	o.Calls = 40_000
	stop := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	// After the first progress line with an effect, calls are running.
	o.Progress = func(line string) {
		if strings.Contains(line, " effects,") && !strings.Contains(line, " 0 effects,") {
			cancel(stop)
		}
	}
	began := make(chan string, 1000)
	make1 := o.Worker
	o.Worker = func() *exec.Cmd {
		cmd := make1()
		began <- cmd.Dir
		return cmd
	}
	report, err := Run(ctx, o)
	if report != nil || !errors.Is(err, stop) {
		t.Fatalf("%v, %v", report, err)
	}
	if left := processesIn(t, <-began); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// processesIn returns the processes whose working directory is dir. It needs /proc.
func processesIn(t *testing.T, dir string) (found []string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("looking for left-over processes needs /proc")
	}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if cwd, err := os.Readlink(filepath.Join(entry, "cwd")); err == nil && cwd == dir {
			found = append(found, filepath.Base(entry))
		}
	}
	return found
}

// TestWorkersThatDoNotStart: a run whose workers do not start ends with the output of a worker.
func TestWorkersThatDoNotStart(t *testing.T) {
	t.Parallel()
	o := options(t, self(t))
	o.Worker = func() *exec.Cmd { return exec.Command("sh", "-c", "echo out of order >&2; exit 1") }
	if report, err := Run(t.Context(), o); report != nil || err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("%v, %v", report, err)
	}
	o.Worker = func() *exec.Cmd { return exec.Command(filepath.Join(t.TempDir(), "missing")) }
	if report, err := Run(t.Context(), o); report != nil || err == nil || !strings.Contains(err.Error(), "start a worker") {
		t.Errorf("%v, %v", report, err)
	}
}

func TestOptions(t *testing.T) {
	for what, change := range map[string]func(*Options){
		"worker": func(o *Options) { o.Worker = nil }, "time": func(o *Options) { o.For = time.Millisecond },
		"number of calls": func(o *Options) { o.Calls = -1 }, "number of workers": func(o *Options) { o.Workers = 17 },
		"between kills": func(o *Options) { o.Every = time.Millisecond },
	} {
		o := options(t, "none")
		change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := ParseKinds("kill,earthquake"); err == nil || !strings.Contains(err.Error(), "earthquake") {
		t.Error(err)
	}
	if kinds, err := ParseKinds("postgres, kill,kill"); err != nil || !slices.Equal(kinds, []oracle.FaultKind{oracle.Postgres, oracle.Kill}) {
		t.Error(kinds, err)
	}
}
