package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// slowest is how many calls are kept that took longest, whatever the oracles say.
const slowest = 3

// keepEvidence writes, for each call that violates an oracle and for the slowest
// ones, everything that is known of it, and its history. The arguments in it are
// the run's own.
func (r *run) keepEvidence(ctx context.Context, s oracle.Snapshot, report *Report) error {
	if r.Evidence == "" {
		return nil
	}
	if err := os.MkdirAll(r.Evidence, 0o700); err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	if err := r.write("faults.json", s.Faults); err != nil {
		return err
	}
	chosen := map[string]bool{}
	for _, v := range report.Verdicts {
		for _, violation := range v.Violations {
			chosen[violation.ToolCallID] = true
		}
	}
	for _, c := range slow(s) {
		chosen[c.ToolCallID] = true
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		if !chosen[c.ToolCallID] {
			continue
		}
		var effects []ledger.Effect
		for _, e := range s.Effects {
			if e.InvocationID == c.InvocationID {
				effects = append(effects, e)
			}
		}
		if err := r.write(c.ToolCallID+".json", struct {
			Call    *oracle.Call
			Effects []ledger.Effect
		}{c, effects}); err != nil {
			return err
		}
		if err := r.writeHistory(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// slow returns the calls that took longest to their end.
func slow(s oracle.Snapshot) []oracle.Call {
	ended := slices.DeleteFunc(slices.Clone(s.Calls), func(c oracle.Call) bool { return c.Workflow.Ended.IsZero() })
	slices.SortStableFunc(ended, func(a, b oracle.Call) int {
		return cmp.Compare(b.Workflow.Ended.Sub(b.Workflow.Started), a.Workflow.Ended.Sub(a.Workflow.Started))
	})
	return ended[:min(len(ended), slowest)]
}

func (r *run) write(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(r.Evidence, name), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	return nil
}

// writeHistory writes the history as the replayer and `temporal workflow show`
// read it.
func (r *run) writeHistory(ctx context.Context, c *oracle.Call) error {
	var h history.History
	events := r.servers.temporal.GetWorkflowHistory(ctx, c.WorkflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return fmt.Errorf("keep the history of %s: %w", c.ToolCallID, err)
		}
		h.Events = append(h.Events, event)
	}
	text, err := protojson.MarshalOptions{Indent: "  "}.Marshal(&h)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.Evidence, c.ToolCallID+".history.json"), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the history of %s: %w", c.ToolCallID, err)
	}
	return nil
}
