package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/workerkey"
)

// The values of --older.
const (
	olderPostgres = "postgres"
	olderTemporal = "temporal"
	olderBoth     = "both"
)

// Commands returns the commands of this package.
func Commands(a *app.App) []*cobra.Command {
	var older string
	var mend bool
	var skip []string
	cmd := &cobra.Command{
		Use: "reconcile", Short: "Compare the record with Temporal after a restore, and mend what differs", Args: app.ExactArgs(0, "no arguments"),
		Long: "Compare the record in Postgres with Temporal after one of them was restored from a backup, and list what differs. The\n" +
			"command changes nothing without --mend. With --mend it makes sure that no effect happens twice: a call that may have\n" +
			"run, and of which the restored record does not know it, ends with outcome_unknown. Stop all workers before, and start\n" +
			"them afterwards. The exit status is 1 if something differs that is not mended.\n\n" +
			"--older says what was restored: postgres, temporal, or both. A lost Temporal is temporal, even if nothing is left of it.\n" +
			"docs/backup.md has the steps of each case.",
		Example: "  pawl reconcile --older postgres\n  pawl reconcile --older postgres --mend --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch older {
			case olderPostgres, olderTemporal, olderBoth:
			default:
				return app.Usage(fmt.Errorf("--older says what was restored: %s, %s or %s", olderPostgres, olderTemporal, olderBoth))
			}
			return run(cmd.Context(), a, older, mend, skip)
		},
	}
	cmd.Flags().StringVar(&older, "older", "", "what was restored from a backup, and is older than the other: postgres, temporal or both")
	cmd.Flags().BoolVar(&mend, "mend", false, "mend what differs; all workers must be stopped")
	cmd.Flags().StringSliceVar(&skip, "skip", nil, "leave out the workflow with this `ID`, of which a person has found out that nothing of it may run; may be repeated")
	return []*cobra.Command{cmd}
}

// comparison is a run of the command.
type comparison struct {
	*app.Session
	read  reader
	older string
	mend  bool
	skip  []string
	// runIDs has the ids of the Temporal runs of each call that is open in the record, by workflow id. listedCalls
	// fills it for openCalls.
	runIDs map[string][]string
	// runsInTasksMu guards runsInTasksOf.
	runsInTasksMu sync.Mutex
	// runsInTasksOf has the answers of Store.RunsInTasks, by tool id.
	runsInTasksOf map[string]bool
	out           report
}

// lostRecords reports whether Postgres was restored, so that the record may lack claims, calls or rounds.
func (c *comparison) lostRecords() bool { return c.older != olderTemporal }

func run(ctx context.Context, a *app.App, older string, mend bool, skip []string) error {
	s, err := app.Connect(ctx, app.Servers{Temporal: true, Database: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if mend {
		if err := s.Store.CheckNoWorkers(ctx); err != nil {
			return err
		}
	}
	if older == olderTemporal {
		if err := s.Store.CheckOrigin(ctx); errors.As(err, new(*postgres.Restored)) {
			return app.Usage(fmt.Errorf("the database was restored too: give --older %s, or --older %s", olderPostgres, olderBoth))
		} else if err != nil {
			return err
		}
	}
	codec, err := s.Config.Codec.PayloadCodec()
	if err != nil {
		return err
	}
	c := &comparison{
		Session: s, older: older, mend: mend, skip: skip, runIDs: map[string][]string{}, runsInTasksOf: map[string]bool{}, out: report{Older: older, Mend: mend, Findings: []finding{}},
		read: reader{temporal: s.Temporal, codec: codec, keys: workerkey.New(s.Store)},
	}
	// After a repair, a second run of the command does not find the same difference, so the report is
	// printed after an error too.
	err = c.compare(ctx)
	return cmp.Or(err, c.out.finish(a))
}

// compare compares runs of agents first and then calls. Then the workflow of a run that the record has lost has ended
// before one of its calls is ended, and cannot start this call again.
func (c *comparison) compare(ctx context.Context) error {
	steps := []func(context.Context) error{c.openRuns}
	if c.lostRecords() {
		steps = append(steps, c.lostRuns)
	}
	for _, step := range append(steps, c.listedCalls, c.openCalls) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return c.origin(ctx)
}

// origin reports that the database is a restored copy, on which workers refuse to start. With --mend, it lets workers
// start again if nothing is left to mend. It runs last, so that workers do not start if the command was interrupted
// before.
func (c *comparison) origin(ctx context.Context) error {
	err := c.Store.CheckOrigin(ctx)
	var restored *postgres.Restored
	if !errors.As(err, &restored) {
		return err
	}
	f := finding{Kind: kindOrigin, Text: "the database is not the one that the record was written in: workers do not start"}
	if c.mend && c.out.unmended() == 0 {
		if err := c.Store.NoteOrigin(ctx); err != nil {
			return err
		}
		f.Mended = true
	}
	c.out.add(f)
	return nil
}
