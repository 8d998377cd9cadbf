package calls

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// showRun prints the summary of a run.
func showRun(ctx context.Context, a *app.App, s *app.Session, run string) error {
	r, err := s.Client().Run(ctx, a.Tenant, run)
	if errors.Is(err, client.ErrNotFound) {
		return fmt.Errorf("tenant %s has no run %q with events; `pawl list` shows runs", a.Tenant, app.OneLine(run, 100))
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, r)
	}
	ms := func(n int64) string { return (time.Duration(n) * time.Millisecond).String() }
	fmt.Fprintf(a.Out, "run %s\n  calls       %d ended\n", app.OneLine(r.RunID, 100), r.Calls)
	for _, outcome := range slices.Sorted(maps.Keys(r.Outcomes)) {
		fmt.Fprintf(a.Out, "    %-28s %d\n", outcome, r.Outcomes[outcome])
	}
	if r.Calls > 0 {
		fmt.Fprintf(a.Out, "  latency     %s on average, %s at most\n", ms(r.LatencyMs/r.Calls), ms(r.MaxLatencyMs))
	}
	fmt.Fprintf(a.Out, "  approvals   %s of waiting for people\n  attempts    %d\n  results     %d bytes\n  events      %d\n",
		ms(r.ApprovalWaitMs), r.Attempts, r.ResultBytes, r.LastSeq)
	if r.FirstStartedAt != nil && r.LastEndedAt != nil {
		fmt.Fprintf(a.Out, "  from        %s\n  to          %s\n", app.FormatTime(*r.FirstStartedAt), app.FormatTime(*r.LastEndedAt))
	}
	return nil
}
