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
	// atOnce is how many calls or runs are compared at the same time.
	atOnce = 4
	// maxFailed is the number of findings of kindFailed after which the next error ends the command: so many errors
	// probably have one cause.
	maxFailed = 20
)

// errUnread says that a history cannot be decrypted, so that the command does not know what the call or run has done.
var errUnread = errors.New("its history cannot be read; with encrypted payloads the command needs the keys of the workers, and --skip leaves the workflow out")

// forEach calls f for each element of a list that --skip does not leave out, for at most atOnce elements at the same
// time. An error of f that concerns only its element becomes a finding, and the other elements are still mended. Any
// other error ends forEach.
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
			case errors.Is(err, errUnread):
				c.out.add(finding{Kind: kindUnread, WorkflowID: workflowID(of), Text: text})
				return nil
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

// explain returns the text of an error. ofOne says that the error concerns only one call or run: Postgres refuses the
// statement for it, or Temporal cannot read it. Any other error says that a server does not answer, or refuses the
// command.
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
