package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// batchRow is the result of one of several decisions.
type batchRow struct {
	ApprovalID string `json:"approvalId"`
	toolspec.Answer
	Error string `json:"error,omitempty"`
}

// decideEach sends the same decision on each request. A failure on one request does not stop the
// other requests.
func decideEach(a *app.App, cmd *cobra.Command, ids []string, p proving, said toolspec.Decision) error {
	s, err := app.Connect(cmd.Context(), app.Servers{Temporal: true, Database: true})
	if err != nil {
		return err
	}
	defer s.Close()
	rows := make([]batchRow, len(ids))
	var batch []client.Addressed
	var rowOf []int
	for i, id := range ids {
		rows[i].ApprovalID = id
		said.ApprovalID = id
		workflowID, decision, err := proveDecision(cmd.Context(), s, a.Tenant, p, said)
		if err != nil {
			rows[i].Error = err.Error()
			continue
		}
		batch, rowOf = append(batch, client.Addressed{WorkflowID: workflowID, Decision: decision}), append(rowOf, i)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), decideTimeout)
	defer cancel()
	for i, v := range s.Client().DecideEach(ctx, batch...) {
		row := &rows[rowOf[i]]
		row.Answer = v.Answer
		switch {
		case errors.Is(v.Err, client.ErrSettled):
			row.Error = "too late: the call is settled"
		case v.Err != nil:
			row.Error = v.Err.Error()
		}
	}
	return printBatch(a, said.Decision, rows)
}

func printBatch(a *app.App, verb toolspec.Verb, rows []batchRow) error {
	notCounted := 0
	for _, r := range rows {
		word := string(verb) + " counted"
		if !r.Counted {
			notCounted++
			word = "did not count:"
		}
		if !a.JSON {
			fmt.Fprintf(a.Out, "%s  %s %s\n", r.ApprovalID, word, app.OneLine(cmp.Or(r.Error, r.Reason), 200))
		}
	}
	if a.JSON {
		if err := app.PrintJSON(a.Out, rows); err != nil {
			return err
		}
	}
	if notCounted > 0 {
		return fmt.Errorf("%d of %d decisions did not count", notCounted, len(rows))
	}
	return nil
}
