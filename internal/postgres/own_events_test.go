package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
	"github.com/pawl-run/pawl/toolspec"
)

// watch stores a trigger for events of Pawl.
func (b bench) watch(tenantID, name, options string) {
	b.t.Helper()
	d, err := trigger.Read("t.yaml", []byte("name: "+name+"\ntenant: "+tenantID+"\nactor: agent:watcher\nagent: watcher\non: pawl\npawl: "+options+"\nprompt: go\n"))
	if err == nil {
		_, err = b.ApplyTrigger(b.t.Context(), d, "user:root")
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// runEnds opens runs of an agent in a namespace, and ends them with an outcome.
func (b bench) runEnds(namespace, outcome, parent string, runs ...string) {
	b.t.Helper()
	for _, run := range runs {
		b.sql(`INSERT INTO agent_runs (tenant_id, run_id, input_digest, agent, version, document, input, namespace, parent_run_id, parent_call_id)
			VALUES ('acme', $1, '', 'helper', '1', '{}', '{}', $2, nullif($3, ''), CASE WHEN $3 <> '' THEN 'call' END)`, run, namespace, parent)
		b.sql(`UPDATE agent_runs SET ended_at = now(), result = json_build_object('outcome', $2::text) WHERE run_id = $1`, run, outcome)
		b.sql(`UPDATE agent_runs SET answer = 'x' WHERE run_id = $1`, run) // a change after the end must not queue a second event
	}
}

func (b bench) queued() []string {
	b.t.Helper()
	return strings.Fields(value[string](b, `SELECT coalesce(string_agg(name || ':' || event_id, ' ' ORDER BY name, event_id), '') FROM trigger_queue`))
}

// TestOwnEventsAreQueued: an event is queued for the triggers of its tenant that match it. No event is queued of a run that an event of Pawl has started, and
// none of the child runs of such a run.
func TestOwnEventsAreQueued(t *testing.T) {
	b := open(t)
	b.watch("acme", "all", "{event: run_ended}")
	b.watch("acme", "failed", "{event: run_ended, agents: [other, helper], outcomes: [failed]}")
	b.watch("acme", "agents", "{event: run_ended, agents: [other]}")
	b.watch("acme", "calls", "{event: call_ended}")
	b.watch("acme", "retired", "{event: run_ended}")
	b.watch("globex", "foreign", "{event: run_ended}")
	if _, err := b.RetireTrigger(t.Context(), "acme", "retired", "user:root"); err != nil {
		t.Fatal(err)
	}
	// Only the active version of a trigger decides.
	b.watch("acme", "changed", "{event: run_ended}")
	b.watch("acme", "changed", "{event: run_ended, outcomes: [cancelled]}")
	b.runEnds("n", "completed", "", "one")
	b.runEnds("n", "failed", "", "two", "trigger-pawl-one", "trigger-one")
	b.runEnds("n", "failed", "one", "child")
	b.runEnds("n", "failed", "trigger-pawl-one", "nephew")
	b.runEnds("n", "failed", "nephew", "deeper")
	want := strings.Fields("all:run_ended:child all:run_ended:one all:run_ended:trigger-one all:run_ended:two failed:run_ended:child failed:run_ended:trigger-one failed:run_ended:two")
	if got := b.queued(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// fired is a Firer that records the events that it gets.
type fired struct {
	mu     sync.Mutex
	events []outbox.TriggerEvent
	answer func(outbox.TriggerEvent) error
}

func (f *fired) Fire(_ context.Context, e outbox.TriggerEvent) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
	return f.answer(e)
}

// TestOwnEventsAreHandled: an event is handled by a worker of its namespace until its run has started. An event whose start
// fails is tried again later. An event that another worker has taken is left to that worker.
func TestOwnEventsAreHandled(t *testing.T) {
	b := open(t)
	b.watch("acme", "all", "{event: run_ended}")
	b.runEnds("n", "completed", "", "fails", "taken", "starts")
	b.runEnds("", "completed", "", "old")
	b.runEnds("other", "completed", "", "foreign")
	b.sql(`UPDATE trigger_queue SET next_at = now() + interval '1 minute' WHERE event_id = 'run_ended:taken'`)
	b.runEnds("n", "completed", "", "late")
	b.sql(`UPDATE trigger_queue SET queued_at = now() - interval '8 days' WHERE event_id = 'run_ended:late'`)
	if waiting, err := b.Backlogs(t.Context(), "n", 100); err != nil || waiting.TriggerEvents != 5 || waiting.Now.Sub(*waiting.TriggerEventsSince) < 7*24*time.Hour {
		t.Errorf("%+v, %v", waiting, err)
	}
	log := &lockedBuffer{}
	firer := &fired{answer: func(e outbox.TriggerEvent) error {
		if e.EventID == "run_ended:fails" {
			return errors.New("canary")
		}
		return nil
	}}
	events := postgres.NewTriggerEvents(b.Store, "n", firer, slog.New(slog.NewTextHandler(log, nil)))
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- events.Run(ctx) }()
	until(t, "the failure is noted", func() bool {
		return value[int](b, `SELECT count(*) FROM trigger_queue WHERE event_id = 'run_ended:fails' AND attempts > 1 AND next_at < now() + interval '10 seconds'`) == 1
	})
	stop()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.sql(`DELETE FROM trigger_queue WHERE event_id = 'run_ended:late'`) // upkeep may have deleted it before
	if got := b.queued(); strings.Join(got, " ") != "all:run_ended:fails all:run_ended:foreign all:run_ended:taken" {
		t.Errorf("left: %q", got)
	}
	times := map[string]int{}
	for _, e := range firer.events {
		times[e.EventID]++
		if e.TenantID != "acme" || e.Name != "all" || e.Attempts != times[e.EventID] || !contains(string(e.Data), strings.TrimPrefix(e.EventID, "run_ended:")) {
			t.Errorf("got %+v", e)
		}
	}
	if times["run_ended:starts"] != 1 || times["run_ended:old"] != 1 || times["run_ended:taken"] != 0 || times["run_ended:foreign"] != 0 || times["run_ended:late"] != 0 {
		t.Errorf("handled: %v", times)
	}
	if contains(log.String(), "canary") || !contains(log.String(), "an event of a trigger starts its run later") {
		t.Errorf("the log says %s", log)
	}
	b.sql(`UPDATE trigger_queue SET queued_at = now() - interval '6 days' WHERE event_id = 'run_ended:fails'`)
	b.sql(`UPDATE trigger_queue SET queued_at = now() - interval '8 days' WHERE event_id = 'run_ended:foreign'`)
	events.Prune(t.Context())
	if got := b.queued(); !slices.Equal(got, []string{"all:run_ended:fails", "all:run_ended:taken"}) {
		t.Errorf("left: %q", got)
	}
}

// TestOwnEventsOfCalls: a call queues an event for its request and one for its end if triggers match these events, and none if no trigger does.
func TestOwnEventsOfCalls(t *testing.T) {
	b := open(t)
	b.whole("one")
	b.runEnds("n", "failed", "", "two")
	if got := b.queued(); len(got) != 0 {
		t.Errorf("queued: %q", got)
	}
	b.watch("acme", "calls", "{event: call_ended}")
	b.watch("acme", "asked", "{event: approval_requested}")
	b.whole("other")
	if got := b.queued(); !slices.Equal(got, []string{"asked:approval_requested:" + toolspec.ApprovalID(id("other"), 1), "calls:call_ended:" + id("other")}) {
		t.Errorf("queued: %q", got)
	}
}
