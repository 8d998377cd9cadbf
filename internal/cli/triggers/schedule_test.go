package triggers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/workflows/contract"
)

func TestMain(m *testing.M) { devstacktest.Main(m) }

// between is a client that runs other before it first gives a command its schedules, as if another command ran at that moment.
type between struct {
	temporal.Client
	other func()
}

// ScheduleClient implements temporal.Client.
func (b *between) ScheduleClient() temporal.ScheduleClient {
	if other := b.other; other != nil {
		b.other = nil
		other()
	}
	return b.Client.ScheduleClient()
}

// dial connects to the Temporal server of the tests.
func dial(t *testing.T) temporal.Client {
	t.Helper()
	server, err := temporal.DialContext(t.Context(), app.WithTimeout(temporal.Options{HostPort: devstacktest.Temporal(t)}, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// TestScheduleOfTheActiveVersion: a command that reads the active version, and writes the schedule after another command has changed the
// trigger, leaves the schedule of the version that is active at the end, and none of a retired trigger.
func TestScheduleOfTheActiveVersion(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := dial(t)
	store, err := postgres.Open(ctx, postgrestest.Database(t), postgres.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	sync := func(c temporal.Client) {
		if _, err := syncSchedule(ctx, &app.Session{Temporal: c, Store: store}, "acme", "nightly"); err != nil {
			t.Error(err)
		}
	}
	apply := func(hours int) {
		d, err := trigger.Read("trigger.yaml", fmt.Appendf(nil, "name: nightly\nversion: \"%d\"\ntenant: acme\nactor: agent:a\nagent: helper\n"+
			"on: schedule\nschedule: {every: %dh}\nprompt: Look.\n", hours, hours))
		if err == nil {
			_, err = store.ApplyTrigger(ctx, d, "user:root")
		}
		if err != nil {
			t.Error(err)
		}
	}
	schedule := server.ScheduleClient().GetHandle(ctx, contract.TriggerScheduleID("acme", "nightly"))
	apply(1)
	sync(&between{server, func() { apply(2); sync(server) }})
	is, err := schedule.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if every := is.Schedule.Spec.Intervals[0].Every; every != 2*time.Hour {
		t.Errorf("version 2 is active, and the schedule fires every %s", every)
	}
	apply(3)
	sync(&between{server, func() {
		if _, err := store.RetireTrigger(ctx, "acme", "nightly", "user:root"); err != nil {
			t.Error(err)
		}
		sync(server)
	}})
	var missing *serviceerror.NotFound
	if _, err := schedule.Describe(ctx); !errors.As(err, &missing) {
		t.Errorf("the schedule of a retired trigger: %v", err)
	}
}

// TestDaysOfCron: a time must fit both day fields of a cron text, as docs/triggers-reference.md says. `crontab` takes each day that fits one of them.
func TestDaysOfCron(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := dial(t)
	d := trigger.Document{Name: "days", TenantID: "acme", Times: &trigger.Times{Cron: "0 3 13 * 5"}}
	if err := writeSchedule(ctx, server, d, true); err != nil {
		t.Fatal(err)
	}
	is, err := server.ScheduleClient().GetHandle(ctx, contract.TriggerScheduleID("acme", "days")).Describe(ctx)
	if err != nil || len(is.Info.NextActionTimes) == 0 {
		t.Fatalf("%+v, %v", is, err)
	}
	for _, at := range is.Info.NextActionTimes {
		if at = at.UTC(); at.Day() != 13 || at.Weekday() != time.Friday {
			t.Errorf("the schedule fires at %s", at)
		}
	}
}
