package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// atOnce is how many elements are compared at the same time.
	atOnce = 4
	// maxFailed bounds the findings of kindFailed. If there are more errors, they probably have one cause.
	maxFailed = 20
)

// forEach calls f for each element of a list that --skip does not leave out, for at most atOnce elements at the same time. If f returns an error
// of this element, the element becomes a finding, so that it does not keep the others from being mended. Any other error ends forEach.
func forEach[T any](ctx context.Context, c *comparison, list []T, workflowID func(T) string, f func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, of := range list {
		if slices.Contains(c.skip, workflowID(of)) {
			continue
		}
		group.Go(func() error {
			err := f(ctx, of)
			if err == nil || ctx.Err() != nil {
				return err
			}
			text, ofOne := explain(err)
			switch {
			case ofOne && c.out.countOf(kindFailed) < maxFailed:
				c.out.add(finding{Kind: kindFailed, WorkflowID: workflowID(of), Text: text})
				return nil
			case errors.As(err, new(serviceerror.ServiceError)):
				return app.ExplainTemporalError(ctx, c.Config.Temporal, err)
			}
			return err
		})
	}
	return group.Wait()
}

// explain returns the text of an error, and whether the error is of one element: Postgres refuses its statement, or Temporal cannot read it. Other
// errors say that a server is away, or refuses the command.
func explain(err error) (text string, ofOne bool) {
	var answer serviceerror.ServiceError
	if !errors.As(err, &answer) {
		return err.Error(), !errs.IsTransient(err) && !errors.Is(err, context.DeadlineExceeded)
	}
	code := answer.Status().Code()
	switch code {
	case codes.DataLoss, codes.Internal, codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition:
		ofOne = true
	}
	return fmt.Sprintf("Temporal cannot read it (%s)", code), ofOne
}

func listedID(r *workflow.WorkflowExecutionInfo) string { return r.GetExecution().GetWorkflowId() }
