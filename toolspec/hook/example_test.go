package hook_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/toolspec/hook"
)

func ExampleNew() {
	night := func(t time.Time) bool { return t.Hour() < 6 }
	hours := hook.New("office-hours", hook.Priority(100),
		hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
			if night(v.StartedAt()) {
				return v.Abort("come back in the morning", hook.Code("closed"), hook.HTTPStatus(403))
			}
			return nil
		}))

	r, err := hook.NewRegistry(slog.Default(), []hook.Hook{hours}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	v, err := r.Run(context.Background(), hook.StageInput{
		Stage: hook.WillAuthorize.Stage(), Hooks: r.Names(hook.WillAuthorize.Stage(), "core__ls"),
		Facts: hook.Facts{ToolID: "core__ls", StartedAtMs: at.UnixMilli()},
	}, hook.Delta{})
	fmt.Println(v.Outcome, v.By, v.Failure.Code, v.Failure.Details.Code, v.Failure.SafeMessage, err)
	// Output: fail office-hours aborted closed come back in the morning <nil>
}
