package agents

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

var long = flag.Int("long", 0, "the number of tool calls of TestVeryLongRun, which is skipped without it: task agent-long")

// TestVeryLongRun checks a run of very many calls. The length of its histories is bounded, and the memory of its worker does not grow with the run. After its
// worker is restarted, by SIGTERM or by SIGKILL, the run goes on within two seconds. Every call ends once. A read whose task was lost is repeated.
func TestVeryLongRun(t *testing.T) {
	if *long == 0 {
		t.Skip("it takes minutes: -long 10000")
	}
	const (
		width     = 10
		maxEvents = 4096 + 512 // Temporal suggests a new history at 4096 events; the current round still ends in the old one
	)
	rounds := *long / width
	file := filepath.Join(t.TempDir(), "effects")
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{})
	w := &world{World: e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy)}
	w.model = modelserver.Serve(t, "openai", func(modelserver.Request) modelserver.Reply {
		// The number of the round comes from the record. The answers in a request cannot be counted, because requests leave out the oldest rounds.
		round := e2etest.Scalar[int](w.World, "SELECT rounds FROM agent_runs WHERE run_id = 'run'")
		if round >= rounds {
			return modelserver.Reply{Text: "done"}
		}
		var all []modelserver.Call
		for i := range width {
			all = append(all, modelserver.Call{ID: fmt.Sprintf("call-%d-%d", round, i), Name: "test__fast", Args: fmt.Sprintf(`{"text":%q,"note":"%d"}`, file, i)})
		}
		return calls(all...)
	})
	worker := w.child("PAWL_LOG_LEVEL=info")
	d := w.document("openai", "test__fast")
	d.Limits = agent.Limits{Rounds: agent.MaxRounds, Calls: agent.MaxCalls, Seconds: 6 * 3600, ContextBytes: 64 << 10, AtOnce: width}
	w.apply(d)
	run := w.start(input("run", "go"))
	effects := func() int { return len(w.Effects(file)) }
	reach := func(n int) {
		t.Helper()
		for last := -1; effects() < n; {
			now := effects()
			if now == last {
				t.Fatalf("the run stands still at %d calls", now)
			}
			last = now
			e2etest.Eventually(t.Context(), func() bool { return effects() > now+100 || effects() >= n })
		}
	}
	began := time.Now()
	reach(*long / 10)
	early := rss(t, worker)
	reach(*long / 2)
	late := rss(t, worker)
	t.Logf("the worker had %d MiB at %d calls and %d MiB at %d", early>>20, *long/10, late>>20, *long/2)
	if late > early+early/4 {
		t.Errorf("the memory of the worker grew from %d MiB to %d MiB", early>>20, late>>20)
	}
	again := func(how string, stop func()) {
		t.Helper()
		// The worker must be stopped during calls. The loss of a worker that waits for a model is noticed later, by the missing heartbeat of the request.
		w.calling(run, width)
		stop()
		runs, at := strings.Count(w.Log.String(), "worker runs"), effects()
		worker = w.child("PAWL_LOG_LEVEL=info")
		w.Until(func() bool { return strings.Count(w.Log.String(), "worker runs") > runs }, "the next worker runs")
		back := time.Now()
		// More calls than those of a round began after the restart, so the calls of the lost worker have ended.
		w.Until(func() bool { return effects() > at+width }, "the run goes on")
		took := time.Since(back)
		t.Logf("%s at %d calls: the run went on %s after the next worker was there", how, at, took.Round(time.Millisecond))
		if took > 2*time.Second {
			t.Errorf("the run went on after %s, want 2 s", took)
		}
	}
	again("stopped", func() {
		if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := worker.Wait(); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	reach(*long / 4 * 3)
	again("killed", func() { e2etest.Kill(worker) })
	reach(rounds * width)
	result := w.result(run)
	want(t, result, agent.Completed, "done")
	events := w.chain(agent.WorkflowID("acme", "run"))
	t.Logf("%d calls in %s; %d histories, the longest with %d events; the last worker has %d MiB", result.Calls, time.Since(began).Round(time.Second),
		len(events), slices.Max(events), rss(t, worker)>>20)
	if longest := slices.Max(events); longest > maxEvents {
		t.Errorf("the longest history has %d events, want %d at most", longest, maxEvents)
	}
	if settled := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM invocations WHERE run_id = 'run' AND state = 'settled' AND error_code IS NULL"); result.Calls != rounds*width || settled != result.Calls {
		t.Errorf("%d calls, and %d in the record, want %d", result.Calls, settled, rounds*width)
	}
	t.Logf("%d reads were repeated", effects()-rounds*width)
}

// rss returns the resident memory of a process, in bytes.
func rss(t *testing.T, p *process) (bytes int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Process.Pid))
	if err != nil {
		t.Skip("the memory of a process can be read on Linux only")
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}
