package chaos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// slowest is the number of slow calls whose evidence is kept even without a violation.
const slowest = 3

// keepEvidence writes the snapshot and the history of each call that violates an oracle, and of the
// slowest calls. The files hold arguments in clear; a run generates all of them.
func keepEvidence(ctx context.Context, dir string, from *servers, s oracle.Snapshot, verdicts []oracle.Verdict) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	if err := write(dir, "faults.json", s.Faults); err != nil {
		return err
	}
	chosen := map[string]bool{}
	violated := map[string][]oracle.Violation{}
	for _, v := range verdicts {
		for _, violation := range v.Violations {
			chosen[violation.ToolCallID] = true
			violated[v.Name] = append(violated[v.Name], violation)
		}
	}
	if len(violated) > 0 {
		if err := write(dir, "violations.json", violated); err != nil {
			return err
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
		if err := write(dir, c.ToolCallID+".json", struct {
			Call    *oracle.Call
			Effects []ledger.Effect
		}{c, effects}); err != nil {
			return err
		}
		if err := writeHistory(ctx, dir, from, c); err != nil {
			return err
		}
	}
	return nil
}

// slow returns the calls with the longest durations.
func slow(s oracle.Snapshot) []oracle.Call {
	ended := slices.DeleteFunc(slices.Clone(s.Calls), func(c oracle.Call) bool { return c.Workflow.Ended.IsZero() })
	slices.SortStableFunc(ended, func(a, b oracle.Call) int {
		return cmp.Compare(b.Workflow.Ended.Sub(b.Workflow.Started), a.Workflow.Ended.Sub(a.Workflow.Started))
	})
	return ended[:min(len(ended), slowest)]
}

func write(dir, name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	return nil
}

// writeHistory writes the history as JSON that the replayer reads, as `temporal workflow show`
// writes it.
func writeHistory(ctx context.Context, dir string, from *servers, c *oracle.Call) error {
	var h history.History
	events := from.temporal.GetWorkflowHistory(ctx, c.WorkflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		var gone *serviceerror.NotFound
		if errors.As(err, &gone) {
			return nil // the workflow was deleted
		}
		if err != nil {
			return fmt.Errorf("keep the history of %s: %w", c.ToolCallID, err)
		}
		h.Events = append(h.Events, event)
	}
	text, err := protojson.MarshalOptions{Indent: "  "}.Marshal(&h)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, c.ToolCallID+".history.json"), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the history of %s: %w", c.ToolCallID, err)
	}
	return nil
}
