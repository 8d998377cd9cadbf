package bench

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// submitterEnv makes this binary the process that submits calls.
const submitterEnv = "PAWL_BENCH_TEST_SUBMITS"

// TestSubmitting is that process.
func TestSubmitting(t *testing.T) {
	if os.Getenv(submitterEnv) == "" {
		t.Skip("it runs as a child of TestCounts")
	}
	if err := Submit(t.Context(), os.Stdin, os.Stdout); err != nil {
		t.Fatal(err)
	}
}

// workerEnv makes this binary the worker of calls that wait.
const workerEnv = "PAWL_BENCH_TEST_WORKS"

// TestWorking is that worker.
func TestWorking(t *testing.T) {
	if os.Getenv(workerEnv) == "" {
		t.Skip("it runs as a child of TestPark")
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	if err := Work(ctx, os.Stdin); err != nil {
		t.Fatal(err)
	}
}

// TestPark: the calls that wait outlive the worker, each is decided once, and the report says what it took. How much that is is for `pawl bench`.
func TestPark(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	report, err := Park(t.Context(), Options{
		Rounds: 1, Calls: 1, Parallel: 4, Store: Memory, Progress: func(line string) { t.Log(line) },
		Worker: func() *exec.Cmd {
			cmd := exec.Command(self, "-test.run", "^TestWorking$")
			cmd.Env = append(os.Environ(), workerEnv+"=1")
			return cmd
		},
	}, []int{5, 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", report)
	if len(report.Sizes) != 2 || report.Sizes[1].Calls != 20 || report.Sizes[1].RSSMB < 1 || report.Sizes[1].RestartedRatio <= 0 || report.DecidedMB < 1 ||
		report.P50Ms <= 0 || report.P95Ms < report.P50Ms {
		t.Errorf("%+v", report)
	}
}

// TestTelemetry: reads and writes run on a worker with telemetry and on one without. `pawl bench --telemetry-cost` measures the cost of telemetry.
func TestTelemetry(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "") // the measurement sets it
	report, err := Telemetry(t.Context(), Options{Rounds: 2, Calls: 2, Parallel: 2, Store: Memory, Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Cases) != 2 {
		t.Fatalf("%+v", report)
	}
	for _, f := range report.Cases {
		if f.OffPerS <= 0 || f.OnPerS <= 0 || f.Ratio <= 0 || f.OffCPUMs <= 0 || f.OnCPUMs <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

// TestCounts: what a call costs in events, bytes, state transitions and round trips is no matter of luck, so it is a promise and not a
// target. Times are for `pawl bench`.
func TestCounts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), Options{
		Rounds: 1, Calls: 5, Parallel: 2, Store: Memory, Progress: func(line string) { t.Log(line) },
		Submitter: func() *exec.Cmd {
			cmd := exec.Command(self, "-test.run", "^TestSubmitting$")
			cmd.Env = append(os.Environ(), submitterEnv+"=1")
			return cmd
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Figure{}
	for _, f := range report.Cases {
		found[f.Name] = f
		t.Logf("%+v", f)
	}
	for name, want := range map[string]struct{ transitions, sql, events, bytes int64 }{
		"bare":             {6, 0, 11, 2 << 10},
		"bare_eager":       {5, 0, 11, 2 << 10},
		"bare_sql":         {6, 2, 11, 2 << 10},
		"read_only":        {2, 2, 30, 10 << 10},
		"read_only_remote": {3, 2, 30, 10 << 10},
		"denied":           {2, 2, 30, 10 << 10},

		"read_only_guarded_miss":    {2, 5, 30, 10 << 10},
		"read_only_guarded_hit":     {2, 5, 30, 10 << 10},
		"read_only_connection":      {2, 3, 30, 10 << 10}, // one more than read_only
		"external_side_effect":      {6, 3, 30, 10 << 10}, // the claim is the third
		"external_side_effect_fast": {2, 4, 30, 10 << 10}, // the kept answer is the fourth
		"hooks_20":                  {2, 2, 50, 20 << 10},
	} {
		f, measured := found[name]
		if !measured {
			t.Errorf("%s was not measured", name)
			continue
		}
		if f.StateTransitions > want.transitions || f.SQLStatements != want.sql || f.HistoryEvents > want.events || f.HistoryBytes > want.bytes {
			t.Errorf("%s costs %d transitions, %d statements, %d events, %d bytes; want at most %d, exactly %d, at most %d, at most %d",
				name, f.StateTransitions, f.SQLStatements, f.HistoryEvents, f.HistoryBytes, want.transitions, want.sql, want.events, want.bytes)
		}
		if f.ThroughputPerS <= 0 || f.P50Ms <= 0 || f.P95Ms < f.P50Ms || f.MaxMs < f.P95Ms || f.Allocs == 0 {
			t.Errorf("%s has figures that cannot be: %+v", name, f)
		}
	}
	if len(report.Cases) != len(Names()) {
		t.Errorf("%d cases were measured, want all %d", len(report.Cases), len(Names()))
	}
	if b := found[bare]; b.ThroughputRatio != 1 || b.P50Ratio != 1 {
		t.Errorf("bare is %v and %v of itself", b.ThroughputRatio, b.P50Ratio)
	}
	if !strings.Contains(report.Server, "synchronous_commit on, fsync on") {
		t.Errorf("measured on %q", report.Server)
	}
}

// TestFields: other programs read the report.
func TestFields(t *testing.T) {
	round := []sample{{latencies: []time.Duration{2e6, 1e6, 3e6}, throughput: 4, trips: []int64{2, 3, 2}, cpu: 5e6, allocs: 6, cost: cost{7, 8, 9, 1}}}
	data, err := json.Marshal(Report{Server: "here", Rounds: 1, Cases: []Figure{figure(kase{name: "it", about: "a case"}, round, round)}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"server":"here","rounds":1,"cases":[{"name":"it","throughput_per_s":4,"throughput_ratio":1,"p50_ms":2,"p50_ratio":1,` +
		`"p95_ms":3,"max_ms":3,"history_events":7,"history_bytes":8,"state_transitions":9,"actions":1,"sql_statements":2,"cpu_ms":5,"allocs":6}]}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

// TestRatios: a ratio is to bare in the same round, and of rounds the middle one counts.
func TestRatios(t *testing.T) {
	round := func(latency time.Duration, throughput float64) sample {
		return sample{latencies: []time.Duration{latency}, throughput: throughput, trips: []int64{0}}
	}
	own := []sample{round(20, 50), round(60, 60), round(10, 10)}
	bares := []sample{round(10, 100), round(20, 200), round(10, 100)}
	f := figure(kase{name: "it"}, own, bares)
	if f.P50Ratio != 2 || f.ThroughputRatio != 0.3 || f.ThroughputPerS != 50 {
		t.Errorf("got %+v", f)
	}
}

func TestOptions(t *testing.T) {
	good := Options{Rounds: 3, Calls: 1, Parallel: 1, Store: File}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for word, spoil := range map[string]func(*Options){
		"rounds": func(o *Options) { o.Rounds = 0 }, "calls": func(o *Options) { o.Calls = 0 }, "concurrency": func(o *Options) { o.Parallel = 257 },
		"store": func(o *Options) { o.Store = "paper" }, "there is no case": func(o *Options) { o.Cases = []string{"fast"} },
	} {
		o := good
		spoil(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want a word about %s", err, word)
		}
	}
	o := Options{Cases: []string{"denied"}}
	if !o.wants(bare) || !o.wants("denied") || o.wants("read_only") || !slices.Contains(Names(), bare) {
		t.Error("the cases that are wanted are wrong")
	}
}

// TestGrow: what is filled in stands in the record like calls that were made, and a read still works.
func TestGrow(t *testing.T) {
	report, err := Grow(t.Context(), Options{Rounds: 1, Calls: 2, Parallel: 1, Store: Memory, Progress: func(string) {}}, []int{10, 12_000})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Sizes) != 2 || report.Sizes[0].P50Ratio != 1 || report.Sizes[1].Invocations != 12_000 || report.Sizes[1].P50Ms <= 0 {
		t.Errorf("got %+v", report)
	}
}

// TestAgent: the agent and the workflow by hand make the same calls, and the report says what each took. How much that is is for `pawl bench`.
func TestAgent(t *testing.T) {
	report, err := Agent(t.Context(), Options{Rounds: 1, Calls: 1, Parallel: 1, Store: Memory, Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Cases {
		t.Logf("%+v", f)
		if f.P50Ms <= 0 || f.HistoryEvents < 5 || f.SQLStatements < 1 {
			t.Errorf("%+v", f)
		}
	}
	if len(report.Cases) != 2 {
		t.Errorf("the report has %d cases", len(report.Cases))
	}
}
