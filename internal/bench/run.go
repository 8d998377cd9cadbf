package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
)

// warmUp is how many calls of each case are made before anything is measured: connections, caches, prepared statements.
const warmUp = 5

// Run measures the cases. Every round measures each case once, so that a server that becomes slower is slower for all cases.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s, err := setUp(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var wanted []kase
	for _, k := range cases() {
		if o.wants(k.name) && (!k.remote || o.Submitter != nil) {
			wanted = append(wanted, k)
		}
	}
	run := fmt.Sprintf("%08x", rand.Uint32()) // a database that exists already may have the calls of earlier runs
	for _, k := range wanted {
		if k.remote {
			continue
		}
		if err := warm(ctx, s, k, run); err != nil {
			return nil, err
		}
	}
	samples := map[string][]sample{}
	for round := range o.Rounds {
		for _, k := range wanted {
			o.Progress(fmt.Sprintf("round %d of %d: %s", round+1, o.Rounds, k.name))
			m, err := measure(ctx, s, k, o, fmt.Sprintf("%s-%s-%d", run, k.name, round))
			if err != nil {
				return nil, err
			}
			samples[k.name] = append(samples[k.name], m)
		}
	}
	report := &Report{Rounds: o.Rounds}
	for _, k := range wanted {
		report.Cases = append(report.Cases, figure(k, samples[k.name], samples[bare]))
	}
	report.Server, err = serverOf(ctx, s, o)
	return report, err
}

// warm makes the calls of a case that come before the measurement. run is a prefix of their ids.
func warm(ctx context.Context, s *stand, k kase, run string) error {
	for i := range warmUp {
		if err := k.run(ctx, s, id(run+"-warm-"+k.name, i)); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

// serverOf returns a text about the servers of the measurement: what they say about themselves.
func serverOf(ctx context.Context, s *stand, o Options) (string, error) {
	info, err := s.temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return "", fmt.Errorf("bench: ask Temporal for its version: %w", err)
	}
	conn, err := pgx.Connect(ctx, s.stack.DatabaseURL())
	if err != nil {
		return "", fmt.Errorf("bench: %w", err)
	}
	defer conn.Close(ctx)
	var version, commit, fsync string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('synchronous_commit'), current_setting('fsync')`).Scan(&version, &commit, &fsync)
	if err != nil {
		return "", fmt.Errorf("bench: ask Postgres for its version: %w", err)
	}
	store := string(o.Store) + " store"
	if o.FullServer {
		store = "all services, in Postgres"
	}
	if o.TemporalAddress != "" {
		store = "a server that ran already"
	}
	return fmt.Sprintf("Temporal %s (%s), Postgres %s (synchronous_commit %s, fsync %s), %d processors, %s",
		info.GetServerVersion(), store, version, commit, fsync, runtime.GOMAXPROCS(0), runtime.Version()), nil
}
