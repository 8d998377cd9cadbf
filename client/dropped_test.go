package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// dropping is a server that drops the first updates, as it does where a task fails that held them.
type dropping struct {
	temporal.Client
	drops int
	ids   []string
}

func (d *dropping) UpdateWorkflow(_ context.Context, o temporal.UpdateWorkflowOptions) (temporal.WorkflowUpdateHandle, error) {
	d.ids = append(d.ids, o.UpdateID)
	if len(d.ids) <= d.drops {
		return nil, serviceerror.NewWorkflowNotReady("unexpected workflow task failure")
	}
	return counted{}, nil
}

type counted struct{ temporal.WorkflowUpdateHandle }

func (counted) Get(_ context.Context, to any) error {
	to.(*toolspec.Answer).Counted = true
	return nil
}

func TestADroppedDecisionIsSentAgain(t *testing.T) {
	t.Parallel()
	decision := toolspec.Decision{
		ApprovalID: toolspec.ApprovalID(call("core__x", "call", "").Identity().InvocationID(), 1), Decision: toolspec.Approve, Approver: "user:ann",
	}
	synctest.Test(t, func(t *testing.T) {
		server := &dropping{drops: 2}
		answer, err := client.New(server, client.Options{}).Decide(t.Context(), "tool:acme:run:call", decision)
		if err != nil || !answer.Counted {
			t.Errorf("the answer is %+v, %v", answer, err)
		}
		// Under the same id, so that it can only count once.
		if len(server.ids) != 3 || server.ids[0] != server.ids[2] {
			t.Errorf("sent as %q, want three times the same", server.ids)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := client.New(&dropping{drops: 1 << 20}, client.Options{}).Decide(ctx, "tool:acme:run:call", decision)
		if !errors.Is(err, client.ErrNotConfirmed) {
			t.Errorf("a decision that is always dropped ends with %v, want ErrNotConfirmed", err)
		}
	})
}
