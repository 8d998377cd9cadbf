package turns

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

var manyRuns = flag.Int("runs", 20, "the number of runs of TestManyRuns: task many-runs makes 1 000")

// TestManyRuns: under load, no turn of a run ends between the start and the result of a call, each call has one start event and one result event, and the events
// of a run are numbered without gaps (EV-03, EV-07).
func TestManyRuns(t *testing.T) {
	t.Parallel()
	runs := *manyRuns
	w := e2etest.NewWorld(t, turnPolicy)
	echoes(w)
	k := newTurnClient(w, openai.Codec{}, 2)
	calls := interleaved(wanted{"call_1", "test__write", `{"text":"a"}`}, wanted{"call_2", "test__echo", `{"text":"b"}`})
	ctx, cancel := context.WithTimeout(t.Context(), 10*e2etest.WaitTimeout)
	defer cancel()
	var refused atomic.Int64
	var group errgroup.Group
	group.SetLimit(16)
	for n := range runs {
		group.Go(func() error {
			tu := k.turn("t1", openai.Codec{})
			tu.Context.RunID, tu.Publish, tu.AtOnce, tu.Together = fmt.Sprintf("run-%d", n), true, 2, true
			taken := make(chan error, 1)
			go func() {
				_, err := tu.Take(ctx, k.Client, strings.NewReader(calls))
				taken <- err
			}()
			// Other turns of the run end as soon as that is possible.
			for i := 0; ; i++ {
				err := k.Append(ctx, "acme", tu.Context.RunID, pawl.TurnEvent{Key: fmt.Sprintf("other-%d", i), Done: true})
				select {
				case failed := <-taken:
					return errors.Join(failed, k.Append(ctx, "acme", tu.Context.RunID, pawl.TurnEvent{Key: "last", Done: true}))
				case <-time.After(50 * time.Millisecond): // the rate, not a wait for a condition
				}
				switch {
				case errors.Is(err, pawl.ErrRunOpen):
					refused.Add(1)
				case err != nil:
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		sql  string
		want int
	}{
		"calls with a start and then a result": {`SELECT count(*) FROM (SELECT FROM run_events WHERE kind LIKE 'tool_call_%' GROUP BY invocation_id
			HAVING array_agg(kind ORDER BY seq) = '{tool_call_start,tool_call_result}') c`, 2 * runs},
		"ends inside of a call": {`SELECT count(*) FROM run_events d JOIN run_events s USING (tenant_id, run_id) JOIN run_events r USING (tenant_id, run_id)
			WHERE d.kind = 'done' AND s.kind = 'tool_call_start' AND r.kind = 'tool_call_result' AND s.invocation_id = r.invocation_id
				AND d.seq BETWEEN s.seq AND r.seq`, 0},
		"runs whose numbers have gaps": {`SELECT count(*) FROM (SELECT FROM run_events GROUP BY run_id HAVING max(seq) <> count(*)) r`, 0},
		"runs with an end after a result": {`SELECT count(DISTINCT run_id) FROM run_events d WHERE kind = 'done' AND EXISTS (
			SELECT FROM run_events r WHERE r.run_id = d.run_id AND r.kind = 'tool_call_result' AND r.seq < d.seq)`, runs},
	} {
		if got := e2etest.Scalar[int](w, c.sql); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
	if refused.Load() == 0 {
		t.Error("no end has met an open call")
	}
}
