package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/pawl-run/pawl/internal/cli/app"
	postgresaudit "github.com/pawl-run/pawl/internal/postgres/audit"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// answerTime bounds the requests to Temporal about one call.
const answerTime = 10 * time.Second

// calls is the comparison of the record with the audit trail and with Temporal.
type calls struct {
	// Compared counts the calls whose results Temporal and the record both have.
	Compared int `json:"compared"`
	// Gone counts the calls whose workflow Temporal does not have: its retention is over, or it was never there.
	Gone int `json:"gone"`
	// NoResult counts the calls whose workflow has no result, because it still runs or was ended from outside.
	NoResult    int          `json:"noResult"`
	Differences []difference `json:"differences"`
}

type difference struct {
	TenantID     string `json:"tenantId"`
	InvocationID string `json:"invocationId"`
	Text         string `json:"text"`
}

// compare compares the newest settled calls of a tenant, at most limit of them, and adds what differs to
// c.Differences.
func (c *calls) compare(ctx context.Context, s *app.Session, tenantID string, since time.Time, limit int) error {
	found, err := s.Store.AuditedCalls(ctx, tenantID, since, limit)
	if err != nil {
		return err
	}
	for _, call := range found {
		addDifference := func(format string, args ...any) {
			c.Differences = append(c.Differences, difference{tenantID, call.InvocationID, fmt.Sprintf("call %s: ", call.InvocationID) + fmt.Sprintf(format, args...)})
		}
		recorded := outcome(call.OK != nil && *call.OK, call.ErrorCode)
		switch {
		case call.Audited == "":
			addDifference("the record has its end, %s, and the audit trail has none", recorded)
		case recorded != outcome(call.AuditedCode == "", call.AuditedCode):
			addDifference("the record says %s, and the audit trail says %s", recorded, outcome(call.AuditedCode == "", call.AuditedCode))
		}
		// The ids follow from tenant, run and toolCallId. A changed record could name the workflow of another call, so
		// this workflow is not read.
		id := toolspec.Identity{TenantID: tenantID, RunID: call.RunID, ToolCallID: call.ToolCallID}
		if id.InvocationID() != call.InvocationID || id.WorkflowID() != call.WorkflowID {
			addDifference("the record has other ids than the call")
			continue
		}
		result, err := c.result(ctx, s, call)
		switch {
		case err != nil:
			return err
		case result == nil:
			continue
		}
		c.Compared++
		if of := outcome(result.OK, string(result.ErrorCode)); of != recorded {
			addDifference("the record says %s, and its workflow ended with %s", recorded, of)
		} else if !sameValue(call.Result, result.Value) {
			addDifference("the record has another value than its workflow")
		}
	}
	return nil
}

// result returns the result of the workflow of a call. If Temporal has no result, it returns nil and counts the call
// in c.Gone or c.NoResult. If Temporal does not have the run that the record names, result reads the latest run of the
// workflow: all of them have the same result.
func (c *calls) result(ctx context.Context, s *app.Session, call postgresaudit.Call) (*toolspec.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	runID := call.TemporalRunID
	described, err := s.Temporal.DescribeWorkflowExecution(ctx, call.WorkflowID, runID)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		runID = ""
		described, err = s.Temporal.DescribeWorkflowExecution(ctx, call.WorkflowID, runID)
	}
	switch {
	case errors.As(err, &missing):
		c.Gone++
		return nil, nil
	case err != nil:
		return nil, app.ExplainTemporalError(ctx, s.Config.Temporal, err)
	case described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		c.NoResult++
		return nil, nil
	}
	var result toolspec.Result
	if err := s.Temporal.GetWorkflow(ctx, call.WorkflowID, runID).Get(ctx, &result); err != nil {
		if ctx.Err() != nil || errors.As(err, new(serviceerror.ServiceError)) {
			return nil, app.ExplainTemporalError(ctx, s.Config.Temporal, err)
		}
		return nil, fmt.Errorf("the result of the workflow %s cannot be read: if payloads are encrypted, set the variables of their keys, as for the workers", app.OneLine(call.WorkflowID, 200))
	}
	return &result, nil
}

func outcome(ok bool, code string) string {
	if ok {
		return "ok"
	}
	return code
}

// sameValue reports whether the value of the recorded result equals value. It compares canonical JSON, so white space and the order of
// keys do not matter. Two missing values are equal.
func sameValue(recorded, value json.RawMessage) bool {
	var r struct {
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(recorded, &r) != nil {
		return false
	}
	if len(r.Value) == 0 || len(value) == 0 {
		return len(r.Value) == len(value)
	}
	a, errA := strictjson.Canonical(r.Value)
	b, errB := strictjson.Canonical(value)
	if errA != nil || errB != nil {
		return bytes.Equal(r.Value, value)
	}
	return bytes.Equal(a, b)
}

func (c *calls) print(a *app.App) {
	fmt.Fprintf(a.Out, "calls: %d compared with Temporal; not compared: %d whose histories are gone, %d without a result in Temporal\n", c.Compared, c.Gone, c.NoResult)
	for _, d := range c.Differences {
		fmt.Fprintf(a.Out, "  CHANGED   tenant %s, %s\n", app.QuoteName(d.TenantID), app.Printable(d.Text))
	}
}
